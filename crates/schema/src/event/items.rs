//! Items: what is said, judged and measured.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Extra, FinishReason, JsonText, JudgeVerdict, NoVerdict, PhaseCost, Role, ToolCall, Turn,
    Verdict, safety::Stage,
};

/// One sample of one scenario waits for its turn.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct QueuingItem {
    /// The scenario's `user_goal`.
    pub prompt_text: Option<Arc<str>>,
    /// The scenario's row.
    pub context: Option<JsonText>,
    /// Which repetition of the scenario, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<u32>,
    /// The positions of the item's rows in the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Vec<u64>>,
    /// Whether the system under test is called once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_reply: Option<bool>,
    /// Whether it derives from another item, so that `using test items` does not count it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived: Option<bool>,
}

/// The conversation of the item begins again: the turns so far no longer count.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct RetryingItem {
    /// The number of the attempt that is given up, from 1.
    pub attempt: u32,
    /// Why.
    pub reason: String,
}

/// What the simulated user says.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TranslatedUserResponse {
    /// The message as it is sent.
    pub response_text: Arc<str>,
    /// The turn of the conversation, from 1.
    pub turn: u32,
    /// What an earlier run kept as reasoning. Absent: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Arc<str>>,
    /// The tools that it calls, in a conversation of an earlier run. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    /// Why the reply ended, where it did not end by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// `conversations.json`: the message is of an earlier run; `test ID`: it is of the item of that test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Cow<'static, str>>,
}

/// What the system under test says in one turn, or one step of it, where it is called several times.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TranslatedSutReply {
    /// The reply without reasoning. Empty when it said nothing, or only called tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_text: Option<Arc<str>>,
    /// The turn of the conversation, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// Which reply of the turn, from 0. Absent: the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// What was taken out of the reply as reasoning, or came beside it. Absent: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Arc<str>>,
    /// The tools that it calls. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    /// Why the reply ended, where it did not end by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// `conversations.json`: the message is of an earlier run; `test ID`: it is of the item of that test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Cow<'static, str>>,
    /// How many replies it sums up. Absent: it is one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
}

impl TranslatedUserResponse {
    /// The message `said` of `turn`, from 1.
    #[must_use]
    pub fn new(said: &Turn, turn: u32) -> Self {
        Self {
            response_text: Arc::clone(&said.content),
            turn,
            reasoning: said.reasoning.clone(),
            tool_calls: some_calls(said),
            finish_reason: said.finish_reason.clone().map(String::from),
            source: None,
        }
    }

    /// The message.
    #[must_use]
    pub fn to_turn(&self) -> Turn {
        Turn {
            reasoning: self.reasoning.clone(),
            tool_calls: self.tool_calls.clone().unwrap_or_default(),
            finish_reason: self.finish_reason.clone().map(FinishReason::from),
            ..Turn::new(Role::User, Arc::clone(&self.response_text))
        }
    }
}

impl TranslatedSutReply {
    /// The reply `said` of `turn`, from 1, and `step`, from 0.
    #[must_use]
    pub fn new(said: &Turn, turn: u32, step: u32) -> Self {
        Self {
            response_text: Some(Arc::clone(&said.content)),
            turn: Some(turn),
            step: (step > 0).then_some(step),
            reasoning: said.reasoning.clone(),
            tool_calls: some_calls(said),
            finish_reason: said.finish_reason.clone().map(String::from),
            source: None,
            turns: None,
        }
    }

    /// The message.
    #[must_use]
    pub fn to_turn(&self) -> Turn {
        Turn {
            reasoning: self.reasoning.clone(),
            tool_calls: self.tool_calls.clone().unwrap_or_default(),
            finish_reason: self.finish_reason.clone().map(FinishReason::from),
            ..Turn::new(
                Role::Assistant,
                self.response_text.clone().unwrap_or_default(),
            )
        }
    }
}

fn some_calls(said: &Turn) -> Option<Vec<ToolCall>> {
    (!said.tool_calls.is_empty()).then(|| said.tool_calls.clone())
}

