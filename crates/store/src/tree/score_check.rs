//! Checks that the rows of a `scores.json` are consistent, and belong to the benchmark and the tree.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::Arc,
};

use aggregator::ScoreRow;
use schema::{Benchmark, Metric, ModelId, text::counted};

use crate::{BenchmarkDir, RunError};

/// The faults in the rows of a `scores.json`.
#[derive(Clone, Debug, Default)]
pub struct ScoreFaults {
    /// Why the conversations cannot be read: it is unknown which of them the rows belong to.
    pub conversations: Option<Arc<RunError>>,
    /// The first row that contradicts itself. No rate may be computed from it.
    pub contradiction: Option<Contradiction>,
    /// A warning for each kind of rows that do not belong. These rows count like the others until somebody removes them.
    pub unrecognised: Vec<String>,
}

impl ScoreFaults {
    /// All warnings.
    ///
    /// # Errors
    /// When a row contradicts itself, or the conversations cannot be read.
    pub fn warnings(&self) -> Result<Vec<String>, RunError> {
        if let Some(error) = &self.conversations {
            return Err(error.without_source());
        }
        match &self.contradiction {
            Some(contradiction) => Err(contradiction.error()),
            None => Ok(self.unrecognised.clone()),
        }
    }
}

/// A row of a `scores.json` that contradicts itself.
#[derive(Clone, Debug)]
pub struct Contradiction {
    path: PathBuf,
    row: u64,
    what: String,
    /// The command that judges the conversations again.
    mend: String,
}

impl Contradiction {
    /// The error, with its file and row.
    #[must_use]
    pub fn error(&self) -> RunError {
        let reason = format!("row {}: {}", self.row, self.what);
        RunError::in_file(&self.path, None, reason).with_help(format!(
            "correct the row (`present`, `passed` and `score` go together), or judge it again with {}",
            self.mend
        ))
    }
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error().fmt(f)
    }
}

/// The conversations of a target. Each is kept as a hash of its id and its scenario: a million take 16 MB.
#[derive(Debug, Default)]
pub(super) struct ConversationIds(HashSet<u64>);

impl ConversationIds {
    pub(super) fn add(&mut self, conversation: &str, scenario: &str) {
        self.0.insert(hash_of(conversation, scenario));
    }
}

fn hash_of(a: &str, b: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (a, b).hash(&mut hasher);
    hasher.finish()
}

/// A kind of rows that do not belong to the benchmark, or are duplicates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Unrecognised {
    Metric(String),
    MetricType(String),
    Target(String),
    Conversation,
    Twice,
}

impl Unrecognised {
    fn in_words(&self, count: u64) -> String {
        let rows = counted(count, "row is", "rows are");
        match self {
            Self::Metric(metric) => {
                format!("{rows} of the metric {metric}, which benchmark.yaml does not have")
            }
            Self::MetricType(metric) => {
                format!("{rows} judged under another type of {metric} than benchmark.yaml has now")
            }
            Self::Target(target) => {
                format!("{rows} of the target {target}, in the folder of another")
            }
            Self::Conversation => {
                format!("{rows} of conversations that conversations.json does not have")
            }
            Self::Twice => format!("{rows} duplicated"),
        }
    }
}

struct Rows {
    count: u64,
    first: u64,
    example: String,
}

/// Checks the rows of one `scores.json`, one after the other.
pub(super) struct ScoreCheck<'c> {
    benchmark: &'c Benchmark,
    target: &'c ModelId,
    /// `None`: unknown, so that no row can lack its conversation.
    conversations: Option<&'c ConversationIds>,
    seen: HashSet<u64>,
    /// The number of the current row, from 1.
    row: u64,
    unrecognised: BTreeMap<Unrecognised, Rows>,
    contradiction: Option<String>,
}

impl<'c> ScoreCheck<'c> {
    pub(super) fn new(
        benchmark: &'c Benchmark,
        target: &'c ModelId,
        conversations: Option<&'c ConversationIds>,
    ) -> Self {
        Self {
            benchmark,
            target,
            conversations,
            seen: HashSet::new(),
            row: 0,
            unrecognised: BTreeMap::new(),
            contradiction: None,
        }
    }

