//! One call to a language model.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Event, Item, Journal, JsonText, Message, ModelError, ModelId, Spend, ToolCall, ToolChoice,
    ToolSpec, Usage,
};

/// A language model that can be talked to. An extension point: implement it to bring a model that has no OpenAI-compatible
/// endpoint. Policy (journal, cache, budget, retries, limits) is layered around it by types that are `ChatModel`s too.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// The user's own name for the model.
    fn id(&self) -> &ModelId;

    /// Sends one request and waits for the reply.
    ///
    /// # Errors
    /// When no reply came; [`ModelError::kind`] says of what sort the failure is. An empty or cut-off reply is not an error.
    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError>;
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions to the model.
    System,
    /// The other side of the conversation, seen from the model.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

impl Role {
    /// `system`, `user`, `assistant` or `tool`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// What form the reply should have. An endpoint that does not know a form gets a request for the next weaker one.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ResponseFormat {
    /// Free text.
    #[default]
    Text,
    /// A JSON object.
    JsonObject,
    /// A JSON object that follows a schema.
    JsonSchema {
        /// Name of the schema: letters, digits, `_` and `-`, 64 at most.
        name: Arc<str>,
        /// The JSON schema. Strict mode: every property required, no additional ones.
        schema: Arc<Value>,
    },
}

/// A request to a model. Sampling settings (temperature, token limits and so on) belong to the model, not to the request.
#[derive(Clone, Debug)]
pub struct ChatRequest {
    /// The conversation so far, from the model's own side.
    pub messages: Vec<Message>,
    /// The form of the reply.
    pub response_format: ResponseFormat,
    /// The tools that the model may call. Empty: none.
    pub tools: Arc<[ToolSpec]>,
    /// Whether it may call them.
    pub tool_choice: ToolChoice,
    /// What the call is for. It never goes on the wire.
    pub context: CallContext,
}

impl ChatRequest {
    /// A request for free text, without tools.
    #[must_use]
    pub fn new(messages: Vec<Message>, context: CallContext) -> Self {
        Self {
            messages,
            response_format: ResponseFormat::Text,
            tools: Arc::default(),
            tool_choice: ToolChoice::Auto,
            context,
        }
    }
}

/// What a call is for: the cache distinguishes calls by it, the journal and the cost files sort them by it.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// The phase and part in it.
    pub purpose: Purpose,
    /// The row that the call is made for: a conversation id, a scenario id, a metric id. Two rows never share a cached
    /// reply, so that samples stay independent of each other.
    pub row: Arc<str>,
    /// Which repetition of the row, from 0.
    pub sample: u32,
    /// Which turn of the conversation, from 1; 0 where there are none.
    pub turn: u32,
    /// Which call to the target within the turn, from 0: calls after the first follow on answers of tools.
    pub step: u32,
    /// The item, where the call belongs to one.
    pub item: Option<Item>,
}

impl CallContext {
    /// A context without sample, turn and item.
    #[must_use]
    pub fn new(purpose: Purpose, row: impl Into<Arc<str>>) -> Self {
        Self {
            purpose,
            row: row.into(),
            sample: 0,
            turn: 0,
            step: 0,
            item: None,
        }
    }

    /// Records `event` in the item that the call belongs to, else in `journal`.
    pub fn record(&self, event: Event, journal: &dyn Journal) {
        match &self.item {
            Some(item) => item.record(event),
            None => journal.record(event),
        }
    }
}

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Purpose {
    /// Metrics from a description.
    GenMetrics,
    /// Scenarios from a metric.
    GenScenarios,
    /// A demographic variant of a scenario.
    GenVariant,
    /// Rewritten prompts of a safety evaluation.
    GenVariation,
    /// The simulated user's next message.
    UserTurn,
    /// The next reply of the system under test.
    TargetTurn,
    /// The simulated answer of a tool.
    ToolAnswer,
    /// A judge's verdict.
    Judge,
    /// Which messages of the simulated user do not fit its role.
    UserJudge,
    /// How real a conversation is: does the target seem to know of the test, does the user sound real?
    Realism,
    /// A check whether the endpoint answers at all. Never cached.
    Probe,
}

