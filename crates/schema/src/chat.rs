//! One call to a language model.

use std::{
    any::Any,
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Event, Item, Journal, JsonText, Message, ModelError, ModelId, PhaseProgram, RateLeft,
    ReturnedReasoning, Spend, ToolCall, ToolChoice, ToolSpec, Usage,
};

/// Room for a conversation at a model that plays whole ones, until it is dropped: see [`ChatModel::conversation_room`].
#[derive(Default)]
pub struct ConversationRoom(Option<Box<dyn Any + Send + Sync>>);

impl ConversationRoom {
    /// The room that `held` keeps.
    #[must_use]
    pub fn new(held: impl Any + Send + Sync) -> Self {
        Self(Some(Box::new(held)))
    }
}

impl fmt::Debug for ConversationRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ConversationRoom")
            .field(&self.0.is_some())
            .finish()
    }
}

/// A language model. An extension point: implement it for a model that has no OpenAI-compatible endpoint. Policy (journal, cache,
/// budget, retries, limits) is layered around it by types that are `ChatModel`s too.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// The user's own name for the model.
    fn id(&self) -> &ModelId;

    /// Sends one request and waits for the reply.
    ///
    /// # Errors
    /// When no reply arrives; [`ModelError::kind`] returns the kind of failure. An empty or cut-off reply is not an error.
    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError>;

    /// Waits until the model has room for one more conversation, if it plays whole ones. The room is kept until it is dropped.
    async fn conversation_room(&self) -> ConversationRoom {
        ConversationRoom::default()
    }

    /// The conversation of `context` is over: no further call of it follows. A model that keeps a conversation open on the other side closes
    /// it. Most keep none, and do nothing.
    async fn end_conversation(&self, _context: &CallContext) {}

    /// What is known of it, if it is a program that takes the place of a phase's prompts.
    fn phase_program(&self) -> Option<PhaseProgram> {
        None
    }
}

#[async_trait]
impl<M: ChatModel + ?Sized> ChatModel for Arc<M> {
    fn id(&self) -> &ModelId {
        (**self).id()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        (**self).chat(request).await
    }

    async fn conversation_room(&self) -> ConversationRoom {
        (**self).conversation_room().await
    }

    async fn end_conversation(&self, context: &CallContext) {
        (**self).end_conversation(context).await;
    }

    fn phase_program(&self) -> Option<PhaseProgram> {
        (**self).phase_program()
    }
}

/// The role of a message's author.
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

/// The form of the reply. An endpoint that does not support a form gets a request for the next weaker one.
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
    /// Whether the model may call the tools.
    pub tool_choice: ToolChoice,
    /// What other requests begin with too. It decides no reply: it only lets a provider's prompt cache find it.
    pub repeated: RepeatedPrefix,
    /// What the call is for. It is never sent.
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
            repeated: RepeatedPrefix::default(),
            context,
        }
    }
}

/// The beginning of a request that other requests have too, word for word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepeatedPrefix {
    /// How many of the first messages an earlier or a later request begins with. 0: none, or unknown.
    pub messages: usize,
    /// Whether the request belongs to a conversation of several requests, each of which repeats the one before it.
    pub in_conversation: bool,
}

/// What a call is for. The cache distinguishes calls by it; the journal and the cost files group them by it.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// The phase and part in it.
    pub purpose: Purpose,
    /// The row that the call is made for: a conversation id, a scenario id, a metric id. Two rows never share a cached reply, so
    /// that samples stay independent of each other.
    pub row: Arc<str>,
    /// The repetition of the row, from 0.
    pub sample: u32,
    /// The turn of the conversation, from 1; 0 if there are no turns.
    pub turn: u32,
    /// The call to the target within the turn, from 0: later calls follow answers of tools.
    pub step: u32,
    /// The item, if the call belongs to one.
    pub item: Option<Item>,
    /// The program that makes the call, if a program of the run does: see [`Caller`].
    pub caller: Option<Caller>,
}

