//! The state of a run at one moment, as the command and the page show it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Notice, PhaseCost, Shard};

/// A run at one moment: computed from its manifest, its journals as far as they are written, and the lock of its benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct RunStatus {
    /// The run's id.
    pub run_id: String,
    /// Whether it goes on.
    pub state: RunState,
    /// How it ended according to its manifest: `complete`, `failed_rows`, `nothing_ran` or `interrupted`. Null until then, also while a run
    /// whose rows have ended checks its journal, and for a run that died.
    pub outcome: Option<String>,
    /// The benchmarks that were given. Empty for a safety evaluation.
    pub benchmarks: Vec<String>,
    /// The part of the scenarios or of the test cases that it plays; null where it plays all.
    pub shard: Option<Shard>,
    /// When it started, UTC.
    pub start: String,
    /// When it ended, UTC. Null until then, and for a run that died.
    pub end: Option<String>,
    /// Seconds from its start until now, until its end, or until the last event of a run that died.
    pub seconds: f64,
    /// Seconds since the last event of its journals; null if there is none.
    pub since_last_event: Option<f64>,
    /// Rows of the run, as far as they are known. A row is one conversation of one metric, target and sample.
    pub rows: u64,
    /// Rows that have ended: judged or, where nothing is judged, simulated; failed ones included.
    pub ended: u64,
    /// The phases that have rows or calls.
    pub phases: Vec<PhaseStatus>,
    /// The targets, in the order of the configuration.
    pub models: Vec<ModelProgress>,
    /// The calls to all models.
    pub calls: CallProgress,
    /// Why rows failed, the most frequent reason first: the first 20 reasons.
    pub failures: Vec<FailureReason>,
    /// Models and endpoints that hold up the run or did so, the latest first.
    pub limits: Vec<LimitStatus>,
    /// What the calls of this run used and cost. Replies from the cache cost nothing now.
    pub spent: PhaseCost,
    /// The dollars that the run will have cost at its end, if the rows that are left cost as much as those of the same target that have
    /// ended. Null if a price or a target's first rows are missing.
    pub expected_dollars: Option<f64>,
    /// The ceiling in dollars; null without one.
    pub budget_dollars: Option<f64>,
    /// The ceiling in tokens; null without one.
    pub budget_tokens: Option<u64>,
    /// Whether the budget has already kept a row from being run.
    pub budget_reached: bool,
    /// Seconds until the last row ends, at the pace of the last rows; null if unknown.
    pub seconds_left: Option<f64>,
    /// Conversations that have begun and not ended.
    pub running: u64,
    /// Those whose last event is the oldest, at most eight.
    pub conversations: Vec<RunningConversation>,
    /// The order in which rows are simulated: `files`, that of the benchmark's files. Null if the manifest does not record it.
    pub row_order: Option<String>,
    /// Why no rates are shown.
    pub no_rates: String,
    /// The journals.
    pub journals: Vec<String>,
    /// What to do next; null where nothing has to be done.
    #[schemars(with = "Option<String>")]
    pub help: Option<Notice>,
}

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Its process works on a benchmark.
    Running,
    /// Its manifest says how it ended.
    #[default]
    Ended,
    /// Its manifest has no end, and no process works on its benchmarks.
    Died,
    /// Its manifest has no end. A safety evaluation holds no lock, so it may run or have died.
    Unknown,
}

/// The progress of one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PhaseStatus {
    /// `gen_metrics`, `gen_scenarios`, `simulate` or `evaluate`; for a safety evaluation its kind.
    pub phase: String,
    /// Rows of the phase; null for generating phases, whose rows are not known before.
    pub rows: Option<u64>,
    /// Rows that are done; for generating phases, replies.
    pub done: u64,
    /// Rows among them that are judged and have no verdict.
    pub no_verdict: u64,
    /// Rows that failed; for generating phases, calls.
    pub failed: u64,
    /// Rows in progress. A conversation that waits for its judge counts for `evaluate`.
    pub running: u64,
    /// Rows that are not begun, because the run has not come to them yet.
    pub pending: u64,
    /// Rows that were not run, because the budget was spent or the run was stopped.
    pub skipped: u64,
}

