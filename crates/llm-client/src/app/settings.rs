//! How an application is called: the key `http` of a target.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How an application behind HTTP is called. Texts are templates (minijinja, the syntax of Jinja2) over the names in
/// [`docs/targets.md`](https://github.com/probity-eval/probity/blob/main/docs/targets.md).
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpAppSettings {
    /// The address of a turn. Values in it are percent-encoded, and cannot change scheme, host and port.
    pub url: String,
    /// The HTTP method.
    #[serde(default = "post", skip_serializing_if = "is_post")]
    pub method: String,
    /// Headers of the turn: `{Authorization: "Bearer ${KEY}"}`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub headers: IndexMap<String, String>,
    /// The body: JSON with templates in its texts, or one text that is sent as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// The body as an HTML form, in place of `body`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub form: IndexMap<String, String>,
    /// What templates have as `metadata`: any JSON, with `${NAME}` in its texts.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Where the reply's text is: a JSON pointer, or a template over `response`, `status` and `headers`. Not needed with `stream`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
    /// Where the messages of an application with tools of its own are, in the place of `reply`: those after the user's last one are its
    /// steps, and the last of them is the reply. Calls and answers have the form of chat completions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<String>,
    /// Where its reasoning is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Where calls of the benchmark's tools are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<String>,
    /// Where the reason for its end is: `stop`, `length`, `content_filter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// Where the numbers of tokens are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsagePointers>,
    /// Where the cost in dollars is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// Where the name of the model that answered is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A call that opens a conversation, before its first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<AppStep>,
    /// A call that closes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close: Option<AppStep>,
    /// A call that logs in, before the first one, and again after 401.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<AppStep>,
    /// Whether cookies are kept: a jar for each conversation, with those that the login sets.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cookies: bool,
    /// The reply comes as a stream of events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamSettings>,
    /// What is an error, before the status decides. The first that fits counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorRule>,
    /// The statuses of a reply. Default: all of 200 to 299.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ok: Vec<u16>,
    /// Whether the application keeps the conversation and gets new messages only. Default: unless a template names `history` or `messages`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stateful: Option<bool>,
    /// `own`: the application has a system prompt of its own, and those of scenarios are not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<SystemPrompt>,
}

fn post() -> String {
    "POST".to_owned()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

fn is_post(method: &String) -> bool {
    method == "POST"
}

/// Whose system prompt an application has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SystemPrompt {
    /// Its own.
    Own,
}

/// Where the numbers of tokens are: JSON pointers or templates.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsagePointers {
    /// Of the request.
    pub input_tokens: String,
    /// Of the reply.
    pub output_tokens: String,
}

/// A call beside the turns: it opens or closes a conversation, or logs in.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppStep {
    /// The address, on the host of the turns.
    pub url: String,
    /// The HTTP method.
    #[serde(default = "post", skip_serializing_if = "is_post")]
    pub method: String,
    /// Further headers.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub headers: IndexMap<String, String>,
    /// The body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// The body as an HTML form.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub form: IndexMap<String, String>,
    /// What is taken from the response, by JSON pointers: as `session.NAME`, or `login.NAME`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub take: IndexMap<String, String>,
    /// For how many seconds a login holds. Default: until 401.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
}

/// How a stream of events is read.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamSettings {
    /// Server-sent events, or one JSON object a line.
    #[serde(default)]
    pub format: StreamFormat,
    /// The names of the events with text. Default: all. In `ndjson` the name is the key `event` or `type`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// The JSON pointer to the text in each of them.
    pub text: String,
    /// The event that ends the reply. Without it a stream that breaks off is taken for a whole reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<EventMatch>,
    /// The event that is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<EventMatch>,
}

/// The form of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamFormat {
    /// Server-sent events.
    #[default]
    Sse,
    /// One JSON object a line.
    Ndjson,
}

/// An event of a stream: by its name, or by its data.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventMatch {
    /// The event's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Its data, as text: `[DONE]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The JSON pointer to the message of an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What is an error: all keys that are given must fit.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorRule {
    /// The HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// A JSON pointer into the response: something other than null is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The value there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// The JSON pointer to a message for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What it means.
    pub kind: AppErrorKind,
}

/// What an error of an application means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AppErrorKind {
    /// It may succeed later.
    Retryable,
    /// A lower rate is requested.
    RateLimited,
    /// The response is useless.
    Malformed,
    /// A filter refused the content.
    Refused,
    /// It will fail again.
    Permanent,
}
