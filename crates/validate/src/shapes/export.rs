//! The lines of the JSONL export.

use interop::Call;
use schema::{
    Benchmark, Conversation, Extra, Finding, Score, TargetRef, safety::results::SafetyRates,
    statistics::TargetStatistics,
};
use schemars::JsonSchema;

/// A line of `runs.jsonl`: the facts about all rows of one system under test of one benchmark. Null: unknown.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ExportRun {
    /// The name of the benchmark's folder.
    benchmark: String,
    /// The benchmark's id for other programs.
    benchmark_uid: String,
    /// The benchmark itself.
    definition: Benchmark,
    /// The system under test.
    target: TargetRef,
    /// The provider that served it.
    source: Option<String>,
    /// The settings of its calls: the keys of the request body except its messages.
    settings: Extra,
    /// The run's id.
    run_id: Option<String>,
    /// How the run ended, according to its manifest.
    outcome: Option<String>,
    /// When the results were created, UTC.
    time: String,
    /// When the run started, UTC.
    started: Option<String>,
    /// When the run ended, UTC.
    ended: Option<String>,
    /// The version of Probity that created the results.
    probity_version: Option<String>,
    /// The Git revision of the folder in which the run was started.
    revision: Option<String>,
    /// Which rows the export has, where it has only some of them. Absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    selection: Option<String>,
    /// How often each scenario was simulated.
    samples_per_scenario: Option<u32>,
    /// The planned turns of each conversation.
    turns: Option<u32>,
    /// The model that simulated the user.
    user_model: Option<TargetRef>,
    /// The model that answered calls of simulated tools.
    tool_model: Option<TargetRef>,
    /// The models besides the target, `user_model`, `tool_model` and `evaluator_model`, each with the settings that decide its replies.
    models: Option<Extra>,
    /// The judges.
    judges: Vec<Judge>,
    /// Names of implementations, their versions and the hashes of their prompts, by phase.
    fingerprints: Extra,
    /// Its rates with their intervals.
    statistics: Option<ExportStatistics>,
    /// For a safety evaluation: the rates over its cases.
    safety_rates: Option<SafetyRates>,
    /// What limits the conclusions from its results, the worst first.
    findings: Vec<Finding>,
}

/// The entry of the system under test in `statistics.json`, and the facts in that file about all intervals.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ExportStatistics {
    /// The confidence of all intervals: 0.95.
    level: f64,
    /// The method of the intervals: `clopper-pearson-clustered`.
    method: String,
    /// The entry.
    #[serde(flatten)]
    of_target: TargetStatistics,
}

/// A judge model.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Judge {
    /// The user's own name for it.
    id: String,
    /// Its name on the wire; empty if unknown.
    model: String,
    /// The provider that served it.
    source: Option<String>,
    /// The settings of its calls.
    settings: Extra,
    /// Its prompt. Empty if unknown.
    prompt: Vec<PromptPart>,
}

/// One message of a judge's prompt.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct PromptPart {
    /// `system` or `user`.
    role: String,
    /// The text, with `{{ definition }}` and similar placeholders.
    content: String,
}

/// A line of `conversations.jsonl`: a row of `conversations.json`, and additional data from the journal.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ExportConversation {
    /// The name of the benchmark's folder.
    benchmark: String,
    /// The row.
    #[serde(flatten)]
    row: Conversation,
    /// The system prompt of the system under test; null: none, or unknown.
    system_prompt: Option<String>,
    /// When the row was started, UTC.
    started: Option<String>,
    /// When the row ended, UTC.
    ended: Option<String>,
    /// The calls of the row, in the order in which they ended. Empty without a journal.
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
