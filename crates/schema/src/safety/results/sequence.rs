//! The order of the cases of an evaluation that stops when its rules are decided.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sequence::Sequence;

/// In which order the cases were run, and what is known of the rules: as `sequence.json` of a benchmark, with cases in the place of base
/// scenarios and the questions of this file's target alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SafetySequence {
    /// The order, and what is known. `samples` are the conversations of each case.
    #[serde(flatten)]
    pub sequence: Sequence,
    /// All cases, in that order.
    pub cases: Vec<SequencedCase>,
}

/// What rates need to know of a case that may not have been run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SequencedCase {
    /// Its id.
    pub id: String,
    /// Its group.
    pub group: String,
    /// Whether it is a control; absent for a risk.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
}
