//! The rules for the labels in a `labels.json`.

use std::{
    collections::{BTreeMap, HashMap},
    ops::ControlFlow,
    path::Path,
};

use aggregator::VerdictRow;
use schema::{HumanLabel, ModelId, nearest, text::is_blank};

use super::transcripts::transcript_digests;
use crate::{RunError, each_json_row};

/// The rows of a `scores.json`, which labels can refer to.
#[derive(Clone, Debug)]
pub struct ScoredRows {
    target: ModelId,
    /// The rows, by conversation and metric.
    rows: HashMap<String, BTreeMap<String, ScoredRow>>,
    /// The digest of each conversation's transcript, as far as known.
    transcripts: HashMap<String, String>,
}

/// A row of a `scores.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoredRowId<'r> {
    /// The conversation.
    pub conv_id: &'r str,
    /// The metric.
    pub metric_id: &'r str,
    /// The scenario.
    pub scenario: &'r str,
    /// Whether the judge passed the row; `None` if the judge gave no verdict.
    pub passed: Option<bool>,
}

#[derive(Clone, Debug)]
pub(super) struct ScoredRow {
    pub(super) scenario: String,
    pub(super) passed: Option<bool>,
}

impl ScoredRows {
    /// Reads the rows of `target` from the `scores.json` at `path`.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a list of score rows.
    pub fn read(path: &Path, target: &ModelId) -> Result<Self, RunError> {
        Self::read_some(path, target, |_| true)
    }

    /// Like [`read`](Self::read), only for conversations for which `wanted` returns true.
    pub(super) fn read_some(
        path: &Path,
        target: &ModelId,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Self, RunError> {
        let mut rows: HashMap<String, BTreeMap<String, ScoredRow>> = HashMap::new();
        each_json_row(path, |row| {
            let row = VerdictRow::read(row, target)?;
            if wanted(&row.conversation) {
                let scored = ScoredRow {
                    scenario: row.scenario,
                    passed: row.outcome.passed(),
                };
                let metrics = rows.entry(row.conversation).or_default();
                metrics.insert(row.metric_id, scored);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(Self {
            target: target.clone(),
            rows,
            transcripts: HashMap::new(),
        })
    }

    /// The rows, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = ScoredRowId<'_>> {
        self.rows.iter().flat_map(|(conv_id, metrics)| {
            metrics.iter().map(|(metric_id, row)| ScoredRowId {
                conv_id,
                metric_id,
                scenario: &row.scenario,
                passed: row.passed,
            })
        })
    }

    /// Adds the transcripts of the `conversations.json` at `path`, so that labels of an earlier run can be recognised. If the file
    /// cannot be read, all labels count as labels of this run.
    #[must_use]
    pub fn with_transcripts(self, path: &Path) -> Self {
        self.with_some_transcripts(path, |_| true)
    }

    pub(super) fn with_some_transcripts(
        mut self,
        path: &Path,
        wanted: impl Fn(&str) -> bool,
    ) -> Self {
        // Code that needs the conversations reports the problems of the file.
        let digests = transcript_digests(path, &self.target, wanted);
        self.transcripts = digests.unwrap_or_default();
        self
    }

    /// Whether a label is of another transcript than the conversation has now, which means that it belongs to an earlier run of the same
    /// target.
    #[must_use]
    pub fn is_of_earlier_run(&self, label: &HumanLabel) -> bool {
        let Some(read) = &label.transcript else {
            return false;
        };
        match self.transcripts.get(&label.conv_id) {
            Some(present) => read != present,
            None => !self.rows.contains_key(&label.conv_id) && self.is_of_target(&label.conv_id),
        }
    }

    /// Whether `scores.json` has rows of this conversation.
    #[must_use]
    pub fn has_conversation(&self, conv_id: &str) -> bool {
        self.rows.contains_key(conv_id)
    }

    /// The digest of a conversation's transcript, if it is known.
    #[must_use]
    pub fn transcript(&self, conv_id: &str) -> Option<&str> {
        self.transcripts.get(conv_id).map(String::as_str)
    }

    /// Returns a fault if `scores.json` has no row for the label. Faults between labels are found by [`LabelRules`].
    #[must_use]
    pub fn fault(&self, label: &HumanLabel) -> Option<LabelFault> {
        not_scored(self, label)
    }

    /// Whether a conversation belongs to the target, according to its id.
    fn is_of_target(&self, conv_id: &str) -> bool {
        conv_id.contains(&format!("__{}", self.target))
    }

    pub(super) fn get(&self, label: &HumanLabel) -> Option<&ScoredRow> {
        self.rows.get(&label.conv_id)?.get(&label.metric_id)
    }
}

/// A problem of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelFault {
    /// The faulty key.
    pub key: &'static str,
    /// What is wrong.
    pub reason: String,
    /// Advice, as a sentence without a full stop.
    pub help: &'static str,
}

/// The rules of `labels.json`, which its reader and `validate` share. The labels must be checked in the order of the file.
#[derive(Debug)]
pub struct LabelRules<'r> {
    scored: Option<&'r ScoredRows>,
    /// The line of each label, by conversation, metric and labeller.
    seen: HashMap<(String, String, String), u64>,
}

impl<'r> LabelRules<'r> {
    /// Rules for labels of the rows `scored`. Without rows, labels are only checked against each other.
    #[must_use]
    pub fn new(scored: Option<&'r ScoredRows>) -> Self {
        Self {
            scored,
            seen: HashMap::new(),
        }
    }

