//! Scenarios that are simulated in an order until a question is answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sequence::{Sequence, SequenceStop, SequenceTest};

/// The order is fixed, before the first row.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StartingSequence {
    /// The content of `sequence.json`.
    pub sequence: Box<Sequence>,
}

/// The scenarios so far answer a question; or the last row has ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct SequenceLook {
    /// How many scenarios of the order have rows of a target.
    pub seen: u64,
    /// Why the run stopped; absent while it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<SequenceStop>,
    /// What this look answered; at the end all that is known.
    pub tests: Vec<SequenceTest>,
}

impl SequenceLook {
    /// Takes what was found into the content of a `sequence.json`.
    pub fn add_to(self, sequence: &mut Sequence) {
        sequence.seen = self.seen;
        sequence.stopped = self.stopped;
        if self.stopped.is_some() {
            sequence.tests = self.tests;
            return;
        }
        for test in self.tests {
            let mut known = sequence.tests.iter_mut();
            match known.find(|known| known.is_same(&test)) {
                Some(known) => *known = test,
                None => sequence.tests.push(test),
            }
        }
    }
}
