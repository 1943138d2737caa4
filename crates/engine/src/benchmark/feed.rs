//! The scenarios of a run. The list grows while scenarios are generated.

use std::sync::Arc;

use schema::Scenario;
use tokio::sync::watch;

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

/// The writing end. Dropping it ends the feed.
#[derive(Debug)]
pub(crate) struct FeedWriter {
    sender: watch::Sender<State>,
}

/// A reading end. Each one reads all rows at its own pace, so that a slow target delays no other.
#[derive(Clone, Debug)]
pub(crate) struct Feed {
    receiver: watch::Receiver<State>,
}

/// A new, empty feed.
pub(crate) fn feed() -> (FeedWriter, Feed) {
    let (sender, receiver) = watch::channel(State::default());
    (FeedWriter { sender }, Feed { receiver })
}

impl FeedWriter {
    pub(crate) fn push(&self, row: FeedRow) {
        self.sender.send_modify(|state| state.rows.push(row));
    }

    /// All rows so far.
    pub(crate) fn rows(&self) -> Vec<FeedRow> {
        self.sender.borrow().rows.clone()
    }
}

impl Drop for FeedWriter {
    fn drop(&mut self) {
        self.sender.send_modify(|state| state.ended = true);
    }
}

impl Feed {
    /// Waits for row `n`. Returns `None` when the feed ends before it.
    pub(crate) async fn row(&mut self, n: usize) -> Option<FeedRow> {
        let wanted = |state: &State| state.rows.len() > n || state.ended;
        let state = self.receiver.wait_for(wanted).await.ok()?;
        state.rows.get(n).cloned()
    }

    /// All rows so far.
    pub(crate) fn rows(&self) -> Vec<FeedRow> {
        self.receiver.borrow().rows.clone()
    }

    /// The number of rows once no more come; `None` while more may come.
    pub(crate) fn total(&self) -> Option<usize> {
        let state = self.receiver.borrow();
        state.ended.then_some(state.rows.len())
    }
}