    /// The faults of the rows of the file at `path`.
    pub(super) fn finish(self, dir: &BenchmarkDir, path: &Path) -> ScoreFaults {
        let mend = dir.evaluate_command(self.target);
        let warning = |(kind, rows): (Unrecognised, Rows)| {
            format!(
                "{}: {} (row {}: {}). They count in the rates; remove them, or judge the conversations again with {mend}",
                path.display(),
                kind.in_words(rows.count),
                rows.first,
                rows.example
            )
        };
        ScoreFaults {
            conversations: None,
            unrecognised: self.unrecognised.into_iter().map(warning).collect(),
            contradiction: self.contradiction.map(|what| Contradiction {
                path: path.to_owned(),
                row: self.row,
                what,
                mend: mend.clone(),
            }),
        }
    }

    /// Checks the next row. After a contradiction, further rows are not checked.
    pub(super) fn push(&mut self, row: &ScoreRow<'_>, conversation: &str) {
        if self.contradiction.is_some() {
            return;
        }
        self.row += 1;
        let metric = self.benchmark.metric(&row.metric_id);
        let known_type = metric.map(|metric| metric.metric_type);
        let what = contradiction(row);
        if let Some(what) = what.or_else(|| off_threshold(row, metric?)) {
            let text = format!("{}, metric {}: {what}", row.id, row.metric_id);
            self.contradiction = Some(text);
            return;
        }
        match known_type {
            // If the benchmark has no metrics yet, none can be missing.
            None if self.benchmark.metrics.is_empty() => {}
            None => self.add(Unrecognised::Metric(row.metric_id.to_string()), row),
            // The statistics count these rows, whose metric's type decides.
            Some(_) if row.metric_type != row.recorded_type => {}
            Some(now) if now != row.recorded_type => {
                self.add(Unrecognised::MetricType(row.metric_id.to_string()), row);
            }
            Some(_) => {}
        }
        let other = row.stated.target_model.as_deref();
        if let Some(other) = other.filter(|other| *other != self.target.as_str()) {
            self.add(Unrecognised::Target(other.to_owned()), row);
        }
        if let Some(all) = self.conversations
            && !all.0.contains(&hash_of(conversation, &row.id))
        {
            self.add(Unrecognised::Conversation, row);
        }
        if !self.seen.insert(hash_of(conversation, &row.metric_id)) {
            self.add(Unrecognised::Twice, row);
        }
    }

    fn add(&mut self, kind: Unrecognised, row: &ScoreRow<'_>) {
        let first = self.row;
        let rows = self.unrecognised.entry(kind).or_insert_with(|| Rows {
            count: 0,
            first,
            example: row.id.to_string(),
        });
        rows.count += 1;
    }
}

/// Describes which fields of the verdict contradict each other.
fn contradiction(row: &ScoreRow<'_>) -> Option<String> {
    let word =
        |value: Option<bool>| value.map_or("null", |value| if value { "true" } else { "false" });
    let (stated, metric_type) = (&row.stated, row.metric_type);
    if let (Some(present), Some(passed)) = (stated.present, stated.passed) {
        let wanted = present.map(|present| metric_type.passed(present));
        if passed != wanted {
            return Some(format!(
                "`present` is {} and `passed` is {}, where the metric is {}",
                word(present),
                word(passed),
                metric_type.as_str()
            ));
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
        format!(
            "`passed` is {} and `score` is {}",
            word(passed),
            number(score)
        )
    })
}

