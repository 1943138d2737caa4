//! The types that most programs need: `use probity::prelude::*;`.

pub use crate::{Models, PhaseSettings, Phases, standard_phases};
pub use engine::{Pipeline, RunOptions, RunOutcome, RunReport};
pub use llm_client::{HttpClient, HttpOptions, ModelFactory, ModelSettings, Stop};
pub use schema::{
    Aggregator, ChatModel, ChatReply, ChatRequest, Conversation, Evaluator, Fingerprint, Item,
    Metric, MetricGenerator, MetricType, ModelError, ModelId, PhaseError, Role, Scenario,
    ScenarioGenerator, Score, Simulator, Summary, TargetRef, TranscriptBuilder, Verdict,
    VerdictType,
};
pub use store::{Layout, RunError};
