//! What a benchmark's run plays: scenarios, whose list grows while they are generated, or the conversations of a file.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use schema::{Conversation, Scenario, Shard};
use store::{RowPosition, plays};
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
        self.rows_from(0)
    }

    /// All rows so far but the first `n`.
    fn rows_from(&self, n: usize) -> Vec<FeedRow> {
        let state = self.receiver.borrow();
        state.rows.get(n..).unwrap_or_default().to_vec()
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

/// Every scenario of a list, as many times as there are samples. Of the scenarios that are there, those with the longest conversations come
/// first, and otherwise in the order of the list: the last ones of a target are then short.
pub(super) struct SampleFeed<L> {
    scenarios: ScenarioList,
    samples: u32,
    /// The most turns of the conversation of a scenario; 0 if that is not known.
    most_turns: L,
    /// The part that is simulated; `None`: every scenario.
    shard: Option<Shard>,
    /// How many scenarios were read.
    read: usize,
    /// How many of them belong to other parts.
    others: usize,
    /// Those that are not handed out: by their turns, and their place in the list.
    waiting: BTreeMap<(Reverse<u32>, usize), FeedRow>,
    /// The scenario whose samples are handed out, and the next of them.
    current: Option<(FeedRow, u32)>,
}

impl<L: Fn(&Scenario) -> u32> SampleFeed<L> {
    pub(super) fn new(scenarios: ScenarioList, samples: u32, most_turns: L) -> Self {
        Self {
            scenarios,
            samples,
            most_turns,
            shard: None,
            read: 0,
            others: 0,
            waiting: BTreeMap::new(),
            current: None,
        }
    }

    /// Leaves out the scenarios of other parts.
    pub(super) fn of_shard(self, shard: Option<Shard>) -> Self {
        Self { shard, ..self }
    }

    /// The scenario that comes next. Waits for one if all so far are handed out.
    async fn next_row(&mut self) -> Option<FeedRow> {
        self.read_rows();
        while self.waiting.is_empty() {
            self.scenarios.row(self.read).await?;
            self.read_rows();
        }
        self.waiting.pop_first().map(|(_, row)| row)
    }

    /// Reads the scenarios that have come since.
    fn read_rows(&mut self) {
        for row in self.scenarios.rows_from(self.read) {
            if plays(self.shard, &row.scenario) {
                let turns = (self.most_turns)(&row.scenario);
                self.waiting.insert((Reverse(turns), self.read), row);
            } else {
                self.others += 1;
            }
            self.read += 1;
        }
    }
}

impl<L: Fn(&Scenario) -> u32 + Send> Feed for SampleFeed<L> {
    type Unit = Sample;
    /// Rows go to the files of their target when they end.
    type End = RowEnd;

    async fn next(&mut self) -> Option<Sample> {
        let (row, sample) = match self.current.take() {
            Some((row, sample)) if sample < self.samples => (row, sample),
            _ => (self.next_row().await?, 0),
        };
        self.current = Some((row.clone(), sample + 1));
        Some(Sample { row, sample })
    }

    fn rows(&self) -> Option<u64> {
        let total = self.scenarios.total()?;
        // Which scenarios belong to other parts is known once they are read.
        let is_known = self.shard.is_none() || total == self.read;
        let played = total.saturating_sub(self.others) as u64;
        is_known.then(|| played * u64::from(self.samples))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(index: u32, turns: usize) -> FeedRow {
        let scenario = Scenario {
            turns: vec!["Hi.".to_owned(); turns],
            ..Scenario::default()
        };
        FeedRow {
            scenario: scenario.into(),
            metric: 0,
            index,
        }
    }

    fn turns(scenario: &Scenario) -> u32 {
        u32::try_from(scenario.turns.len()).unwrap()
    }

    #[tokio::test]
    async fn the_longest_that_are_there_come_first() {
        let (writer, list) = scenario_list();
        for (index, turns) in (0..).zip([2, 10, 2, 10]) {
            writer.push(row(index, turns));
        }
        let mut feed = SampleFeed::new(list, 2, turns);
        let mut next = async || {
            let sample = feed.next().await?;
            Some((sample.row.index, sample.sample))
        };
        assert_eq!(next().await, Some((1, 0)));
        assert_eq!(next().await, Some((1, 1)));
        // One that is generated later takes its place among the others.
        writer.push(row(4, 5));
        drop(writer);
        let mut left = Vec::new();
        while let Some(sample) = next().await {
            left.push(sample);
        }
        assert_eq!(
            left,
            [
                (3, 0),
                (3, 1),
                (4, 0),
                (4, 1),
                (0, 0),
                (0, 1),
                (2, 0),
                (2, 1)
            ]
        );
        assert_eq!(feed.rows(), Some(10));
    }

    #[tokio::test]
    async fn each_scenario_is_in_one_part() {
        let (writer, list) = scenario_list();
        for index in 0..20 {
            let mut row = row(index, 1);
            Arc::make_mut(&mut row.scenario).id =
                format!("m01_s{:03}_v{:02}", index / 2, index % 2);
            writer.push(row);
        }
        drop(writer);
        let mut all = Vec::new();
        for part in 1..=3 {
            let shard = Some(Shard { part, of: 3 });
            let mut feed = SampleFeed::new(list.clone(), 1, turns).of_shard(shard);
            let mut played = Vec::new();
            while let Some(sample) = feed.next().await {
                played.push(sample.row.index);
            }
            assert_eq!(feed.rows(), Some(played.len() as u64));
            // Variants stay together.
            assert!(
                played.chunks(2).all(|pair| pair[0] + 1 == pair[1]),
                "{played:?}"
            );
            all.extend(played);
        }
        all.sort_unstable();
        assert_eq!(all, (0..20).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn where_lengths_are_not_known_the_order_is_that_of_the_list() {
        let (writer, list) = scenario_list();
        for (index, turns) in (0..).zip([2, 10, 3]) {
            writer.push(row(index, turns));
        }
        drop(writer);
        let mut feed = SampleFeed::new(list, 1, |_: &Scenario| 0);
        let mut order = Vec::new();
        while let Some(sample) = feed.next().await {
            order.push(sample.row.index);
        }
        assert_eq!(order, [0, 1, 2]);
    }
}
