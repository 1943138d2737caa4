//! `labels.json` of a target: labels that people gave to rows with a verdict of the judge.

mod read;
mod rules;
mod transcripts;
mod write;

pub use read::{TargetLabels, list_labels, read_labels};
pub use rules::{LabelFault, LabelRules, ScoredRowId, ScoredRows};
pub use write::{LabelChanges, put_label, put_labels, remove_label, write_labels};
