//! The traits of the phases. All are extension points; examples in `crates/probity/examples` swap each.

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Benchmark, Brief, Conversation, Item, Metric, PhaseError, Scenario, Score, Summary};

/// Identifies a phase in the run's manifest: two runs with equal fingerprints did the same thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The implementation's name.
    pub name: Cow<'static, str>,
    /// Its version. Increase it whenever the same settings give different results.
    pub version: u32,
    /// Everything that determines what it does: settings, hashes of prompts, models. No keys.
    pub settings: Value,
}

/// Writes metrics from a description.
#[async_trait]
pub trait MetricGenerator: Send + Sync {
    /// Generates the metrics for `brief`, with unique ids.
    ///
    /// # Errors
    /// When no usable metrics were generated.
    async fn metrics(&self, brief: &Brief) -> Result<Vec<Metric>, PhaseError>;

    /// The identity of this generator.
    fn fingerprint(&self) -> Fingerprint;
}

/// Writes scenarios for the metrics of a benchmark.
pub trait ScenarioGenerator: Send + Sync {
    /// The scenarios for every metric of `benchmark`, in order. A failed row is an error in the stream, which continues.
    fn scenarios<'a>(
        &'a self,
        benchmark: &'a Benchmark,
    ) -> BoxStream<'a, Result<Scenario, PhaseError>>;

    /// The identity of this generator.
    fn fingerprint(&self) -> Fingerprint;
}

/// Simulates a scenario with one system under test.
#[async_trait]
pub trait Simulator: Send + Sync {
    /// Simulates the sample of `scenario` that `item` stands for.
    ///
    /// Calls made in the context of the item ([`Item::call`]) are journaled for the item. The simulator may record turns in it as
    /// they happen; the caller records the others.
    ///
    /// If a call fails for good, the conversation has the turns so far and [`Conversation::error`] is set.
    ///
    /// # Errors
    /// When there is no conversation to keep: the run is stopping, the budget is spent, or the scenario cannot be simulated at all.
    async fn simulate(
        &self,
        scenario: &Arc<Scenario>,
        item: &Item,
    ) -> Result<Conversation, PhaseError>;

    /// Whether the system under test is called exactly once in the conversation of `scenario`. A journal then uses plain names for that
    /// call.
    fn calls_target_once(&self, scenario: &Scenario) -> bool {
        let _ = scenario;
        false
    }

    /// The most exchanges that the conversation of `scenario` may have, where that is known. Conversations with more begin first, so that the
    /// end of a run does not wait for a long one that began last.
    fn most_turns(&self, scenario: &Scenario) -> Option<u32> {
        let _ = scenario;
        None
    }

    /// The identity of this simulator.
    fn fingerprint(&self) -> Fingerprint;
}

/// Judges a conversation.
#[async_trait]
pub trait Evaluator: Send + Sync {
    /// Returns the scores of `conversation`, which belongs to `item`: one for each judged metric.
    ///
    /// The evaluator may record verdicts in the item; the caller records the others. Calls and verdicts of other metrics than the
    /// item's own belong in [`Item::for_test`].
    ///
    /// If a judge gives no usable verdict, or a call fails for good, the score's verdict is null.
    ///
    /// # Errors
    /// When there is no score to keep: the run is stopping, the budget is spent, or the metric is unknown.
    async fn evaluate(
        &self,
        conversation: &Conversation,
        item: &Item,
    ) -> Result<Vec<Score>, PhaseError>;

    /// The identity of this evaluator.
    fn fingerprint(&self) -> Fingerprint;
}

/// Summarises the scores of one system under test. Pure and synchronous: rows are pushed one at a time and not kept.
pub trait Aggregator: Send {
    /// Adds one score.
    fn push(&mut self, score: &Score);

    /// The summary of all scores pushed.
    fn finish(self: Box<Self>) -> Summary;

    /// The identity of this aggregator.
    fn fingerprint(&self) -> Fingerprint;
}
