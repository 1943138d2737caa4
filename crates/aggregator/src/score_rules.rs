//! The rules of score rows. `aggregate` and `validate` share them: what one refuses, the other reports.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{DefaultHasher, Hash, Hasher},
};

use schema::{
    Benchmark, Metric, ModelId,
    panel::{self, PanelVote},
};

use crate::ScoreRow;

/// How bad a fault of a score row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScoreFaultSeverity {
    /// The row may be meant so. It counts.
    Note,
    /// The row is wrong. It counts like the others until somebody corrects it.
    Problem,
    /// The row contradicts itself: no rate may be computed from it.
    Contradiction,
}

/// What is wrong with a score row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScoreFaultKind {
    /// `present`, `passed`, `score` and `_verdict` contradict each other, or the metric's `verdict`.
    Contradiction,
    /// `present` or `score` is missing beside `passed`.
    Incomplete,
    /// `passed` is missing beside `present` or `score`: the row has no verdict.
    WithoutPassed,
    /// `_no_verdict` stands beside a verdict.
    ReasonBesideVerdict,
    /// The verdicts in `_judges` do not give `present`.
    Panel,
    /// The benchmark does not have this metric.
    Metric(String),
    /// This metric has another type now.
    MetricType(String),
    /// It is of this target, in the folder of another.
    Target(String),
    /// `conversations.json` does not have its conversation.
    Conversation,
    /// An earlier row is of the same conversation and metric.
    Duplicate,
}

impl ScoreFaultKind {
    /// How bad it is.
    #[must_use]
    pub fn severity(&self) -> ScoreFaultSeverity {
        match self {
            Self::Contradiction => ScoreFaultSeverity::Contradiction,
            Self::Incomplete
            | Self::WithoutPassed
            | Self::ReasonBesideVerdict
            | Self::Panel
            | Self::Conversation
            | Self::Duplicate => ScoreFaultSeverity::Problem,
            Self::Metric(_) | Self::MetricType(_) | Self::Target(_) => ScoreFaultSeverity::Note,
        }
    }
}

/// A fault of a score row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreFault {
    /// What it is.
    pub kind: ScoreFaultKind,
    /// The JSON pointer of the key, in the row.
    pub pointer: &'static str,
    /// What is wrong, in words.
    pub reason: String,
}

impl ScoreFault {
    fn new(kind: ScoreFaultKind, pointer: &'static str, reason: impl Into<String>) -> Self {
        Self {
            kind,
            pointer,
            reason: reason.into(),
        }
    }

    fn contradiction(pointer: &'static str, reason: impl Into<String>) -> Self {
        Self::new(ScoreFaultKind::Contradiction, pointer, reason)
    }
}

/// Checks the rows of one `scores.json`, one after the other. Rules that need a fact that is unknown are skipped.
#[derive(Debug)]
pub struct ScoreRules<'r> {
    benchmark: Option<&'r Benchmark>,
    /// The target of the folder.
    target: Option<&'r ModelId>,
    /// The line of each row, by a hash of its conversation and metric.
    seen: HashMap<u64, u64>,
}

impl<'r> ScoreRules<'r> {
    /// The rules for the rows of `target` in the tree of `benchmark`.
    #[must_use]
    pub fn new(benchmark: Option<&'r Benchmark>, target: Option<&'r ModelId>) -> Self {
        Self {
            benchmark,
            target,
            seen: HashMap::new(),
        }
    }

    /// The faults of the next row, which begins in `line` and belongs to `conversation`, if that is known; see
    /// [`ConversationKey::id_of`](crate::ConversationKey::id_of). `has_conversation` returns whether there is this conversation; true if that
    /// is unknown.
    pub fn check(
        &mut self,
        row: &ScoreRow<'_>,
        line: u64,
        conversation: Option<&str>,
        has_conversation: impl FnOnce(&str) -> bool,
    ) -> Vec<ScoreFault> {
        let mut found = faults_within(row);
        found.extend(self.metric(row));
        let other = row.stated.target_model.as_deref();
        if let (Some(folder), Some(id)) = (self.target, other)
            && folder.as_str() != id
        {
            found.push(ScoreFault::new(
                ScoreFaultKind::Target(id.to_owned()),
                "/target_model",
                format!("{id:?} differs from the folder, {:?}", folder.as_str()),
            ));
        }
        let Some(conversation) = conversation else {
            return found;
        };
        let pointer = match row.conv_id.is_empty() {
            true => "/id",
            false => "/conv_id",
        };
        if !has_conversation(conversation) {
            found.push(ScoreFault::new(
                ScoreFaultKind::Conversation,
                pointer,
                format!("conversations.json has no conversation {conversation:?}"),
            ));
        }
        match self.seen.entry(key(conversation, row)) {
            Entry::Vacant(place) => {
                place.insert(line);
            }
            Entry::Occupied(first) => {
                let reason = format!(
                    "{conversation:?} is scored for {:?} in line {} already",
                    row.metric_id,
                    first.get()
                );
                found.push(ScoreFault::new(ScoreFaultKind::Duplicate, pointer, reason));
            }
        }
        found
    }

    /// The faults between a row and its metric in `benchmark.yaml`.
    fn metric(&self, row: &ScoreRow<'_>) -> Vec<ScoreFault> {
        // If the benchmark has no metrics yet, none can be missing.
        let benchmark = self.benchmark.filter(|all| !all.metrics.is_empty());
        let Some(benchmark) = benchmark else {
            return Vec::new();
        };
        let id = &*row.metric_id;
        let Some(metric) = benchmark.metric(id) else {
            let reason = format!("benchmark.yaml has no metric {id:?}");
            let kind = ScoreFaultKind::Metric(id.to_owned());
            return vec![ScoreFault::new(kind, "/metric_id", reason)];
        };
        let now = metric.metric_type;
        let of_type = (now != row.recorded_type).then(|| {
            let reason = format!("the metric {id:?} of benchmark.yaml is {}", now.as_str());
            let kind = ScoreFaultKind::MetricType(id.to_owned());
            ScoreFault::new(kind, "/metric_type", reason)
        });
        let found = [of_type, off_threshold(row, metric), off_panel(row, metric)];
        found.into_iter().flatten().collect()
    }
}

