//! Items: messages, verdicts and measurements.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::KeptIn;
use crate::{
    Extra, FinishReason, JsonText, JudgeVerdict, Metric, ModelId, NoVerdict, PhaseCost, Role,
    Score, ToolCall, Turn, Verdict, safety::Stage,
};

/// One sample of one scenario is queued.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct QueuingItem {
    /// The scenario's `user_goal`.
    pub prompt_text: Option<Arc<str>>,
    /// The scenario's row. Absent with `kept`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<JsonText>,
    /// The repetition of the scenario, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<u32>,
    /// The positions of the item's rows in the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Vec<u64>>,
    /// Whether the system under test is called exactly once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_reply: Option<bool>,
    /// Whether judges are called between the turns, as with `--early-stop`. Their events are written where the conversation has
    /// finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged_between: Option<bool>,
    /// Whether the item derives from another one, so that `using test items` does not count it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived: Option<bool>,
    /// The line of the same item in an earlier journal, if it came whole from the cache: its calls, turns and `context` are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptIn>,
    /// For how many seconds the event was held back, if it was: an earlier journal has the item, so it could have come from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_back: Option<f64>,
}

/// The conversation of the item starts again: the earlier turns no longer count.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct RetryingItem {
    /// The number of the abandoned attempt, from 1.
    pub attempt: u32,
    /// The reason.
    pub reason: String,
}

/// A message of the simulated user.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TranslatedUserResponse {
    /// The message as it was sent.
    pub response_text: Arc<str>,
    /// The turn of the conversation, from 1.
    pub turn: u32,
    /// Reasoning of the message, in a conversation of an earlier run. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Arc<str>>,
    /// The tools that the message calls, in a conversation of an earlier run. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    /// Why the message ended, if it did not end normally.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// `conversations.json`: the message comes from an earlier run; `test ID`: it belongs to the item of
    /// that test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Cow<'static, str>>,
}

/// A message of the system under test in one turn, or in one step of a turn with several calls.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TranslatedSutReply {
    /// The reply without reasoning. Empty if the system said nothing, or only called tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_text: Option<Arc<str>>,
    /// The turn of the conversation, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The reply within the turn, from 0. Absent: the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// Reasoning that was removed from the reply, or returned separately. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Arc<str>>,
    /// The tools that the reply calls. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    /// Why the reply ended, if it did not end normally.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// `conversations.json`: the message comes from an earlier run; `test ID`: it belongs to the item of
    /// that test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Cow<'static, str>>,
    /// The number of replies that the event sums up. Absent: it is one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
}

impl TranslatedUserResponse {
    /// The event for the message `said` of `turn`, from 1.
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
    /// The event for the reply `said` of `turn`, from 1, and `step`, from 0.
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

/// A message before the reply of a system under test that has tools of its own: it came with the reply that follows.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct SutStep {
    /// Its text. May be empty.
    pub response_text: Arc<str>,
    /// The turn of the conversation, from 1.
    pub turn: u32,
    /// The reply within the turn that follows, from 0. Absent: the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The tools that it called. Their answers follow. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    /// `conversations.json`: the message comes from an earlier run; `test ID`: it belongs to the item of
    /// that test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Cow<'static, str>>,
}

impl SutStep {
    /// The message.
    #[must_use]
    pub fn to_turn(&self) -> Turn {
        Turn {
            tool_calls: self.tool_calls.clone().unwrap_or_default(),
            own_step: true,
            ..Turn::new(Role::Assistant, Arc::clone(&self.response_text))
        }
    }
}

pub(super) fn some_calls(said: &Turn) -> Option<Vec<ToolCall>> {
    (!said.tool_calls.is_empty()).then(|| said.tool_calls.clone())
}

/// A tool's answer to a call.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ToolAnswered {
    /// The turn of the conversation, from 1.
    pub turn: u32,
    /// The reply of the turn that made the call, from 0.
    pub step: Option<u32>,
    /// The call.
    pub tool_call_id: Arc<str>,
    /// The tool.
    pub name: Arc<str>,
    /// The answer.
    pub response_text: Arc<str>,
    /// Whether the call could not be answered properly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<bool>,
    /// `conversations.json`: the answer comes from an earlier run; `test ID`: it belongs to the item of
    /// that test.
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