/// The progress of one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ModelProgress {
    /// The target's id.
    pub model: String,
    /// Its rows, as far as they are known.
    pub rows: u64,
    /// Conversations that are complete.
    pub simulated: u64,
    /// Rows that are judged, without a verdict too; null where the run judges nothing.
    pub judged: Option<u64>,
    /// Rows that are judged and have no verdict.
    pub no_verdict: u64,
    /// Rows that failed.
    pub failed: u64,
    /// Rows in progress.
    pub running: u64,
    /// Rows that are not begun.
    pub pending: u64,
    /// Rows that were not run.
    pub skipped: u64,
    /// What the calls for its rows used and cost: those of simulated user and judges too.
    pub spent: PhaseCost,
    /// Seconds until its last row ends; null if unknown.
    pub seconds_left: Option<f64>,
}

/// The calls to models.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CallProgress {
    /// Replies from endpoints.
    pub replies: u64,
    /// Replies from the cache.
    pub cached: u64,
    /// Calls that failed for good.
    pub failed: u64,
    /// Attempts that failed and were tried again.
    pub retries: u64,
    /// Replies from endpoints a minute: the mean of the last five minutes, or of the run if it is younger.
    pub per_minute: f64,
    /// Replies from endpoints in each of the last 30 minutes, or of the run if it is younger. The last one is the current minute.
    pub minutes: Vec<u64>,
}

/// Rows that failed for the same reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FailureReason {
    /// The reason.
    pub reason: String,
    /// How many rows.
    pub rows: u64,
    /// How many of each target.
    pub models: BTreeMap<String, u64>,
    /// The first of these rows: its scenario and sample.
    pub example: String,
}

/// A model or an endpoint that holds up the run, or did so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct LimitStatus {
    /// The model, or the endpoint whose number of calls at once changed.
    pub name: String,
    /// Attempts that failed and were tried again.
    pub retries: u64,
    /// Those of the last five minutes.
    pub recent_retries: u64,
    /// Why the last of them failed.
    pub reason: Option<String>,
    /// Seconds until the next attempt that is waited for; null if none is.
    pub next_attempt: Option<f64>,
    /// Whether its circuit breaker is open: calls fail at once.
    pub given_up: bool,
    /// Calls at once that its endpoint allows now, and before; null if that has not changed.
    pub at_once: Option<u64>,
    /// See `at_once`.
    pub at_once_before: Option<u64>,
    /// Attempts a second that an endpoint takes, where that is what limits them.
    pub per_second: Option<f64>,
    /// Requests in batches that are waited for.
    pub batched: u64,
    /// Seconds since the last event about it.
    pub since: f64,
}

/// A conversation that has begun and not ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct RunningConversation {
    /// The target.
    pub model: String,
    /// The metric.
    pub metric: String,
    /// The scenario and the sample, as in the journal.
    pub prompt_id: String,
    /// The scenario's title, or its goal.
    pub title: String,
    /// The turn that it is in, from 1.
    pub turn: u32,
    /// The turns that it will have; null if unknown.
    pub turns: Option<u32>,
    /// Whether it is complete and waits for its verdict.
    pub judging: bool,
    /// Seconds since its last event.
    pub since: f64,
    /// The messages so far. Long ones are cut.
    pub messages: Vec<RunningMessage>,
}

/// A message of a running conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunningMessage {
    /// `user`, `assistant` or `tool`.
    pub role: String,
    /// The text, at most 2,000 letters.
    pub text: String,
}

impl RunStatus {
    /// The share of the rows that have ended, 0 to 1; `None` while no row is known.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "rows are far fewer than 2^53")]
        (self.rows > 0).then(|| self.ended as f64 / self.rows as f64)
    }
}
