//! Probity's data beyond the documented fields: the key `probity`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{SafetyRates, SafetySequence, SavedMessage};
use crate::{
    CostSum, Extra, FinishReason, NoVerdict, PhaseCost, Role, Shard, TargetRef,
    safety::{
        Assessment, CaseKind, ErrorKind, Gate, JudgeScore, MultiTurnSettings, SafetyScore,
        SingleTurnSettings, Stage,
    },
    text::is_blank,
};

/// The value of `probity`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Details {
    /// The version of this object: [`Details::FORMAT`].
    pub format: u32,
    /// What was run, and with which settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunParameters>,
    /// Rates over the cases, with intervals. Absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<SafetyRates>,
    /// The order of the cases, where the evaluation stopped when its rules were decided. Absent in other files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<Box<SafetySequence>>,
    /// Every scored conversation, including passed ones, by `conversation_id`. In a single-turn run, one for each
    /// prompt.
    #[serde(default)]
    pub conversations: Vec<ConversationDetail>,
    /// Cases that could not be run or scored. No total counts them.
    #[serde(default)]
    pub errors: Vec<CaseError>,
    /// The cases in which a model declined to rewrite a prompt or to attack.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attacker_refusals: Vec<AttackerRefusal>,
    /// Rewritten prompts that were dropped because they had been run before.
    #[serde(default)]
    pub dropped_duplicates: u64,
    /// Cases that were not run because of the total cap, the budget, or a stop.
    #[serde(default)]
    pub not_run: u64,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Details {
    /// The version that Probity writes.
    pub const FORMAT: u32 = 1;

    /// The details of a run, without rows.
    #[must_use]
    pub fn new(run: RunParameters) -> Self {
        Self {
            format: Self::FORMAT,
            run: Some(run),
            ..Self::default()
        }
    }

    /// The conversations that did not pass, least safe first.
    #[must_use]
    pub fn failed_worst_first(&self) -> Vec<&ConversationDetail> {
        let rows = self.conversations.iter();
        let mut failed: Vec<&ConversationDetail> = rows.filter(|row| !row.passed).collect();
        failed.sort_by_key(|row| (row.safe_response_score, row.conversation_id));
        failed
    }

    /// How many conversations passed with a cut-off reply.
    #[must_use]
    pub fn cut_off_passes(&self) -> usize {
        let rows = self.conversations.iter();
        rows.filter(|row| row.passed && row.is_cut_off()).count()
    }

    /// What all rows used and cost.
    #[must_use]
    pub fn cost(&self) -> PhaseCost {
        let conversations = self.conversations.iter().map(|row| row.usage.as_ref());
        let errors = self.errors.iter().map(|row| row.usage.as_ref());
        let mut sum = CostSum::default();
        conversations
            .chain(errors)
            .flatten()
            .for_each(|usage| sum.add(usage));
        sum.total()
    }

    /// Control cases that the target declined to answer.
    #[must_use]
    pub fn over_refusals(&self) -> usize {
        let refused = |row: &&ConversationDetail| row.over_refusal == Some(true);
        self.conversations.iter().filter(refused).count()
    }
}

/// The parameters of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunParameters {
    /// The run's id, as in the name of the journal's folder.
    pub run_id: String,
    /// The version of Probity.
    #[serde(default)]
    pub version: String,
    /// When the run began: RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// The model under test.
    pub target: TargetRef,
    /// Its system prompt; null if it had none.
    #[serde(default)]
    pub system_prompt: Option<String>,
    /// The part of the cases that was run, where the evaluation is split; absent where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The names of the groups that ran.
    pub groups: Vec<String>,
    /// The settings of a single-turn run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_turn: Option<SingleTurnSettings>,
    /// The settings of a multi-turn run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multi_turn: Option<MultiTurnSettings>,
    /// The limits of the run.
    #[serde(default)]
    pub gate: Gate,
    /// The id of the model that rewrites or attacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attacker: Option<String>,
    /// The ids of the judges.
    #[serde(default)]
    pub judges: Vec<String>,
    /// The fingerprints of test cases and strategies, followed by that of the scorer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Value>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One scored conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationDetail {
    /// The id, as in the documented rows.
    pub conversation_id: i64,
    /// The seed case that it derives from.
    pub case_id: String,
    /// The case's group.
    pub group: String,
    /// `control` for a harmless case; absent for a risk.
    #[serde(default, skip_serializing_if = "is_risk")]
    pub kind: CaseKind,
    /// Single-turn: the layer, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<u32>,
    /// Single-turn: the strategy that rewrote the prompt; absent for a seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// Single-turn: the conversation whose prompt was rewritten; absent for a seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_conversation_id: Option<i64>,
    /// Multi-turn: the strategy that led the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_type: Option<String>,
    /// Whether it passed.
    pub passed: bool,
    /// The lowest score over its assistant messages.
    pub safe_response_score: SafetyScore,
    /// For a control case: whether the target declined to answer; absent if the scorer does not report it, and for a
    /// risk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_refusal: Option<bool>,
    /// Whether it ended early because its verdict could not change.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stopped_early: bool,
    /// Its assistant messages, one by one.
    pub messages: Vec<MessageScore>,
    /// What all calls for it used and cost.
    #[serde(rename = "_usage", default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<PhaseCost>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ConversationDetail {
    /// Whether one of its messages was cut off: what was never written cannot fail.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        self.messages
            .iter()
            .any(|message| message.finish_reason.is_some())
    }

    /// The reason for the score of the least safe response; empty if no judge gives one.
    #[must_use]
    pub fn rationale(&self) -> &str {
        let mut messages = self.messages.iter();
        let lowest = messages.find(|message| message.score == Some(self.safe_response_score));
        lowest.map_or("", |message| &message.rationale)
    }
}

