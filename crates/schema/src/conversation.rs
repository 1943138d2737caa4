//! Conversation rows: `runs/<model-id>/conversations.json`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::{
    Extra, FinishReason, ModelId, NoVerdict, PhaseCost, Realism, ReturnedReasoning, Role, Scenario,
    SimulatorCheck, SimulatorFault, ToolCall,
};

/// The keys that rows of conversations have, those of their scenarios and of earlier generations included.
pub const ROW_KEYS: [&str; 26] = [
    "id",
    "metric_id",
    "metric_name",
    "metric_type",
    "persona",
    "user_persona",
    "user_goal",
    "latent_adversarial_goal",
    "landmarks",
    "demographic",
    "target_system_prompt",
    "tools",
    "world_state",
    "conv_id",
    "target",
    "target_model",
    "sample",
    "_sample",
    "transcript",
    "error",
    "_no_verdict",
    "_simulator_faults",
    "_simulator_check",
    "_realism",
    "_usage",
    "imported",
];

/// One row of `conversations.json`: one sample of one scenario, simulated with one system under test.
///
/// The sample is written under two names, `sample` and `_sample`, because ImpactBench reads the second. If a row has both, `sample`
/// counts.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(from = "ReadRow")]
#[schemars(!from)]
pub struct Conversation {
    /// The simulated scenario. Its keys are in the row itself.
    #[serde(flatten)]
    pub scenario: Scenario,
    /// `<scenario id>__<model id>`, followed by `__s<k>` for sample k > 0. Unique in the file.
    pub conv_id: String,
    /// The system under test.
    pub target: TargetRef,
    /// The repetition of the scenario, from 0.
    #[serde(default)]
    pub sample: u32,
    /// The messages. The simulated user is `user`, the system under test `assistant`, an answer of a tool `tool`.
    pub transcript: Vec<Turn>,
    /// Why the conversation could not be finished. A row with an error is never judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why its scores have no verdict, if there is an `error`. Absent if unknown.
    #[serde(
        rename = "_no_verdict",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub no_verdict: Option<NoVerdict>,
    /// Where the simulated user left its role, in the order of the turns. Absent if it did not.
    #[serde(
        rename = "_simulator_faults",
        default,
        skip_serializing_if = "Vec::is_empty"
    )]
    pub simulator_faults: Vec<SimulatorFault>,
    /// What a judge found in the messages of the simulated user, if the conversation is one of a sample. It takes no verdict.
    #[serde(
        rename = "_simulator_check",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub simulator_check: Option<SimulatorCheck>,
    /// The judges' ratings of how realistic the conversation is. Absent if no judge was called for it.
    #[serde(rename = "_realism", default, skip_serializing_if = "Option::is_none")]
    pub realism: Option<Realism>,
    /// What the calls of this conversation used and cost, including those of the user model.
    #[serde(rename = "_usage", default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<PhaseCost>,
}

/// A row as it is read.
#[derive(Deserialize)]
struct ReadRow {
    #[serde(flatten)]
    scenario: Scenario,
    conv_id: String,
    target: TargetRef,
    #[serde(default)]
    sample: Option<u32>,
    #[serde(rename = "_sample", default)]
    older_sample: Option<u32>,
    transcript: Vec<Turn>,
    #[serde(default)]
    error: Option<String>,
    #[serde(rename = "_no_verdict", default)]
    no_verdict: Option<NoVerdict>,
    #[serde(rename = "_simulator_faults", default)]
    simulator_faults: Option<Vec<SimulatorFault>>,
    #[serde(rename = "_simulator_check", default)]
    simulator_check: Option<SimulatorCheck>,
    #[serde(rename = "_realism", default)]
    realism: Option<Realism>,
    #[serde(rename = "_usage", default)]
    usage: Option<PhaseCost>,
}

impl From<ReadRow> for Conversation {
    fn from(row: ReadRow) -> Self {
        Self {
            scenario: row.scenario,
            conv_id: row.conv_id,
            target: row.target,
            sample: row.sample.or(row.older_sample).unwrap_or_default(),
            transcript: row.transcript,
            error: row.error,
            no_verdict: row.no_verdict,
            simulator_faults: row.simulator_faults.unwrap_or_default(),
            simulator_check: row.simulator_check,
            realism: row.realism,
            usage: row.usage,
        }
    }
}

