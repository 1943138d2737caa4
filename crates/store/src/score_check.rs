//! Checks that the rows of a `scores.json` are consistent, and belong to the benchmark and the tree.

use std::{
    collections::{BTreeMap, HashSet},
    ops::ControlFlow,
    path::Path,
};

use schema::{Benchmark, Conversation, Metric, MetricType, ModelId, Verdict, text::counted};
use serde::{Deserialize, Deserializer};

use super::each_row;
use crate::{BenchmarkDir, RunError};

/// The faults in the rows of a `scores.json`.
#[derive(Debug, Default)]
pub struct ScoreFaults {
    /// The first row that contradicts itself. No rate may be computed from it.
    pub contradiction: Option<RunError>,
    /// A warning for each kind of rows that do not belong. These rows count like the others until somebody removes them.
    pub unrecognised: Vec<String>,
    /// A warning if rows record another type than their metric has in `benchmark.yaml`, which decides; see [`MetricType::settled`].
    pub other_type: Option<String>,
}

impl ScoreFaults {
    /// All warnings.
    pub fn warnings(self) -> Vec<String> {
        self.unrecognised
            .into_iter()
            .chain(self.other_type)
            .collect()
    }
}

/// Like [`find_score_faults`], but returns the warnings.
///
/// # Errors
/// When the file cannot be read, or a row contradicts itself.
pub fn check_scores(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    target: &ModelId,
) -> Result<Vec<String>, RunError> {
    let faults = find_score_faults(dir, benchmark, target)?;
    match faults.contradiction {
        Some(contradiction) => Err(contradiction),
        None => Ok(faults.warnings()),
    }
}

