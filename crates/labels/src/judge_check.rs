//! Compares a judge with people whose labels are in no benchmark.

use std::path::Path;

use aggregator::{
    ScoreRow, StatedFields,
    statistics::{LabelledRow, PersonLabel, ScenarioIndex, TargetRows, judge_against_people},
};
use interop::labels::{
    LabelColumns, LabelFileError, LabelFileRow, LabelWords, is_like_labels_json, read_labels,
};
use schema::{MetricType, ModelId, ProgramFlag, statistics::JudgeAgainstPeople};
use store::RunError;

/// Reads the verdicts of people, and optionally of a judge, from a CSV, JSONL or JSON file. Without columns of labels the file must have
/// the form of `labels.json`, with the judge's verdict under `judge` unless `columns` sets another key.
///
/// # Errors
/// When the file cannot be read or used: file, line, column and what to do.
pub fn read_label_file(
    path: &Path,
    columns: &LabelColumns,
    words: &LabelWords,
) -> Result<Vec<LabelFileRow>, RunError> {
    let text = files::read_text(path).map_err(|error| RunError::read(path, error))?;
    let name = path.display().to_string();
    let columns = match columns.labels.is_empty() {
        false => columns.clone(),
        true if is_like_labels_json(&name, &text) => LabelColumns {
            judge: columns.judge.clone(),
            scenario: columns.scenario.clone(),
            user: columns.user.clone(),
            reply: columns.reply.clone(),
            transcript: columns.transcript.clone(),
            ..LabelColumns::of_labels_json()
        },
        true => {
            return Err(RunError::input(format!(
                "{name}: nothing says which column holds the labels"
            ))
            .with_help(format!(
                "name it with {}; a column for each person, where there are several",
                ProgramFlag::new("label-column")
            )));
        }
    };
    read_labels(&name, &text, &columns, words).map_err(unusable)
}

fn unusable(error: LabelFileError) -> RunError {
    let help = error.help().map(str::to_owned);
    let unusable = RunError::input(error.to_string()).with_source(error);
    match help {
        Some(help) => unusable.with_help(help),
        None => unusable,
    }
}

/// How far the judge's verdicts in `rows` agree with the labels of people. The scopes are `all` and the metrics, if the file has
/// several.
///
/// ```
/// use interop::labels::{LabelColumns, LabelWords, read_labels};
///
/// let columns = LabelColumns {
///     labels: vec!["human".to_owned()],
///     judge: Some("judge".to_owned()),
///     ..LabelColumns::default()
/// };
/// let text = "human,judge\nyes,yes\nyes,yes\nno,yes\nno,no\n";
/// let rows = read_labels("labels.csv", text, &columns, &LabelWords::default())?;
/// let people = labels::check_judge(&rows).ok_or("there are labels")?;
/// assert_eq!((people.scopes[0].agreement, people.scopes[0].kappa), (Some(0.75), Some(0.5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn check_judge(rows: &[LabelFileRow]) -> Option<JudgeAgainstPeople> {
    let mut counted = TargetRows::new(ModelId::new("labelled").ok()?);
    let mut labelled = Vec::new();
    for row in rows {
        let metric = row.metric.as_deref().unwrap_or("m01");
        counted.push_row(
            &ScoreRow {
                id: row.scenario.as_str().into(),
                metric_id: metric.into(),
                metric_type: MetricType::Positive,
                recorded_type: MetricType::Positive,
                passed: row.judge,
                present: row.judge,
                no_verdict: None,
                judges: Vec::new(),
                stated: StatedFields::default(),
                failed: false,
                conv_id: "".into(),
            },
            false,
        );
        if !row.labels.is_empty() {
            labelled.push(LabelledRow {
                scenario: row.scenario.clone(),
                metric: metric.to_owned(),
                judge: row.judge,
                labels: row
                    .labels
                    .iter()
                    .map(|label| PersonLabel {
                        labeller: label.labeller.clone(),
                        passed: label.passed,
                    })
                    .collect(),
            });
        }
    }
    let mut people = judge_against_people(&counted, &ScenarioIndex::default(), &labelled)?;
    // The file does not show which behaviour is desired.
    let is_type = |scope: &str| matches!(scope, "positive" | "negative");
    people.scopes.retain(|scope| !is_type(&scope.scope));
    if people.scopes.len() == 2 {
        people.scopes.truncate(1);
    }
    Some(people)
}