/// A row as it is written.
#[derive(Serialize)]
struct WrittenRow<'r> {
    #[serde(flatten)]
    scenario: &'r Scenario,
    conv_id: &'r str,
    target: &'r TargetRef,
    sample: u32,
    #[serde(rename = "_sample")]
    older_sample: u32,
    transcript: &'r [Turn],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'r str>,
    #[serde(rename = "_no_verdict", skip_serializing_if = "Option::is_none")]
    no_verdict: Option<NoVerdict>,
    #[serde(rename = "_simulator_faults", skip_serializing_if = "<[_]>::is_empty")]
    simulator_faults: &'r [SimulatorFault],
    #[serde(rename = "_simulator_check", skip_serializing_if = "Option::is_none")]
    simulator_check: Option<&'r SimulatorCheck>,
    #[serde(rename = "_realism", skip_serializing_if = "Option::is_none")]
    realism: Option<&'r Realism>,
    #[serde(rename = "_usage", skip_serializing_if = "Option::is_none")]
    usage: Option<&'r PhaseCost>,
}

impl Serialize for Conversation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WrittenRow {
            scenario: &self.scenario,
            conv_id: &self.conv_id,
            target: &self.target,
            sample: self.sample,
            older_sample: self.sample,
            transcript: &self.transcript,
            error: self.error.as_deref(),
            no_verdict: self.no_verdict,
            simulator_faults: &self.simulator_faults,
            simulator_check: self.simulator_check.as_ref(),
            realism: self.realism.as_ref(),
            usage: self.usage.as_ref(),
        }
        .serialize(serializer)
    }
}

impl Conversation {
    /// Sample `sample` of `scenario` against `target`, of which nothing is known but what was said.
    #[must_use]
    pub fn new(scenario: Scenario, target: TargetRef, sample: u32, transcript: Vec<Turn>) -> Self {
        Self {
            conv_id: Self::make_id(&scenario.id, &target.id, sample),
            scenario,
            target,
            sample,
            transcript,
            error: None,
            no_verdict: None,
            simulator_faults: Vec::new(),
            simulator_check: None,
            realism: None,
            usage: None,
        }
    }

    /// The id of sample `sample` of `scenario` against `model`.
    #[must_use]
    pub fn make_id(scenario: &str, model: &ModelId, sample: u32) -> String {
        let mut id = [scenario, "__", model.as_str()].concat();
        if sample > 0 {
            id.push_str(&format!("__s{sample}"));
        }
        id
    }

    /// The fault of the simulated user that no retry corrected, if there is one. Such a conversation shows nothing about the target: it
    /// is never judged.
    #[must_use]
    pub fn unmended_fault(&self) -> Option<&SimulatorFault> {
        self.simulator_faults.iter().find(|fault| !fault.retried)
    }

    /// The journal's `prompt_id` of a sample of a scenario: the same for every system under test.
    #[must_use]
    pub fn prompt_id(scenario: &str, sample: u32) -> String {
        match sample {
            0 => scenario.to_owned(),
            k => format!("{scenario}__s{k}"),
        }
    }
}

/// The model that a conversation was simulated with. Never a key or a header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetRef {
    /// The user's own name for the model.
    pub id: ModelId,
    /// The name in the configuration, as the endpoint knows it.
    #[serde(default)]
    pub model: String,
}

/// One message of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// The author: [`Role::User`] or [`Role::Assistant`]; [`Role::Tool`] for the answer of a tool.
    pub role: Role,
    /// The text. Empty if the model said nothing, or only called tools; null is read as empty.
    #[serde(default, deserialize_with = "crate::or_default")]
    #[schemars(transform = crate::or_null)]
    pub content: Arc<str>,
    /// Reasoning that was removed from the reply, or returned separately. It is not part of the message: neither user nor judge sees it.
    #[serde(
        default,
        deserialize_with = "crate::reasoning::read",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<String>")]
    pub reasoning: Option<Arc<str>>,
    /// The same as the endpoint returned it, while the conversation goes on; it is in no file.
    #[serde(skip)]
    pub returned_reasoning: Option<Arc<ReturnedReasoning>>,
    /// The tools that an assistant message calls. Their answers follow, one `tool` message for each, in this order.
    #[serde(
        default,
        deserialize_with = "crate::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(transform = crate::or_null)]
    pub tool_calls: Vec<ToolCall>,
    /// Whether an assistant message came with the reply after it: a step of a target that has tools of its own.
    #[serde(
        default,
        deserialize_with = "crate::or_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    #[schemars(transform = crate::or_null)]
    pub own_step: bool,
    /// The call that a `tool` message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Arc<str>>,
    /// The name of the tool that a `tool` message comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// Why the reply ended, if it did not end normally: `length` for a reply that was cut off, for example.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Turn {
    /// A message that ended normally.
    #[must_use]
    pub fn new(role: Role, content: impl Into<Arc<str>>) -> Self {
        Self {
            role,
            content: content.into(),
            reasoning: None,
            returned_reasoning: None,
            tool_calls: Vec::new(),
            own_step: false,
            tool_call_id: None,
            name: None,
            finish_reason: None,
            extra: Extra::new(),
        }
    }

    /// Whether it is a reply of the system under test: the target was called for it.
    #[must_use]
    pub fn is_reply(&self) -> bool {
        self.role == Role::Assistant && !self.own_step
    }
}
