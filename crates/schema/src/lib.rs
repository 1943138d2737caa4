//! The vocabulary of Probity: the data types of a benchmark, the file rows that they are read from and written to, and the trait of every
//! phase.
//!
//! All other crates depend on this one. A phase crate depends on this crate and not on the other phases, so a phase can be swapped without
//! linking the one that it replaces.
//!
//! Contents:
//! - [`Benchmark`], [`Metric`], [`Scenario`], [`Conversation`], [`Score`], [`Summary`]: the rows of the benchmark tree
//!   (`docs/formats/benchmark-tree.md`). Unknown keys of a row survive a round trip.
//! - [`Verdict`], [`VerdictType`]: the decision of a judge, and the possible decisions for a metric.
//! - [`ReplyCheck`]: a test of replies that decides a metric without a judge.
//! - [`Hazard`], [`HazardScore`], [`BenchmarkScore`], [`Grade`], [`StandardsFile`], [`Grades`], [`Record`]: hazards, their scores, what the
//!   scores are compared with, and the files that hold them.
//! - [`statistics`]: rates with intervals, comparisons, reliability, effects of variants, and judges against people. [`Baseline`]: counts that later rows are
//!   compared with.
//! - [`gate`]: rules that rates must meet, and the answers. [`sequence`]: the order of runs that stop when they are known.
//! - [`HumanLabel`]: a person's verdict on a row that a judge also gave a verdict on.
//! - [`Tool`], [`ToolSpec`], [`ToolCall`]: tools as a benchmark declares them, as they are sent to the model, and as the model calls them.
//! - [`ChatModel`], [`ChatRequest`], [`ChatReply`], [`ModelError`]: one call to a language model.
//! - [`Item`]: one sample of one test against one system under test, the handle that phases get.
//! - [`TranscriptBuilder`]: the conversation of an item while it is simulated.
//! - [`event`]: the events of a run, which journals record.
//! - [`MetricGenerator`], [`ScenarioGenerator`], [`Simulator`], [`Evaluator`], [`Aggregator`], [`Journal`]: the phases.
//! - [`reply`]: strict parsing of a model's JSON reply, and retries with what was wrong.
//! - [`PromptVersions`]: the versions of the shipped prompts and rules that a benchmark is measured with.
//! - [`mod@nearest`]: the known word that a misspelled one probably means.
//! - [`numbers`]: numbers as people read them.
//! - [`safety`]: seed cases, settings, scores and files of safety evaluations, and the traits of their parts.
//!
//! ```
//! use schema::{Metric, MetricType};
//!
//! let metric: Metric = serde_json::from_str(
//!     r#"{"id": "m01", "name": "Avoid flattery", "type": "negative", "definition": "The assistant flatters.", "weight": 2}"#,
//! )?;
//! assert_eq!(metric.metric_type, MetricType::Negative);
//! assert_eq!(metric.extra["weight"], 2); // unknown keys are kept
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! # Limits
//! - No IO, no HTTP and no clock: timestamps and files belong to the crates that use these types.
//! - Text content only. Images and audio in messages are not represented.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod base_scenario;
mod baseline;
mod benchmark;
mod chat;
mod conversation;
mod cost;
mod error;
mod error_causes;
pub mod event;
mod finding;
pub mod gate;
mod grade;
mod grades;
mod hazard;
mod id;
mod item;
mod json_text;
mod judge_verdict;
mod key_like;
mod label;
mod message;
pub mod nearest;
mod no_verdict;
mod notice;
pub mod numbers;
pub mod panel;
mod phase;
mod phase_program;
mod prompt_versions;
mod rate_left;
mod realism;
pub mod reasoning;
mod record;
mod replies;
pub mod reply;
mod reply_check;
mod run_phase;
mod run_status;
pub mod safety;
mod scenario;
mod score;
mod score_outcome;
pub mod sequence;
pub mod setting_keys;
mod settings_record;
mod shard;
mod simulator_check;
mod simulator_fault;
mod standards;
pub mod statistics;
mod summary;
mod target_basis;
pub mod text;
mod tool;
mod transcript_builder;
mod verdict;
mod verdict_tally;

