//! Checks that the rows of a `scores.json` are consistent, and belong to the benchmark and the tree.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::Arc,
};

use aggregator::{ScoreFault, ScoreFaultKind, ScoreFaultSeverity, ScoreRow, ScoreRules};
use schema::{Benchmark, ModelId, Notice, ProgramCommand, notice, text::counted};

use crate::{BenchmarkDir, RunError};

/// The faults in the rows of a `scores.json`.
#[derive(Clone, Debug, Default)]
pub struct ScoreFaults {
    /// Why the conversations cannot be read: it is unknown which of them the rows belong to.
    pub conversations: Option<Arc<RunError>>,
    /// The first row that contradicts itself. No rate may be computed from it.
    pub contradiction: Option<Contradiction>,
    /// A warning for each kind of rows that are wrong or do not belong. These rows count like the others until somebody removes them.
    pub unrecognised: Vec<Notice>,
}

impl ScoreFaults {
    /// All warnings.
    ///
    /// # Errors
    /// When a row contradicts itself, or the conversations cannot be read.
    pub fn warnings(&self) -> Result<Vec<Notice>, RunError> {
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
    mend: ProgramCommand,
}

impl Contradiction {
    /// The error, with its file and row.
    #[must_use]
    pub fn error(&self) -> RunError {
        let reason = format!("row {}: {}", self.row, self.what);
        RunError::in_file(&self.path, None, reason).with_help(notice![
            "correct the row (`present`, `passed` and `score` go together), or judge it again with ",
            self.mend.clone()
        ])
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

/// What rows with a fault of this kind are, in words.
fn in_words(kind: &ScoreFaultKind, count: u64) -> String {
    let rows = counted(count, "row is", "rows are");
    match kind {
        ScoreFaultKind::Metric(metric) => {
            format!("{rows} of the metric {metric}, which benchmark.yaml does not have")
        }
        ScoreFaultKind::MetricType(metric) => {
            format!("{rows} judged under another type of {metric} than benchmark.yaml has now")
        }
        ScoreFaultKind::Target(target) => {
            format!("{rows} of the target {target}, in the folder of another")
        }
        ScoreFaultKind::Conversation => {
            format!("{rows} of conversations that conversations.json does not have")
        }
        ScoreFaultKind::Duplicate => format!("{rows} duplicated"),
        ScoreFaultKind::Panel => format!("{rows} decided otherwise by the judges in `_judges`"),
        ScoreFaultKind::ReasonBesideVerdict => {
            format!("{rows} scored and have a `_no_verdict` besides")
        }
        ScoreFaultKind::WithoutPassed => format!("{rows} without `passed`, which is the verdict"),
        // A contradiction ends the check.
        ScoreFaultKind::Incomplete | ScoreFaultKind::Contradiction => {
            format!("{rows} without one of `present`, `passed` and `score`, where another is known")
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
    rules: ScoreRules<'c>,
    target: &'c ModelId,
    /// `None`: unknown, so that no row can lack its conversation.
    conversations: Option<&'c ConversationIds>,
    /// The number of the current row, from 1.
    row: u64,
    unrecognised: BTreeMap<ScoreFaultKind, Rows>,
    contradiction: Option<String>,
}

impl<'c> ScoreCheck<'c> {
    pub(super) fn new(
        benchmark: &'c Benchmark,
        target: &'c ModelId,
        conversations: Option<&'c ConversationIds>,
    ) -> Self {
        Self {
            rules: ScoreRules::new(Some(benchmark), Some(target)),
            target,
            conversations,
            row: 0,
            unrecognised: BTreeMap::new(),
            contradiction: None,
        }
    }

    /// The faults of the rows of the file at `path`.
    pub(super) fn finish(self, dir: &BenchmarkDir, path: &Path) -> ScoreFaults {
        let mend = dir.evaluate_command(self.target);
        let warning = |(kind, rows): (ScoreFaultKind, Rows)| {
            let fact = format!(
                "{}: {} (row {}: {})",
                path.display(),
                in_words(&kind, rows.count),
                rows.first,
                rows.example
            );
            let counted = match kind {
                ScoreFaultKind::WithoutPassed => ". No rate counts them; ",
                _ => ". They count in the rates; ",
            };
            notice![
                fact,
                counted,
                "remove them, or judge the conversations again with ",
                mend.clone()
            ]
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
        let known = self.conversations;
        let has = |id: &str| known.is_none_or(|all| all.0.contains(&hash_of(id, &row.id)));
        let faults = self.rules.check(row, self.row, Some(conversation), has);
        let worst =
            |fault: &&ScoreFault| fault.kind.severity() == ScoreFaultSeverity::Contradiction;
        if let Some(fault) = faults.iter().find(worst) {
            let text = format!("{}, metric {}: {}", row.id, row.metric_id, fault.reason);
            self.contradiction = Some(text);
            return;
        }
        for fault in faults {
            let is_of_type = matches!(fault.kind, ScoreFaultKind::MetricType(_));
            // The statistics count these rows, whose metric's type decides.
            if !is_of_type || row.metric_type == row.recorded_type {
                self.add(fault.kind, row);
            }
        }
    }

    fn add(&mut self, kind: ScoreFaultKind, row: &ScoreRow<'_>) {
        let first = self.row;
        let rows = self.unrecognised.entry(kind).or_insert_with(|| Rows {
            count: 0,
            first,
            example: row.id.to_string(),
        });
        rows.count += 1;
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
        warnings
            .map(|warnings| warnings.iter().map(ToString::to_string).collect())
            .map_err(|error| error.to_string())
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
