//! The trait of every phase. All are extension points; examples in `crates/probity/examples` swap each.

use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use serde::Serialize;
use serde_json::Value;

use crate::{Benchmark, Brief, Conversation, Item, Metric, PhaseError, Scenario, Score, Summary};

/// What a phase is, for the run's manifest: two runs with equal fingerprints did the same thing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fingerprint {
    /// The implementation's name.
    pub name: &'static str,
    /// Its version. Raise it whenever the same settings give other results.
    pub version: u32,
    /// Everything that decides what it does: settings, hashes of prompts, models. No keys.
    pub settings: Value,
}

/// Writes metrics from a description.
#[async_trait]
pub trait MetricGenerator: Send + Sync {
    /// The metrics for `brief`, with unique ids.
    ///
    /// # Errors
    /// When no usable metrics came.
    async fn metrics(&self, brief: &Brief) -> Result<Vec<Metric>, PhaseError>;

    /// What this generator is.
    fn fingerprint(&self) -> Fingerprint;
}

/// Writes scenarios for the metrics of a benchmark.
pub trait ScenarioGenerator: Send + Sync {
    /// The scenarios for every metric of `benchmark`, in order. A failed row is an error in the stream, which continues.
    fn scenarios<'a>(
        &'a self,
        benchmark: &'a Benchmark,
    ) -> BoxStream<'a, Result<Scenario, PhaseError>>;

    /// What this generator is.
    fn fingerprint(&self) -> Fingerprint;
}

/// Plays a scenario against one system under test.
#[async_trait]
pub trait Simulator: Send + Sync {
    /// Plays the sample of `scenario` that `item` is.
    ///
    /// Calls made in the context of the item ([`Item::call`]) are journaled as the item's. Turns may be recorded in it as they are
    /// said; the caller records those that were not.
    ///
    /// A call that fails for good gives a conversation with what was said so far and [`Conversation::error`] set.
    ///
    /// # Errors
    /// When there is nothing to keep: the run is stopping, the budget is spent, or the scenario cannot be simulated at all.
    async fn simulate(
        &self,
        scenario: &Arc<Scenario>,
        item: &Item,
    ) -> Result<Conversation, PhaseError>;

    /// Whether the system under test is called exactly once in each conversation. A journal then names that call plainly.
    fn calls_target_once(&self) -> bool {
        false
    }

    /// What this simulator is.
    fn fingerprint(&self) -> Fingerprint;
}

/// Judges a conversation.
#[async_trait]
pub trait Evaluator: Send + Sync {
    /// The scores of `conversation`, which is that of `item`: one for each metric judged.
    ///
    /// Verdicts may be recorded in the item; the caller records those that were not. Calls and verdicts of a metric that is not the
    /// item's own belong in [`Item::for_test`].
    ///
    /// A judge that gives no usable verdict, or a call that fails for good, gives a score whose verdict is null.
    ///
    /// # Errors
    /// When there is nothing to keep: the run is stopping, the budget is spent, or the metric is not known.
    async fn evaluate(
        &self,
        conversation: &Conversation,
        item: &Item,
    ) -> Result<Vec<Score>, PhaseError>;

    /// What this evaluator is.
    fn fingerprint(&self) -> Fingerprint;
}

/// Sums up the scores of one system under test. Pure and synchronous: rows are pushed one at a time and not kept.
pub trait Aggregator: Send {
    /// Takes one score.
    fn push(&mut self, score: &Score);

    /// The summary of all scores pushed.
    fn finish(self: Box<Self>) -> Summary;

    /// What this aggregator is.
    fn fingerprint(&self) -> Fingerprint;
}
