//! People's labels, joined to their rows.

use std::collections::HashMap;

use schema::{Conversation, HumanLabel, text::counted, transcript_digest};

use super::data::{Row, RowLabel};

/// The labels of one run.
#[derive(Debug, Default)]
pub(super) struct RunLabels {
    /// By conversation.
    labels: HashMap<String, Vec<HumanLabel>>,
    /// The number of labels whose row was not read yet.
    left: usize,
    /// The number of labels of conversations that an earlier run simulated.
    stale: usize,
}

impl RunLabels {
    pub(super) fn new(labels: Vec<HumanLabel>) -> Self {
        let mut all = Self {
            left: labels.len(),
            ..Self::default()
        };
        for label in labels {
            let of = all.labels.entry(label.conv_id.clone()).or_default();
            of.push(label);
        }
        all
    }

    /// Adds people's labels of a conversation to its rows. `ids` are the metrics of the rows.
    pub(super) fn add_to<'m>(
        &mut self,
        conversation: &Conversation,
        rows: &mut [Row],
        ids: impl Iterator<Item = &'m str>,
    ) {
        let Some(labels) = self.labels.get(&conversation.conv_id) else {
            return;
        };
        let digest = transcript_digest(&conversation.transcript);
        for (row, id) in rows.iter_mut().zip(ids) {
            for label in labels.iter().filter(|label| label.metric_id == id) {
                self.left = self.left.saturating_sub(1);
                if label.transcript.as_ref().is_some_and(|of| *of != digest) {
                    self.stale += 1;
                    continue;
                }
                row.labels.push(RowLabel {
                    labeller: label.labeller.clone(),
                    passed: label.passed,
                    note: label.note.clone(),
                });
            }
        }
    }

    /// Messages on labels that are not shown. To be called when all rows were read.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.left > 0 {
            let labels = counted(self.left as u64, "label is", "labels are");
            lines.push(format!("{labels} of no row in the tree and not shown"));
        }
        if self.stale > 0 {
            let labels = counted(self.stale as u64, "label is", "labels are");
            lines.push(format!(
                "{labels} of a conversation of an earlier run and not shown"
            ));
        }
        lines
    }
}
