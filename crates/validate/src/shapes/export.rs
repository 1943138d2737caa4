//! The lines of the JSONL export.

use interop::Call;
use schema::{
    Benchmark, Conversation, Extra, Score, TargetRef, safety::results::SafetyRates,
    statistics::TargetStatistics,
};
use schemars::JsonSchema;

/// A line of `runs.jsonl`: what holds for all rows of one system under test of one benchmark. Null: not known.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ExportRun {
    /// The name of the benchmark's folder.
    benchmark: String,
    /// What names the benchmark in other programs.
    benchmark_uid: String,
    /// The benchmark itself.
    definition: Benchmark,
    /// The system under test.
    target: TargetRef,
    /// Which provider served it.
    source: Option<String>,
    /// How it was asked: the keys of the request body but its messages.
    settings: Extra,
    /// The run's id.
    run_id: Option<String>,
    /// How the run ended, as its manifest says.
    outcome: Option<String>,
    /// When the results were made, UTC.
    time: String,
    /// When the run started, UTC.
    started: Option<String>,
    /// When the run ended, UTC.
    ended: Option<String>,
    /// Version of Probity that made the results.
    probity_version: Option<String>,
    /// Git revision of the folder that the run was started in.
    revision: Option<String>,
    /// How often each scenario was simulated.
    samples_per_scenario: Option<u32>,
    /// Turns that each conversation was to have.
    turns: Option<u32>,
    /// Who simulated the user.
    user_model: Option<TargetRef>,
    /// Which model answered calls of simulated tools.
    tool_model: Option<TargetRef>,
    /// Who judged.
    judges: Vec<Judge>,
    /// Names of implementations, their versions and the hashes of their prompts, by phase.
    fingerprints: Extra,
    /// Its rates with their intervals.
    statistics: Option<ExportStatistics>,
    /// Of a safety evaluation: the rates over its cases.
    safety_rates: Option<SafetyRates>,
}

/// The entry of the system under test in `statistics.json`, and what that file says of all intervals.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ExportStatistics {
    /// The confidence of all intervals: 0.95.
    level: f64,
    /// How intervals are made: `clopper-pearson-clustered`.
    method: String,
    /// The entry.
    #[serde(flatten)]
    of_target: TargetStatistics,
}

/// A model that judged.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Judge {
    /// The user's own name for it.
    id: String,
    /// Its name on the wire; empty when it is not known.
    model: String,
    /// Which provider served it.
    source: Option<String>,
    /// How it was asked.
    settings: Extra,
    /// Its prompt. Empty when it is not known.
    prompt: Vec<PromptPart>,
}

/// One message of a judge's prompt.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct PromptPart {
    /// `system` or `user`.
    role: String,
    /// The text, with `{{ definition }}` and the like where those were put in.
    content: String,
}

/// A line of `conversations.jsonl`: a row of `conversations.json`, and what the journal knows beyond it.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ExportConversation {
    /// The name of the benchmark's folder.
    benchmark: String,
    /// The row.
    #[serde(flatten)]
    row: Conversation,
    /// The system prompt of the system under test; null: nothing, or not known.
    system_prompt: Option<String>,
    /// When the row was begun, UTC.
    started: Option<String>,
    /// When the row ended, UTC.
    ended: Option<String>,
    /// The calls for it, in the order they ended. Empty where there is no journal.
    calls: Vec<Call>,
}

/// A line of `scores.jsonl`: a row of `scores.json`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ExportScore {
    /// The name of the benchmark's folder.
    benchmark: String,
    /// The row.
    #[serde(flatten)]
    row: Score,
}