/// How `_verdict` contradicts `present`, or the current metric in `benchmark.yaml`.
fn off_threshold(row: &ScoreRow<'_>, metric: &Metric) -> Option<String> {
    let verdict = row.stated.verdict.as_ref()?;
    match metric.is_present(verdict) {
        Ok(present) if row.present == Some(present) => None,
        Ok(present) => Some(format!(
            "`_verdict` is {:?}, which means `present: {present}` by the `verdict` of the metric in benchmark.yaml",
            verdict.text()
        )),
        Err(error) => Some(format!("`_verdict`: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Layout;

    fn row(id: &str, metric: &str, verdict: Value) -> Value {
        let mut row = json!({"id": id, "metric_id": metric, "target_model": "a", "conv_id": format!("{id}__a"), "sample": 0});
        for (key, value) in verdict.as_object().unwrap() {
            row[key] = value.clone();
        }
        row
    }

    fn checked(rows: &[Value]) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let dir = Layout::new(folder.path()).benchmark("b").unwrap();
        let id = ModelId::new("a").unwrap();
        let files = dir.target(&id).unwrap();
        std::fs::create_dir_all(files.root()).unwrap();
        std::fs::write(files.scores(), json!(rows).to_string()).unwrap();
        let talks =
            json!([{"id": "s1"}, {"id": "s2", "conv_id": "s2__a"}, {"id": "s3", "_sample": 1}]);
        std::fs::write(files.conversations(), talks.to_string()).unwrap();
        let benchmark = json!({"name": "b", "metrics": [
            {"id": "m01", "name": "n", "type": "negative", "definition": "d"},
            {"id": "m02", "name": "p", "type": "positive", "definition": "d"},
            {"id": "m03", "name": "q", "type": "positive", "definition": "d",
                "verdict": {"type": "scale", "min": 1, "max": 5, "threshold": 4}},
        ]});
        let benchmark: Benchmark = serde_json::from_value(benchmark).unwrap();
        let facts = dir.facts(&benchmark, &id);
        let warnings = facts.and_then(|facts| facts.faults.warnings());
        warnings.map_err(|error| error.to_string())
    }

    #[test]
    fn rows_that_contradict_themselves_are_errors() {
        let good = row(
            "s1",
            "m01",
            json!({"present": false, "passed": true, "score": 1}),
        );
        for (metric, verdict, words) in [
            (
                "m01",
                json!({"present": true, "passed": true, "score": 1}),
                "`present` is true and `passed` is true, where the metric is negative",
            ),
            (
                "m02",
                json!({"present": false, "passed": true}),
                "`present` is false and `passed` is true, where the metric is positive",
            ),
            (
                "m02",
                json!({"present": null, "passed": true, "score": 1}),
                "`present` is null",
            ),
            (
                "m02",
                json!({"present": true, "passed": null, "score": null}),
                "`passed` is null",
            ),
            (
                "m02",
                json!({"present": true, "passed": true, "score": 0}),
                "`passed` is true and `score` is 0",
            ),
            (
                "m02",
                json!({"passed": null, "score": 0.5}),
                "`passed` is null and `score` is 0.5",
            ),
            (
                "m03",
                json!({"present": true, "_verdict": {"value": 3, "label": null}}),
                "`_verdict` is \"3\", which means `present: false`",
            ),
            (
                "m03",
                json!({"present": true, "_verdict": {"value": 6}}),
                "`_verdict`: expected a whole number from 1 to 5, found \"6\"",
            ),
            (
                "m02",
                json!({"present": true, "_verdict": {"value": 3}}),
                "`_verdict`: expected yes or no, found \"3\"",
            ),
        ] {
            let error = checked(&[good.clone(), row("s2", metric, verdict)]).unwrap_err();
            assert!(
                error.contains("scores.json: row 2: s2, metric m0"),
                "{error}"
            );
            assert!(error.contains(words), "{error}");
            assert!(error.contains(" evaluate b --target a`"), "{error}");
        }
        let fine = [
            good,
            row(
                "s2",
                "m02",
                json!({"present": null, "passed": null, "score": null}),
            ),
            row(
                "s1",
                "m03",
                json!({"present": true, "passed": true, "score": 1, "_verdict": {"value": 4, "label": null}}),
            ),
            // What other programs leave out, and numbers of an evaluator of one's own.
            json!({"id": "s3", "metric_id": "m01", "_sample": 1, "passed": true, "present": false, "score": 0.7}),
        ];
        assert_eq!(checked(&fine).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn rows_that_do_not_belong_are_named() {
        let verdict = json!({"present": false, "passed": true, "metric_type": "negative"});
        let mut other_target = row("s1", "m01", verdict.clone());
        other_target["target_model"] = json!("z");
        let rows = [
            row("s1", "m01", verdict.clone()),
            row("s9", "m01", verdict.clone()),
            row("s2", "m07", verdict.clone()),
            other_target,
            row(
                "s2",
                "m02",
                json!({"present": false, "passed": true, "metric_type": "negative"}),
            ),
            // The type of another metric, where the verdict is right by the metric's own.
            row(
                "s3",
                "m02",
                json!({"present": true, "passed": true, "metric_type": "negative", "conv_id": "s3__a__s1", "sample": 1}),
            ),
        ];
        let warnings = checked(&rows).unwrap();
        let found = |words: &str| {
            assert!(
                warnings.iter().any(|line| line.contains(words)),
                "{words}: {warnings:?}"
            )
        };
        // The statistics count row 6, whose metric's type decides.
        assert_eq!(warnings.len(), 5, "{warnings:?}");
        found("1 row is of the metric m07, which benchmark.yaml does not have (row 3: s2)");
        found("1 row is judged under another type of m02 than benchmark.yaml has now (row 5: s2)");
        found("1 row is of the target z, in the folder of another (row 4: s1)");
        found("1 row is of conversations that conversations.json does not have (row 2: s9)");
        found("1 row is duplicated (row 4: s1)");
    }
}