/// The row of `conversations.json` is complete.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ConversationFinished {
    /// The id of the row.
    pub conv_id: String,
    /// Messages in the transcript.
    pub messages: u64,
    /// What the calls of the conversation used and cost.
    pub usage: Option<PhaseCost>,
    /// Why the conversation failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why its scores have no verdict, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_verdict: Option<NoVerdict>,
    /// The messages, if they differ from those of the earlier events.
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

/// The verdict of a panel, or of a scorer that is not a model.
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

/// The judge replied without a usable verdict.
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
    /// The judge's id, if a call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotator: Option<Arc<str>>,
    /// The error.
    pub exception: Value,
    /// Seconds from the first call to the judge until this event.
    pub run_time: Option<f64>,
}

/// The row of `scores.json` is complete.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ScoreFinished {
    /// The judged conversation.
    pub conv_id: String,
    /// The metric.
    pub metric: String,
    /// The position among the conversation's scores, from 0.
    pub part: u64,
    /// Whether the behaviour is present; null if there is no verdict.
    pub present: Option<bool>,
    /// The verdict, if it is a value on a scale or a category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The judges of a panel, one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judges: Option<Vec<JudgeVerdict>>,
    /// What the calls to the judge used and cost.
    pub usage: Option<PhaseCost>,
    /// The reason, if no `translated annotation` has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub justification: Option<String>,
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why there is no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_verdict: Option<NoVerdict>,
    /// Keys of the row that Probity does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra: Option<Extra>,
}

impl ScoreFinished {
    /// The event for a row, the score number `part` of its conversation, from 0. It has no `justification`.
    #[must_use]
    pub fn of(score: &Score, part: u32) -> Self {
        Self {
            conv_id: score.conv_id.clone(),
            metric: score.metric_id.clone(),
            part: u64::from(part),
            present: score.present,
            verdict: score.verdict.clone(),
            judges: (!score.judges.is_empty()).then(|| score.judges.clone()),
            usage: score.usage,
            justification: None,
            error: score.error.clone(),
            no_verdict: score.no_verdict,
            extra: (!score.extra.is_empty()).then(|| score.extra.clone()),
        }
    }

    /// The row of `metric` in a sample of `scenario` with `target`. `justification` is taken where the event has none.
    #[must_use]
    pub fn into_score(
        self,
        metric: &Metric,
        (scenario, target, sample): (String, ModelId, u32),
        justification: String,
    ) -> Score {
        let row = Score {
            id: scenario,
            metric_id: metric.id.clone(),
            metric_name: metric.name.clone(),
            metric_type: metric.metric_type,
            target_model: target,
            conv_id: self.conv_id,
            present: None,
            passed: None,
            score: None,
            justification: self.justification.unwrap_or(justification),
            sample,
            error: self.error,
            no_verdict: self.no_verdict,
            verdict: self.verdict,
            judges: self.judges.unwrap_or_default(),
            usage: self.usage,
            extra: self.extra.unwrap_or_default(),
        };
        match self.present {
            Some(present) => row.with_present(present),
            None => row,
        }
    }
}

/// The item's measurements.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredItemQuality {
    /// The measurements by name; `is_safe` is 1.0 or 0.0.
    pub measurements: BTreeMap<String, f64>,
    /// Seconds.
    pub run_time: Option<f64>,
    /// The verdict, if blank replies are measured as safe and it differs; null: there is none.
    #[schemars(with = "Option<bool>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<Value>,
    /// Why the verdict differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'static, str>>,
}

/// The item ended normally.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ItemFinished {}

/// The item ended without a verdict.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ItemFailed {
    /// Whether there is a reply to judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sut_response: Option<bool>,
    /// The number of verdicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<u64>,
    /// The number of permanent failures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fatal_exceptions: Option<u64>,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'static, str>>,
}

/// A case of a safety run could not be run or scored.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CaseFailed {
    /// The stage that failed.
    #[schemars(with = "String")]
    pub stage: Stage,
    /// The kind of failure.
    pub kind: Cow<'static, str>,
    /// The reason.
    pub reason: String,
}
