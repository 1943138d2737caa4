//! Reads a `labels.json`.

use std::{collections::HashSet, path::Path};

use aggregator::statistics::{LabelledRow, PersonLabel};
use located::json::JsonRows;
use schema::{HumanLabel, ModelId};

use super::{LabelRules, ScoredRows};
use crate::{BenchmarkDir, RunError};

/// The content of a target's `labels.json`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetLabels {
    /// The labels that count, in the order of the file.
    pub labels: Vec<HumanLabel>,
    /// The rows that people labelled, each with the judge's verdict, in the order of their first labels.
    pub rows: Vec<LabelledRow>,
    /// The number of labels left out, because an earlier run simulated their conversations.
    pub of_earlier_run: u64,
}

/// The labels of `target`, with the judge's verdicts. `None` if there is no `labels.json`.
///
/// # Errors
/// When a file cannot be read, or `labels.json` breaks a rule. The error names file, line, row and key.
pub fn read_labels(dir: &BenchmarkDir, target: &ModelId) -> Result<Option<TargetLabels>, RunError> {
    let files = dir.target(target)?;
    let path = files.labels();
    if !path.exists() {
        return Ok(None);
    }
    let labels = label_lines(&path)?;
    let conversations = |keep: fn(&HumanLabel) -> bool| -> HashSet<&str> {
        let kept = labels.iter().filter(|(_, label)| keep(label));
        kept.map(|(_, label)| label.conv_id.as_str()).collect()
    };
    let wanted = conversations(|_| true);
    let mut scored = ScoredRows::read_some(&files.scores(), target, |id| wanted.contains(id))?;
    let of_transcripts = conversations(|label| label.transcript.is_some());
    if !of_transcripts.is_empty() {
        let path = files.conversations();
        scored = scored.with_some_transcripts(&path, |id| of_transcripts.contains(id));
    }
    check(&path, &labels, LabelRules::new(Some(&scored)))?;
    Ok(Some(target_labels(&labels, &scored)))
}

/// All labels of `target` in its `labels.json`, in the order of the file; empty if there is no file. The labels are checked against
/// each other, but not against `scores.json`.
///
/// # Errors
/// When the file cannot be read, or breaks a rule. The error names file, line, row and key.
pub fn list_labels(dir: &BenchmarkDir, target: &ModelId) -> Result<Vec<HumanLabel>, RunError> {
    let path = dir.target(target)?.labels();
    if !path.exists() {
        return Ok(Vec::new());
    }
    let labels = label_lines(&path)?;
    check(&path, &labels, LabelRules::new(None))?;
    Ok(labels.into_iter().map(|(_, label)| label).collect())
}

/// Returns an error for the first label that breaks a rule.
fn check(
    path: &Path,
    labels: &[(u64, HumanLabel)],
    mut rules: LabelRules<'_>,
) -> Result<(), RunError> {
    for (row, (line, label)) in labels.iter().enumerate() {
        if let Some(fault) = rules.check(label, *line) {
            let reason = format!("row {}, key {}: {}", row + 1, fault.key, fault.reason);
            return Err(RunError::in_file(path, Some(*line), reason).with_help(fault.help));
        }
    }
    Ok(())
}

/// The labels of a file, each with its line.
fn label_lines(path: &Path) -> Result<Vec<(u64, HumanLabel)>, RunError> {
    let file = files::open(path).map_err(|error| RunError::read(path, error))?;
    let mut rows = JsonRows::new(file);
    let mut labels = Vec::new();
    let mut read = || {
        while let Some(row) = rows.next_row()? {
            labels.push((row.location.line, row.parse::<HumanLabel>()?));
        }
        Ok(())
    };
    read().map_err(|error: located::json::JsonRowsError| {
        RunError::input(format!("{}: {error}", path.display())).with_help(
            "each label has `conv_id`, `metric_id`, `passed` (true, false, or null where it is unclear) and `labeller`",
        )
    })?;
    Ok(labels)
}

/// Groups the labels by row.
fn target_labels(labels: &[(u64, HumanLabel)], scored: &ScoredRows) -> TargetLabels {
    let mut rows = indexmap::IndexMap::<(&str, &str), LabelledRow>::new();
    let mut counted = Vec::new();
    let mut of_earlier_run = 0;
    for (_, label) in labels {
        if scored.is_of_earlier_run(label) {
            of_earlier_run += 1;
            continue;
        }
        let Some(score) = scored.get(label) else {
            continue;
        };
        let row = rows
            .entry((&label.conv_id, &label.metric_id))
            .or_insert_with(|| LabelledRow {
                scenario: score.scenario.clone(),
                metric: label.metric_id.clone(),
                judge: score.passed,
                labels: Vec::new(),
            });
        row.labels.push(PersonLabel {
            labeller: label.labeller.clone(),
            passed: label.passed,
        });
        counted.push(label.clone());
    }
    TargetLabels {
        labels: counted,
        rows: rows.into_values().collect(),
        of_earlier_run,
    }
}