    /// Checks the label that begins in `line`, and returns its first fault.
    pub fn check(&mut self, label: &HumanLabel, line: u64) -> Option<LabelFault> {
        let blank = [
            ("conv_id", &label.conv_id),
            ("metric_id", &label.metric_id),
            ("labeller", &label.labeller),
        ];
        if let Some((key, _)) = blank.into_iter().find(|(_, text)| is_blank(text)) {
            return Some(LabelFault {
                key,
                reason: format!("`{key}` is blank"),
                help: "Name the row and the person of each label",
            });
        }
        let (conversation, metric) = (&label.conv_id, &label.metric_id);
        let of = (conversation.clone(), metric.clone(), label.labeller.clone());
        if let Some(first) = self.seen.get(&of) {
            return Some(LabelFault {
                key: "labeller",
                reason: format!(
                    "{:?} labelled {conversation:?} for {metric:?} in line {first} already",
                    label.labeller
                ),
                help: "Keep one label of each person on a row",
            });
        }
        self.seen.insert(of, line);
        let scored = self.scored.filter(|rows| !rows.is_of_earlier_run(label))?;
        not_scored(scored, label)
    }
}

/// Returns a fault if `scores.json` has no row for the label.
fn not_scored(scored: &ScoredRows, label: &HumanLabel) -> Option<LabelFault> {
    let (conversation, metric) = (&label.conv_id, &label.metric_id);
    let Some(metrics) = scored.rows.get(conversation) else {
        let reason = match scored.is_of_target(conversation) {
            true => format!("scores.json has no conversation {conversation:?}"),
            false => format!(
                "scores.json has no conversation {conversation:?}: its conversations are of {:?}",
                scored.target.as_str()
            ),
        };
        return Some(LabelFault {
            key: "conv_id",
            reason,
            help: "Labels hold for the run and the target whose rows were read: remove them, or move them to the tree that they are of",
        });
    };
    if metrics.contains_key(metric) {
        return None;
    }
    let known: Vec<&str> = metrics.keys().map(String::as_str).collect();
    let reason = match nearest(metric, known.iter().copied()) {
        Some(near) => format!(
            "{conversation:?} has no score for {metric:?} in scores.json; did you mean {near:?}?"
        ),
        None => format!(
            "{conversation:?} has no score for {metric:?} in scores.json; it has one for {}",
            known.join(", ")
        ),
    };
    Some(LabelFault {
        key: "metric_id",
        reason,
        help: "Correct the metric, or remove the label",
    })
}