/// Checks the scores of `target`.
///
/// # Errors
/// When the file cannot be read.
pub fn find_score_faults(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    target: &ModelId,
) -> Result<ScoreFaults, RunError> {
    let files = dir.target(target)?;
    let path = files.scores();
    let mut check = Check {
        benchmark,
        target,
        conversations: conversations(dir, target)?,
        seen: HashSet::new(),
        row: 0,
        unrecognised: BTreeMap::new(),
        other_type: None,
        contradiction: None,
    };
    each_row(&path, |row: Row| {
        check.row += 1;
        check.take(&row);
        Ok(match check.contradiction.is_some() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    let mend = dir.evaluate_command(target);
    let number = check.row;
    let contradiction = check.contradiction.map(|what| {
        RunError::in_file(&path, None, format!("row {number}: {what}")).with_help(format!(
            "correct the row (`present`, `passed` and `score` go together), or judge it again with {mend}"
        ))
    });
    let warning = |(kind, rows): (Unrecognised, Rows)| {
        format!(
            "{}: {} (row {}: {}). They count in the rates; remove them, or judge the conversations again with {mend}",
            path.display(),
            kind.in_words(rows.count),
            rows.first,
            rows.example
        )
    };
    Ok(ScoreFaults {
        contradiction,
        unrecognised: check.unrecognised.into_iter().map(warning).collect(),
        other_type: check.other_type.map(|rows| other_type(&path, &rows)),
    })
}

/// The warning for rows that record another type than their metric has in `benchmark.yaml`.
fn other_type(path: &Path, rows: &Rows) -> String {
    format!(
        "{}: {} another `metric_type` than the metric of benchmark.yaml (row {}: {}), which decides: the verdicts fit it. Only \
         `positive_pass_rate` and `negative_pass_rate` of results.json count the rows by their own type, as ImpactBench does",
        path.display(),
        counted(rows.count, "row has", "rows have"),
        rows.first,
        rows.example
    )
}

/// The ids of the target's conversations in the tree, with their scenarios; `None` if the file is missing.
fn conversations(
    dir: &BenchmarkDir,
    target: &ModelId,
) -> Result<Option<HashSet<(String, String)>>, RunError> {
    let path = dir.target(target)?.conversations();
    if !path.exists() {
        return Ok(None);
    }
    let mut found = HashSet::new();
    each_row(&path, |row: ConversationRow| {
        found.insert((row.conversation(target), row.id));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(Some(found))
}

fn conversation_id(
    given: Option<String>,
    scenario: &str,
    target: &ModelId,
    sample: Option<u32>,
) -> String {
    let given = given.filter(|id| !id.is_empty());
    given.unwrap_or_else(|| Conversation::make_id(scenario, target, sample.unwrap_or(0)))
}

/// The fields that identify the conversation of a row, in `conversations.json` and in `scores.json`.
#[derive(Deserialize)]
pub(crate) struct ConversationRow {
    /// The scenario.
    pub(crate) id: String,
    #[serde(default)]
    conv_id: Option<String>,
    #[serde(default)]
    sample: Option<u32>,
    #[serde(rename = "_sample", default)]
    old_sample: Option<u32>,
}

impl ConversationRow {
    pub(crate) fn conversation(&self, target: &ModelId) -> String {
        let sample = self.sample.or(self.old_sample);
        conversation_id(self.conv_id.clone(), &self.id, target, sample)
    }
}

/// The checked fields of a score row. The verdict's fields distinguish a missing key from null: rows of other programs leave
/// some out.
#[derive(Deserialize)]
struct Row {
    id: String,
    metric_id: String,
    #[serde(default)]
    metric_type: Option<MetricType>,
    #[serde(default)]
    target_model: Option<String>,
    #[serde(default)]
    conv_id: Option<String>,
    #[serde(default)]
    sample: Option<u32>,
    #[serde(rename = "_sample", default)]
    old_sample: Option<u32>,
    #[serde(default, deserialize_with = "there")]
    present: Option<Option<bool>>,
    #[serde(rename = "_verdict", default)]
    verdict: Option<Verdict>,
    #[serde(default, deserialize_with = "there")]
    passed: Option<Option<bool>>,
    #[serde(default, deserialize_with = "there")]
    score: Option<Option<f64>>,
}

impl Row {
    /// The type by which the row counts, where its metric has the type `of_metric` in `benchmark.yaml`.
    fn settled_type(&self, of_metric: Option<MetricType>) -> Option<MetricType> {
        let (Some(recorded), Some(of_metric)) = (self.metric_type, of_metric) else {
            return self.metric_type.or(of_metric);
        };
        Some(of_metric.settled(recorded, self.present.flatten(), self.passed.flatten()))
    }
}

fn there<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
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

struct Check<'c> {
    benchmark: &'c Benchmark,
    target: &'c ModelId,
    conversations: Option<HashSet<(String, String)>>,
    seen: HashSet<(String, String)>,
    /// The number of the current row, from 1.
    row: u64,
    unrecognised: BTreeMap<Unrecognised, Rows>,
    other_type: Option<Rows>,
    contradiction: Option<String>,
}

impl Check<'_> {
    fn take(&mut self, row: &Row) {
        let metric = self.benchmark.metric(&row.metric_id);
        let known_type = metric.map(|metric| metric.metric_type);
        let counts_as = row.settled_type(known_type);
        let what = contradiction(row, counts_as);
        if let Some(what) = what.or_else(|| off_threshold(row, metric?)) {
            let text = format!("{}, metric {}: {what}", row.id, row.metric_id);
            self.contradiction = Some(text);
            return;
        }
        match (known_type, row.metric_type) {
            // If the benchmark has no metrics yet, none can be missing.
            (None, _) if self.benchmark.metrics.is_empty() => {}
            (None, _) => self.add(Unrecognised::Metric(row.metric_id.clone()), row),
            (Some(_), Some(then)) if counts_as != Some(then) => {
                let rows = self.other_type.get_or_insert_with(|| Rows {
                    count: 0,
                    first: self.row,
                    example: format!("{}, metric {}", row.id, row.metric_id),
                });
                rows.count += 1;
            }
            (Some(now), Some(then)) if now != then => {
                self.add(Unrecognised::MetricType(row.metric_id.clone()), row);
            }
            _ => {}
        }
        let other = row.target_model.as_deref();
        if let Some(other) = other.filter(|other| *other != self.target.as_str()) {
            self.add(Unrecognised::Target(other.to_owned()), row);
        }
        let sample = row.sample.or(row.old_sample);
        let id = conversation_id(row.conv_id.clone(), &row.id, self.target, sample);
        let key = (id, row.id.clone());
        if let Some(all) = &self.conversations
            && !all.contains(&key)
        {
            self.add(Unrecognised::Conversation, row);
        }
        if !self.seen.insert((key.0, row.metric_id.clone())) {
            self.add(Unrecognised::Twice, row);
        }
    }

    fn add(&mut self, kind: Unrecognised, row: &Row) {
        let first = self.row;
        let rows = self.unrecognised.entry(kind).or_insert_with(|| Rows {
            count: 0,
            first,
            example: row.id.clone(),
        });
        rows.count += 1;
    }
}

/// Describes which fields of the verdict contradict each other.
fn contradiction(row: &Row, metric_type: Option<MetricType>) -> Option<String> {
    let word =
        |value: Option<bool>| value.map_or("null", |value| if value { "true" } else { "false" });
    if let (Some(present), Some(passed), Some(metric_type)) = (row.present, row.passed, metric_type)
    {
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
    let (Some(passed), Some(score)) = (row.passed, row.score) else {
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
fn off_threshold(row: &Row, metric: &Metric) -> Option<String> {
    let verdict = row.verdict.as_ref()?;
    match metric.is_present(verdict) {
        Ok(present) if row.present == Some(Some(present)) => None,
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
        check_scores(&dir, &benchmark, &id).map_err(|error| error.to_string())
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
        assert_eq!(warnings.len(), 6, "{warnings:?}");
        found(
            "1 row has another `metric_type` than the metric of benchmark.yaml (row 6: s3, metric m02), which decides",
        );
        found("1 row is of the metric m07, which benchmark.yaml does not have (row 3: s2)");
        found("1 row is judged under another type of m02 than benchmark.yaml has now (row 5: s2)");
        found("1 row is of the target z, in the folder of another (row 4: s1)");
        found("1 row is of conversations that conversations.json does not have (row 2: s9)");
        found("1 row is duplicated (row 4: s1)");
    }
}