pub use base_scenario::base_scenario_id;
pub use baseline::{
    Baseline, BaselineBenchmark, BaselineCounts, BaselineMetric, BaselineScenarios, BaselineTarget,
};
pub use benchmark::{Benchmark, Brief, Metric, MetricType, ScenarioDefaults};
pub use chat::{
    CallContext, Caller, ChatModel, ChatReply, ChatRequest, ConversationRoom, Exchange,
    FinishReason, Origin, Purpose, RepeatedPrefix, ResponseFormat, Role,
};
pub use conversation::{Conversation, ROW_KEYS, TargetRef, Turn};
pub use cost::{CostSum, PhaseCost, Spend, Usage};
pub use error::{ModelError, ModelErrorKind, PhaseError, PhaseErrorKind, without_attempts};
pub use error_causes::error_causes;
pub use event::{Event, EventBody, EventKind, ItemKey, Journal, NoJournal};
pub use finding::{Finding, FindingAdvice, FindingKind, FindingSeverity};
pub use grade::{BenchmarkScore, Estimate, Grade, HazardScore, ScoreInterval, TestScore};
pub use grades::{BenchmarkRef, Grades, StandardsRef};
pub use hazard::Hazard;
pub use id::{IdError, ModelId};
pub use item::{Attached, Item};
pub use json_text::JsonText;

pub use judge_verdict::{JudgeQuote, JudgeReading, JudgeVerdict, ReadingKind};
pub use key_like::{HIDDEN, is_key_for_a_name, looks_like_key, shown_name};
pub use label::{HumanLabel, transcript_digest};
pub use message::{Message, ReasoningField, ReturnedReasoning};
pub use nearest::nearest;
pub use no_verdict::NoVerdict;
pub use notice::{Notice, NoticePart, ProgramCommand, ProgramFlag, ProgramName};
pub use phase::{
    Aggregator, Evaluator, Fingerprint, MetricGenerator, ScenarioGenerator, Simulator,
};
pub use phase_program::{PhaseProgram, ProgramKind};
pub use prompt_versions::{PromptVersions, UnknownPromptVersion};
pub use rate_left::{RateLeft, RateUnit};
pub use realism::{Realism, RealismVerdict};
pub use record::{Record, RecordCode, RecordMetadata, RecordRun};
pub use replies::{IncompleteReplies, ReasoningReplies};
pub use reply_check::{CheckTexts, CheckedReplies, ReplyCheck};
pub use run_phase::Phase;
pub use run_status::{
    CallProgress, FailureReason, LimitStatus, ModelProgress, PhaseStatus, RunState, RunStatus,
    RunningConversation, RunningMessage,
};
pub use scenario::{Landmark, Scenario};
pub use score::{AnnotatedVerdict, Score};
pub use score_outcome::{ScoreOutcome, Unscored};
pub use settings_record::{
    GenerationRecord, JudgeRecords, ModelRecord, RoleRecords, SafetyRecord, SettingsRecord,
};
pub use shard::{Shard, ShardError, ShardFile};
pub use simulator_check::SimulatorCheck;
pub use simulator_fault::{
    SampledFaultStatistics, SimulatorFault, SimulatorFaultCounts, SimulatorFaultKind,
    SimulatorStatistics,
};
pub use standards::{Standards, StandardsFile, StandardsMetadata};
pub use summary::{Rate, Summary};
pub use target_basis::{ASSUMED_FREE, ReplyAges, ReplySpan, TargetBasis};
pub use tool::{Tool, ToolAnswer, ToolCall, ToolChoice, ToolError, ToolSpec};
pub use transcript_builder::TranscriptBuilder;
pub use verdict::{Verdict, VerdictError, VerdictType, VerdictTypeError};
pub use verdict_tally::VerdictTally;

/// A JSON object that keeps the order of its keys. Rows keep keys that Probity does not know in one of these.
pub type Extra = serde_json::Map<String, serde_json::Value>;

/// Reads null as the default: some programs write null for an empty value.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + serde::Deserialize<'de>,
{
    Ok(<Option<T> as serde::Deserialize>::deserialize(deserializer)?.unwrap_or_default())
}

/// The JSON schema of a key that is read with [`or_default`]: null is allowed in addition to the type itself.
fn or_null(schema: &mut schemars::Schema) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if let Some(serde_json::Value::String(kind)) = object.get("type") {
        let kinds = serde_json::json!([kind, "null"]);
        object.insert("type".to_owned(), kinds);
    } else if let Some(reference) = object.remove("$ref") {
        let either = serde_json::json!([{"$ref": reference}, {"type": "null"}]);
        object.insert("anyOf".to_owned(), either);
    }
}

/// The JSON schema of an enum that reads unknown words as one of its variants: the known words are listed, and every text is allowed.
fn or_other_text(schema: &mut schemars::Schema) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    let mut known = std::mem::take(object);
    if let Some(description) = known.remove("description") {
        object.insert("description".to_owned(), description);
    }
    let either = serde_json::json!([known, {"type": "string"}]);
    object.insert("anyOf".to_owned(), either);
}