impl Purpose {
    /// The phase, as `cost.json` and the command line name it.
    #[must_use]
    pub fn phase(self) -> &'static str {
        match self {
            Self::GenMetrics => "gen_metrics",
            Self::GenScenarios | Self::GenVariant => "gen_scenarios",
            Self::GenVariation => "gen_variations",
            Self::UserTurn
            | Self::TargetTurn
            | Self::ToolAnswer
            | Self::UserJudge
            | Self::Realism => "simulate",
            Self::Judge => "evaluate",
            Self::Probe => "probe",
        }
    }

    /// The purpose itself, as the journal and the cache name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GenMetrics => "gen_metrics",
            Self::GenScenarios => "gen_scenarios",
            Self::GenVariant => "gen_variant",
            Self::GenVariation => "gen_variation",
            Self::UserTurn => "user_turn",
            Self::TargetTurn => "target_turn",
            Self::ToolAnswer => "tool_answer",
            Self::Judge => "judge",
            Self::UserJudge => "user_judge",
            Self::Realism => "realism",
            Self::Probe => "probe",
        }
    }

    /// Whether `name` is the purpose of a judge that reads a conversation for what it is, not for a metric.
    #[must_use]
    pub fn is_of_conversation_judge(name: &str) -> bool {
        let of = [Self::UserJudge, Self::Realism];
        of.iter().any(|purpose| purpose.as_str() == name)
    }
}

/// What a model answered.
#[derive(Clone, Debug)]
pub struct ChatReply {
    /// The text of the reply without reasoning. Empty when the model said nothing. Of a system under test ([`Purpose::TargetTurn`])
    /// nothing but a block that opens the reply is taken out: see [`crate::reasoning::split`].
    pub content: String,
    /// Reasoning, where the endpoint gives it in a field of its own or the reply carries it in a block.
    pub reasoning: Option<String>,
    /// The tools that the model calls, in its order. Empty: none.
    pub tool_calls: Vec<ToolCall>,
    /// Why the reply ended.
    pub finish: FinishReason,
    /// Tokens of the attempt that answered; `None` when the endpoint did not report it.
    pub usage: Option<Usage>,
    /// Dollars of the attempt that answered; `None` when the price or the usage is not known.
    pub cost: Option<f64>,
    /// Attempts before it that failed but were billed.
    pub failed_attempts: Spend,
    /// The model's name as the endpoint echoed it.
    pub model: Option<String>,
    /// Whether the call was made now or earlier.
    pub origin: Origin,
    /// How long the attempt that answered took; of a cached reply, how long it took then.
    pub run_time: Duration,
    /// Request and response as they went over the wire, for the journal.
    pub exchange: Option<Arc<Exchange>>,
}

impl ChatReply {
    /// A reply of plain text, for `ChatModel`s of one's own. Usage and cost are unknown.
    #[must_use]
    pub fn text(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            reasoning: None,
            tool_calls: Vec::new(),
            finish: FinishReason::Stop,
            usage: None,
            cost: None,
            failed_attempts: Spend::default(),
            model: None,
            origin: Origin::Fetched,
            run_time: Duration::ZERO,
            exchange: None,
        }
    }

    /// What the call used and cost, failed attempts included.
    #[must_use]
    pub fn spend(&self) -> Spend {
        let mut spend = Spend::of_call(self.usage, self.cost);
        spend.add(&self.failed_attempts);
        spend
    }
}

/// Where a reply came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// From the endpoint, now.
    Fetched,
    /// From the response cache.
    Cached,
}

/// Why a reply ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(with = "String", inline)]
pub enum FinishReason {
    /// The model was done.
    Stop,
    /// The token limit cut it off.
    Length,
    /// The provider's filter cut it off.
    ContentFilter,
    /// The model wants to call tools.
    ToolCalls,
    /// Anything else, as the endpoint said it; `unknown` when it said nothing.
    Other(String),
}

impl From<&str> for FinishReason {
    fn from(text: &str) -> Self {
        match text {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "content_filter" => Self::ContentFilter,
            "tool_calls" => Self::ToolCalls,
            _ => Self::Other(text.to_owned()),
        }
    }
}

impl From<String> for FinishReason {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<FinishReason> for String {
    fn from(reason: FinishReason) -> Self {
        reason.as_str().to_owned()
    }
}

impl FinishReason {
    /// The reason as the wire spells it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::ToolCalls => "tool_calls",
            Self::Other(text) => text,
        }
    }
}

/// Request and response body of one call, as they went over the wire. Headers are not in it. Of a reply from the cache the
/// request is made again by the model's settings.
#[derive(Debug)]
pub struct Exchange {
    /// The request body.
    pub request: JsonText,
    /// The response body.
    pub response: JsonText,
}
