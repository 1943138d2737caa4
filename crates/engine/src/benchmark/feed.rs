//! What a benchmark's run plays: scenarios, whose list grows while they are generated, or the conversations of a file.

use std::sync::Arc;

use schema::{Conversation, Scenario};
use store::RowPosition;
use tokio::sync::{mpsc, watch};

use crate::feed::Feed;

/// A scenario and where it is in the final files.
#[derive(Clone, Debug)]
pub(crate) struct FeedRow {
    pub(crate) scenario: Arc<Scenario>,
    /// Position of its metric in the benchmark.
    pub(crate) metric: u32,
    /// Position among the metric's rows.
    pub(crate) index: u32,
}

#[derive(Debug, Default)]
struct State {
    rows: Vec<FeedRow>,
    ended: bool,
}

/// The writing end. Dropping it ends the list.
#[derive(Debug)]
pub(crate) struct ScenarioWriter {
    sender: watch::Sender<State>,
}

/// A reading end. Each one reads all rows at its own pace, so that a slow target delays no other.
#[derive(Clone, Debug)]
pub(crate) struct ScenarioList {
    receiver: watch::Receiver<State>,
}

/// A new, empty list.
pub(crate) fn scenario_list() -> (ScenarioWriter, ScenarioList) {
    let (sender, receiver) = watch::channel(State::default());
    (ScenarioWriter { sender }, ScenarioList { receiver })
}

impl ScenarioWriter {
    pub(crate) fn push(&self, row: FeedRow) {
        self.sender.send_modify(|state| state.rows.push(row));
    }

    /// All rows so far.
    pub(crate) fn rows(&self) -> Vec<FeedRow> {
        self.sender.borrow().rows.clone()
    }
}

impl Drop for ScenarioWriter {
    fn drop(&mut self) {
        self.sender.send_modify(|state| state.ended = true);
    }
}

impl ScenarioList {
    /// Waits for row `n`. Returns `None` when the list ends before it.
    async fn row(&mut self, n: usize) -> Option<FeedRow> {
        let wanted = |state: &State| state.rows.len() > n || state.ended;
        let state = self.receiver.wait_for(wanted).await.ok()?;
        state.rows.get(n).cloned()
    }

    /// All rows so far.
    pub(crate) fn rows(&self) -> Vec<FeedRow> {
        self.receiver.borrow().rows.clone()
    }

    /// The number of rows once no more come; `None` while more may come.
    fn total(&self) -> Option<usize> {
        let state = self.receiver.borrow();
        state.ended.then_some(state.rows.len())
    }
}

/// A sample of a scenario.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) row: FeedRow,
    pub(super) sample: u32,
}

/// How a sample ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RowEnd {
    /// It was not finished, because the run is stopping or its budget is spent.
    Left,
    /// With these verdicts; none of a row that is not judged.
    Ended(Vec<RowVerdict>),
}

/// The verdict of a sample on a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowVerdict {
    pub(super) metric: String,
    /// `None` without a verdict.
    pub(super) passed: Option<bool>,
    /// A reply that it rests on is empty or cut off.
    pub(super) is_incomplete: bool,
}

/// Every scenario of a list, as many times as there are samples.
#[derive(Debug)]
pub(super) struct SampleFeed {
    scenarios: ScenarioList,
    /// How many scenarios were read.
    read: usize,
    samples: u32,
    /// The scenario whose samples are handed out, and the next of them.
    current: Option<(FeedRow, u32)>,
}

impl SampleFeed {
    pub(super) fn new(scenarios: ScenarioList, samples: u32) -> Self {
        Self {
            scenarios,
            read: 0,
            samples,
            current: None,
        }
    }
}

impl Feed for SampleFeed {
    type Unit = Sample;
    /// Rows go to the files of their target when they end.
    type End = RowEnd;

    async fn next(&mut self) -> Option<Sample> {
        let (row, sample) = match self.current.take() {
            Some((row, sample)) if sample < self.samples => (row, sample),
            _ => {
                let row = self.scenarios.row(self.read).await?;
                self.read += 1;
                (row, 0)
            }
        };
        self.current = Some((row.clone(), sample + 1));
        Some(Sample { row, sample })
    }

    fn rows(&self) -> Option<u64> {
        Some(self.scenarios.total()? as u64 * u64::from(self.samples))
    }

    fn ended(&mut self, _place: usize, _end: RowEnd) {}
}

/// A conversation of the tree.
#[derive(Debug)]
pub(super) struct KeptRow {
    pub(super) conversation: Conversation,
    pub(super) position: RowPosition,
}

/// The conversations of a file, in their order there, as far as `is_judged` takes their metrics.
pub(super) struct KeptFeed<F> {
    pub(super) conversations: mpsc::Receiver<Conversation>,
    pub(super) read: u32,
    pub(super) is_judged: F,
}

impl<F: Fn(&str) -> bool + Send> Feed for KeptFeed<F> {
    type Unit = KeptRow;
    type End = ();

    async fn next(&mut self) -> Option<KeptRow> {
        loop {
            let conversation = self.conversations.recv().await?;
            let position = RowPosition {
                metric: 0,
                scenario: self.read,
                sample: 0,
                part: 0,
            };
            self.read += 1;
            if (self.is_judged)(&conversation.scenario.metric_id) {
                return Some(KeptRow {
                    conversation,
                    position,
                });
            }
        }
    }

    /// They are counted while they are read.
    fn rows(&self) -> Option<u64> {
        None
    }

    fn ended(&mut self, _place: usize, _end: ()) {}
}