/// The key of a row in its file.
fn key(conversation: &str, row: &ScoreRow<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (conversation, &*row.metric_id).hash(&mut hasher);
    hasher.finish()
}

/// The faults of the keys of a row among each other.
fn faults_within(row: &ScoreRow<'_>) -> Vec<ScoreFault> {
    let contradiction = contradiction(row);
    let incomplete = contradiction.is_none().then(|| incomplete(row)).flatten();
    let stated = row.stated.present.flatten();
    let keys = [("present", stated), ("passed", row.passed)];
    let verdict = keys.into_iter().find(|(_, value)| value.is_some());
    let reason = verdict
        .filter(|_| row.no_verdict.is_some())
        .map(|(key, _)| {
            let reason = format!("`_no_verdict` says why there is no verdict, and `{key}` is one");
            ScoreFault::new(ScoreFaultKind::ReasonBesideVerdict, "/_no_verdict", reason)
        });
    let found = [contradiction, incomplete, reason];
    found.into_iter().flatten().collect()
}

/// How fields of the verdict that the row states contradict each other.
fn contradiction(row: &ScoreRow<'_>) -> Option<ScoreFault> {
    let word =
        |value: Option<bool>| value.map_or("null", |value| if value { "true" } else { "false" });
    let (stated, metric_type) = (&row.stated, row.metric_type);
    if let (Some(present), Some(passed)) = (stated.present, stated.passed) {
        let wanted = present.map(|present| metric_type.passed(present));
        if passed != wanted {
            let reason = format!(
                "`present` is {} and `passed` is {}, where the metric is {}",
                word(present),
                word(passed),
                metric_type.as_str()
            );
            return Some(ScoreFault::contradiction("/passed", reason));
        }
    }
    let (Some(passed), Some(score)) = (stated.passed, stated.score) else {
        return None;
    };
    // A custom evaluator may give other numbers than 0 and 1.
    let fits = match (passed, score) {
        (Some(passed), Some(score)) => score != f64::from(u8::from(!passed)),
        (passed, score) => passed.is_some() == score.is_some(),
    };
    let number = |score: Option<f64>| score.map_or("null".to_owned(), |score| score.to_string());
    (!fits).then(|| {
        let reason = format!(
            "`passed` is {} and `score` is {}",
            word(passed),
            number(score)
        );
        ScoreFault::contradiction("/score", reason)
    })
}

/// Whether the row leaves out one of the keys of its verdict. Rows of ImpactBench have no `score`.
fn incomplete(row: &ScoreRow<'_>) -> Option<ScoreFault> {
    let score = match row.stated.score {
        Some(score) => score.is_some(),
        None => row.passed.is_some(),
    };
    let present = row.stated.present.flatten().is_some();
    let (kind, reason) = match row.passed {
        Some(_) if present && score => return None,
        None if !present && !score => return None,
        Some(_) => (
            ScoreFaultKind::Incomplete,
            "`present`, `passed` and `score` are either all known or all null",
        ),
        None => (
            ScoreFaultKind::WithoutPassed,
            "`passed` is missing beside `present` or `score`: the row has no verdict",
        ),
    };
    Some(ScoreFault::new(kind, "", reason))
}

/// How `_verdict` contradicts `present`, or the current metric in `benchmark.yaml`.
fn off_threshold(row: &ScoreRow<'_>, metric: &Metric) -> Option<ScoreFault> {
    let verdict = row.stated.verdict.as_ref()?;
    match metric.is_present(verdict) {
        Ok(present) if row.stated.present.flatten() == Some(present) => None,
        Ok(present) => Some(ScoreFault::contradiction(
            "/present",
            format!(
                "`_verdict` is {:?}, which means `present: {present}` by the `verdict` of the metric in benchmark.yaml",
                verdict.text()
            ),
        )),
        Err(error) => Some(ScoreFault::contradiction(
            "/_verdict",
            format!("`_verdict`: {error}"),
        )),
    }
}

/// How the verdicts in `_judges` do not give `present`.
fn off_panel(row: &ScoreRow<'_>, metric: &Metric) -> Option<ScoreFault> {
    let votes: Vec<PanelVote<'_>> = row
        .judges
        .iter()
        .map(|judge| PanelVote {
            present: judge.present,
            verdict: judge.verdict.as_ref(),
        })
        .collect();
    // Verdicts of another form than the metric's were given before the metric changed.
    let fits = |vote: &PanelVote<'_>| {
        vote.present.is_none() || vote.verdict.is_some() == metric.verdict.is_some()
    };
    if votes.len() < 2 || !votes.iter().all(fits) {
        return None;
    }
    let decided = panel::decide(metric, &votes).and_then(|verdict| {
        let present = metric.is_present(&verdict);
        present.map_err(|error| error.to_string())
    });
    let reason = match (decided, row.stated.present.flatten()) {
        (Ok(decided), Some(present)) if present == decided => return None,
        (Err(_), None) => return None,
        (Ok(decided), _) => format!("the judges in `_judges` decide `present: {decided}`"),
        (Err(why), Some(present)) => {
            format!("the judges in `_judges` do not decide `present: {present}`: {why}")
        }
    };
    Some(ScoreFault::new(ScoreFaultKind::Panel, "/present", reason))
}