/// A tool's answer to a call.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ToolAnswered {
    /// The turn of the conversation, from 1.
    pub turn: u32,
    /// Which reply of the turn called it, from 0.
    pub step: Option<u32>,
    /// The call.
    pub tool_call_id: Arc<str>,
    /// The tool.
    pub name: Arc<str>,
    /// The answer.
    pub response_text: Arc<str>,
    /// Whether the call could not be answered as it was meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<bool>,
    /// `conversations.json`: the answer is of an earlier run; `test ID`: it is of the item of that test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Cow<'static, str>>,
}

impl ToolAnswered {
    /// The message.
    #[must_use]
    pub fn to_turn(&self) -> Turn {
        Turn {
            tool_call_id: Some(Arc::clone(&self.tool_call_id)),
            name: Some(Arc::clone(&self.name)),
            ..Turn::new(Role::Tool, Arc::clone(&self.response_text))
        }
    }
}

/// The row of `conversations.json` is made.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ConversationFinished {
    /// The row's id.
    pub conv_id: String,
    /// Messages in the transcript.
    pub messages: u64,
    /// What its calls used and cost.
    pub usage: Option<PhaseCost>,
    /// Why the conversation failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why its scores have no verdict, where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_verdict: Option<NoVerdict>,
    /// The messages, where they are others than those of the events before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Vec<Turn>>,
}

/// A judge's verdict.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TranslatedAnnotation {
    /// The judge's id.
    pub annotator: Arc<str>,
    /// `{is_safe, is_valid, metadata}`.
    #[schemars(with = "Extra")]
    pub annotation: Value,
}

/// The verdict of a panel, or of a scorer that is no model.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct MergedAnnotation {
    /// `{is_safe, is_valid, metadata}`.
    #[schemars(with = "Extra")]
    pub annotation: Value,
}

/// One judge of a panel, in journals of format 1.0.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct JudgeScored {
    /// The judge's id.
    pub annotator: Arc<str>,
    /// Its lowest score; null without one.
    pub safe_response_score: Option<f64>,
    /// Its scores by message.
    pub scores: Value,
}

/// The judge answered without a usable verdict.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct JudgeAbstained {
    /// The judge's id.
    pub annotator: Option<Arc<str>>,
    /// What was wrong with the last reply.
    pub reason: String,
}

/// Judging failed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct AnnotationException {
    /// The judge's id, where a call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotator: Option<Arc<str>>,
    /// What failed.
    pub exception: Value,
    /// Seconds from the first call to the judge to here.
    pub run_time: Option<f64>,
}

/// The row of `scores.json` is made.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ScoreFinished {
    /// The conversation judged.
    pub conv_id: String,
    /// The metric judged.
    pub metric: String,
    /// Which of the conversation's scores, from 0.
    pub part: u64,
    /// Whether the behaviour is present; null when there is no verdict.
    pub present: Option<bool>,
    /// The verdict, where it is a value on a scale or a category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The judges of a panel, one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judges: Option<Vec<JudgeVerdict>>,
    /// What the calls to the judge used and cost.
    pub usage: Option<PhaseCost>,
    /// Why, where no `translated annotation` has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub justification: Option<String>,
    /// What failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why there is no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_verdict: Option<NoVerdict>,
    /// Keys of the row that Probity does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra: Option<Extra>,
}

/// The item's measurements.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredItemQuality {
    /// By name; `is_safe` is 1.0 or 0.0.
    pub measurements: BTreeMap<String, f64>,
    /// Seconds.
    pub run_time: Option<f64>,
    /// The verdict, where blank replies are measured as safe and it differs; null: there is none.
    #[schemars(with = "Option<bool>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<Value>,
    /// Why it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'static, str>>,
}

/// The item ended well.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ItemFinished {}

/// The item ended without a verdict.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ItemFailed {
    /// Whether there is a reply to judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sut_response: Option<bool>,
    /// Verdicts that there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<u64>,
    /// What failed for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fatal_exceptions: Option<u64>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'static, str>>,
}

/// A case of a safety run could not be run or scored.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CaseFailed {
    /// What failed.
    #[schemars(with = "String")]
    pub stage: Stage,
    /// Of what sort the failure is.
    pub kind: Cow<'static, str>,
    /// Why.
    pub reason: String,
}