/// A program of the run that asks a model of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The program's name in the configuration.
    pub name: Arc<str>,
    /// Which of several equal calls it is, from 0: equal calls with equal numbers get one reply.
    pub n: u32,
    /// How many of the program's results for the same request could not be used: its next attempt gets other replies.
    pub unusable: u32,
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
            caller: None,
        }
    }

    /// Records `event` in the item that the call belongs to, otherwise in `journal`.
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
    /// Generates metrics from a description.
    GenMetrics,
    /// Generates scenarios from a metric.
    GenScenarios,
    /// Generates a demographic variant of a scenario.
    GenVariant,
    /// Rewrites prompts of a safety evaluation.
    GenVariation,
    /// The simulated user's next message.
    UserTurn,
    /// The next reply of the system under test.
    TargetTurn,
    /// The simulated answer of a tool.
    ToolAnswer,
    /// A judge's verdict.
    Judge,
    /// A judge's check for messages of the simulated user that do not fit its role.
    UserJudge,
    /// A judge's rating of realism: does the target seem to know of the test, and does the user sound real?
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

    /// Whether `name` is the purpose of a judge that reads a conversation as a whole, not for a metric.
    #[must_use]
    pub fn is_of_conversation_judge(name: &str) -> bool {
        let of = [Self::UserJudge, Self::Realism];
        of.iter().any(|purpose| purpose.as_str() == name)
    }
}

/// The reply of a model.
#[derive(Clone, Debug)]
pub struct ChatReply {
    /// The text of the reply without reasoning. Empty if the model said nothing. For a system under test ([`Purpose::TargetTurn`]),
    /// only a block at the beginning of the reply is removed: see [`crate::reasoning::split`].
    pub content: String,
    /// Reasoning, if the endpoint returns it in a separate field or the reply contains it in a block.
    pub reasoning: Option<String>,
    /// The reasoning as the endpoint returned it in a field of its own, for a request that sends it back. `None` if there was no such
    /// field.
    pub returned_reasoning: Option<Arc<ReturnedReasoning>>,
    /// The tools that the model calls, in its order. Empty if there are none.
    pub tool_calls: Vec<ToolCall>,
    /// What an application with tools of its own said and did before the reply: its messages with calls, and the answers. Empty if it
    /// reports none.
    pub steps: Vec<Message>,
    /// Why the reply ended.
    pub finish: FinishReason,
    /// Tokens of the successful attempt; `None` if the endpoint did not report them.
    pub usage: Option<Usage>,
    /// Dollars of the successful attempt; `None` if the price or the usage is unknown.
    pub cost: Option<f64>,
    /// Earlier attempts that failed but were billed.
    pub failed_attempts: Spend,
    /// What a program that answered spent on models of the run when it did. Those calls are counted where they were made.
    pub called: Spend,
    /// The model's name as the endpoint echoed it.
    pub model: Option<String>,
    /// Whether the reply was fetched now or earlier.
    pub origin: Origin,
    /// When the reply came: with a cache, when it was stored in it. `None`: just now.
    pub at: Option<SystemTime>,
    /// How long the successful attempt took; for a cached reply, how long it took when it was fetched.
    pub run_time: Duration,
    /// What the endpoint says is left of its limits. Empty if it says nothing, and for a reply that it did not send now.
    pub rates_left: Vec<RateLeft>,
    /// Request and response as they were sent and received, for the journal.
    pub exchange: Option<Arc<Exchange>>,
}

impl ChatReply {
    /// A reply of plain text, for custom `ChatModel`s. Usage and cost are unknown.
    #[must_use]
    pub fn text(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            reasoning: None,
            returned_reasoning: None,
            tool_calls: Vec::new(),
            steps: Vec::new(),
            finish: FinishReason::Stop,
            usage: None,
            cost: None,
            failed_attempts: Spend::default(),
            called: Spend::default(),
            model: None,
            origin: Origin::Fetched,
            at: None,
            run_time: Duration::ZERO,
            rates_left: Vec::new(),
            exchange: None,
        }
    }

    /// What the call used and cost, failed attempts included. For a cached reply of a program, also what it spent on models of the run: those
    /// calls are not made again.
    #[must_use]
    pub fn spend(&self) -> Spend {
        let mut spend = Spend::of_call(self.usage, self.cost);
        spend.add(&self.failed_attempts);
        if self.origin == Origin::Cached {
            spend.add(&self.called);
        }
        spend
    }
}

/// The origin of a reply.
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
    /// The model finished.
    Stop,
    /// The token limit cut it off.
    Length,
    /// The provider's filter cut it off.
    ContentFilter,
    /// The model calls tools.
    ToolCalls,
    /// Any other reason, as the endpoint named it; `unknown` if it gave none.
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
    /// The reason as the API spells it.
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

/// Request and response body of one call, as they were sent and received, without headers. For a cached reply the request is
/// rebuilt from the model's settings.
#[derive(Debug)]
pub struct Exchange {
    /// The request body.
    pub request: JsonText,
    /// The response body.
    pub response: JsonText,
}
