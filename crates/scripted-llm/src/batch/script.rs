//! How batches go: their time, their end, and their faults.

use std::time::Duration;

use crate::{Fault, fault_board::FaultBoard};

/// How the batches of a server go; set with [`Builder::batches`](crate::Builder::batches).
///
/// ```
/// use std::time::Duration;
/// use scripted_llm::{BatchEnd, BatchScript, BatchStep, Fault, FailingItems};
///
/// let script = BatchScript {
///     duration: Duration::from_millis(20),
///     end: BatchEnd::Expired { after: 3 }, // the fourth item and all later ones are not answered
///     failing: Some(FailingItems { share: 0.1, status: 500 }),
///     faults: vec![(BatchStep::Upload, Fault::status(429)?.header("retry-after", "1")?.first(2))],
///     ..BatchScript::default()
/// };
/// # Ok::<(), scripted_llm::FaultError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BatchScript {
    /// Whether the paths of files and batches exist. Without them they get status 404, as from a server without batches. Default: true.
    pub served: bool,
    /// The time from a batch's creation to its end. Items are answered evenly over its middle eight tenths: the first tenth is OpenAI's
    /// `validating`, the last one `finalizing`. Default: 50 ms.
    pub duration: Duration,
    /// How the batches end. Default: [`BatchEnd::Completed`].
    pub end: BatchEnd,
    /// Items that fail whatever they request. Default: none. The server's [`Fault`]s apply to the other items as to direct calls.
    pub failing: Option<FailingItems>,
    /// Writes output lines from the last item to the first. Default: false, in the order of the input.
    pub reversed: bool,
    /// Writes the first lines of the outputs twice, this many of them. Default: 0.
    pub duplicated: usize,
    /// Leaves the first items of the input out of all outputs, this many of them; they are counted as any. Default: 0.
    pub missing: usize,
    /// Faults of the requests about files and batches. Of each step, the first one that applies is used. The conditions of model and task have no
    /// effect. Statuses and bodies without any part of the regular reply come instead of the step; `hang`, `reset` and `truncated-json` lose
    /// the reply of a step that has been done; `slow` delays it; other kinds have no effect. Default: none.
    pub faults: Vec<(BatchStep, Fault)>,
}

impl Default for BatchScript {
    fn default() -> Self {
        Self {
            served: true,
            duration: Duration::from_millis(50),
            end: BatchEnd::Completed,
            failing: None,
            reversed: false,
            duplicated: 0,
            missing: 0,
            faults: Vec::new(),
        }
    }
}

/// How a batch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchEnd {
    /// All items are answered.
    Completed,
    /// OpenAI: the validation of the input fails as a whole. Anthropic: the creation gets status 400.
    Failed,
    /// The batch expires.
    Expired {
        /// The items that are answered before it, in the order of the input.
        after: usize,
    },
    /// The batch is cancelled, as if by somebody else.
    Cancelled {
        /// The items that are answered before it, in the order of the input.
        after: usize,
    },
    /// The batch stays in progress until a client cancels it or [`ScriptedServer::finish_batches`](crate::ScriptedServer::finish_batches) is called.
    Stalled {
        /// The items that are answered, in the order of the input.
        after: usize,
    },
}

/// Items of batches that fail, whatever they request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailingItems {
    /// The share of items, from 0 to 1. A hash of the item's `custom_id` determines which.
    pub share: f64,
    /// The status of their replies. An invalid one becomes 500.
    pub status: u16,
}

/// A request about files or batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BatchStep {
    /// `POST /files`.
    Upload,
    /// `POST /batches` and `POST /messages/batches`.
    Create,
    /// `GET` of a batch or of the list of batches.
    Poll,
    /// `GET` of a file, its content, or a batch's results.
    Results,
    /// `POST` to the path `cancel` of a batch.
    Cancel,
    /// `DELETE` of a file or a batch.
    Delete,
}

impl BatchStep {
    const ALL: [Self; 6] = [
        Self::Upload,
        Self::Create,
        Self::Poll,
        Self::Results,
        Self::Cancel,
        Self::Delete,
    ];
}

/// A script that is in effect, and what has become of its faults.
#[derive(Debug)]
pub(crate) struct ActiveScript {
    pub(crate) script: BatchScript,
    faults: [FaultBoard; BatchStep::ALL.len()],
}

impl ActiveScript {
    pub(crate) fn new(script: BatchScript) -> Self {
        let of_step = |step| {
            let faults = script.faults.iter().filter(|(of, _)| *of == step);
            FaultBoard::new(faults.map(|(_, fault)| fault.clone()).collect())
        };
        Self {
            faults: BatchStep::ALL.map(of_step),
            script,
        }
    }

    /// The faults of a step.
    pub(crate) fn faults(&self, step: BatchStep) -> Option<&FaultBoard> {
        self.faults.get(step as usize)
    }
}