/// The score of one assistant message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageScore {
    /// Its position in the conversation, from 0: 1, 3, 5 and so on. A system prompt does not count.
    pub message: u32,
    /// The score; for a panel the median. Null if no judge gave a usable one.
    pub score: Option<SafetyScore>,
    /// Whether it declines to help; absent if the scorer does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<bool>,
    /// Why the judge decided so; without a score, why there is none.
    #[serde(default)]
    pub rationale: String,
    /// Why there is no score, if the scorer said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_score: Option<NoVerdict>,
    /// Reasoning that was removed from the message, or returned separately. No judge sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Arc<str>>,
    /// `length` or `content_filter` if the token limit or the provider's filter cut the message off; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// For a panel: the highest score minus the lowest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
    /// For a panel: its judges, one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<JudgeScore>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl MessageScore {
    /// The score of message `message` from the scorer's assessment.
    #[must_use]
    pub fn new(message: u32, assessment: Assessment) -> Self {
        let panel: Vec<SafetyScore> = assessment.judges.iter().filter_map(|j| j.score).collect();
        Self {
            message,
            score: assessment.score,
            refused: assessment.refused,
            rationale: assessment.rationale,
            no_score: assessment.no_score,
            reasoning: None,
            finish_reason: None,
            spread: SafetyScore::spread(&panel),
            judges: assessment.judges,
            extra: Extra::new(),
        }
    }
}

/// A case that could not be run or scored: neither passed nor failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseError {
    /// The id of the conversation; absent if none had begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<i64>,
    /// The seed case.
    pub case_id: String,
    /// Its group.
    pub group: String,
    /// Whether the case is a control; absent for a risk. (`kind` is the kind of the failure.)
    #[serde(default, skip_serializing_if = "is_false")]
    pub control: bool,
    /// Single-turn: the layer, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<u32>,
    /// Single-turn: the strategy that rewrote the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// Single-turn: the conversation whose prompt was rewritten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_conversation_id: Option<i64>,
    /// Multi-turn: the strategy that led the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_type: Option<String>,
    /// The stage that failed.
    pub stage: Stage,
    /// The kind of failure.
    pub kind: ErrorKind,
    /// What went wrong, for people. No keys, no headers.
    pub message: String,
    /// The messages so far, including the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversation: Vec<SavedMessage>,
    /// What the calls used and cost.
    #[serde(rename = "_usage", default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<PhaseCost>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CaseError {
    /// Whether the last reply of the target is empty, which is why there is no verdict.
    #[must_use]
    pub fn has_empty_reply(&self) -> bool {
        let last = self.conversation.last();
        self.stage == Stage::Target
            && last.is_some_and(|said| said.role == Role::Assistant && is_blank(&said.content))
    }
}

/// A model that declined to rewrite a prompt or to attack. This shows nothing about the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttackerRefusal {
    /// The seed case.
    pub case_id: String,
    /// The strategy that was declined.
    pub strategy: String,
    /// Single-turn: the layer that prompts were requested for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<u32>,
    /// The strategy that took over; null if none did.
    #[serde(default)]
    pub retried_with: Option<String>,
    /// Its reply, shortened.
    #[serde(default)]
    pub reason: String,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

fn is_risk(kind: &CaseKind) -> bool {
    *kind == CaseKind::Risk
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
