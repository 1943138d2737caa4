//! Calls to models. The message names the kind of model.

use std::{borrow::Cow, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{JsonText, Purpose, Spend};

/// Messages that a request shares with the item's previous call of that model, and that its line leaves out. A journal's reader puts them
/// back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SharedMessages {
    /// Their number, from 1. They are the first ones of the request.
    pub messages: u64,
    /// SHA-256 of their JSON as it is in the request, with the commas between them.
    pub sha256: String,
}

/// Where an earlier journal has, whole, what a line of an item that came whole from the cache leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptIn {
    /// The id of that journal's run: the journal is `journal-<run id>.jsonl`, or the same compressed.
    pub run_id: Arc<str>,
    /// The line in it, from 1.
    pub line: u64,
}

/// A reply of the system under test.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct SutReply {
    /// The turn of the conversation, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The call within the turn, from 0. Absent: the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// Seconds that the successful attempt took. Absent: from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_time: Option<f64>,
    /// The request body.
    pub request: Option<JsonText>,
    /// The first messages of the request that are left out. Absent: none are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedMessages>,
    /// The response body.
    pub response: Option<JsonText>,
    /// What the call used and cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spend: Option<Spend>,
    /// Seconds that the reply took when it was fetched. Absent: the reply was not from the cache, or this is
    /// unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_run_time: Option<f64>,
    /// `conversations.json`: the reply comes from an earlier run; `test ID`: it belongs to the item of that
    /// test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Cow<'static, str>>,
    /// The number of replies that the event sums up; `request` and `response` are then those of the last one. Absent: it is one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Where the bodies are, if the item came whole from the cache and an earlier journal has them. Absent: they are here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptIn>,
}

/// A reply that was fetched from a judge.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct AnnotatorReply {
    /// The judge's id.
    pub annotator: Arc<str>,
    /// Seconds that the successful attempt took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_time: Option<f64>,
    /// The request body.
    pub request: Option<JsonText>,
    /// The first messages of the request that are left out. Absent: none are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedMessages>,
    /// The response body.
    pub response: Option<JsonText>,
    /// What the call used and cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spend: Option<Spend>,
    /// The number of replies that the event sums up; `request` and `response` are then those of the last one. Absent: it is one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
}

/// A judge's reply from the cache.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct CachedAnnotatorReply {
    /// The judge's id.
    pub annotator: Arc<str>,
    /// The request body. Absent where `kept` says where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotator_request: Option<JsonText>,
    /// The first messages of the request that are left out. Absent: none are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedMessages>,
    /// The response body. Absent where `kept` says where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<JsonText>,
    /// What the call used and cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spend: Option<Spend>,
    /// Seconds that the reply took when it was fetched. Absent: unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_run_time: Option<f64>,
    /// The number of replies that the event sums up; `annotator_request` and `response` are then those of the last one. Absent: it is one
    /// reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Where the bodies are, if the item came whole from the cache and an earlier journal has them. Absent: they are here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptIn>,
}

/// A reply of any other model.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ModelReply {
    /// The id of the model.
    pub model: Arc<str>,
    /// What the call is for.
    pub purpose: Cow<'static, str>,
    /// The row that the call was made for.
    pub row: Arc<str>,
    /// The turn of the conversation, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// Seconds that the successful attempt took. Absent: from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_time: Option<f64>,
    /// The request body; absent where `kept` says where it is.
    #[serde(default, skip_serializing_if = "JsonText::is_null")]
    pub request: JsonText,
    /// The first messages of the request that are left out. Absent: none are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedMessages>,
    /// The response body; absent where `kept` says where it is.
    #[serde(default, skip_serializing_if = "JsonText::is_null")]
    pub response: JsonText,
    /// What the call used and cost.
    pub spend: Spend,
    /// Seconds that the reply took when it was fetched. Absent: the reply was not from the cache, or this is
    /// unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_run_time: Option<f64>,
    /// The number of replies that the event sums up, if the item came whole from the cache. Absent: it is one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Where the bodies are, if the item came whole from the cache and an earlier journal has them. Absent: they are here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptIn>,
    /// The program that made the call. Absent: a phase did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<Arc<str>>,
}

impl ModelReply {
    /// Whether the call was made for a verdict.
    #[must_use]
    pub fn is_for_judge(&self) -> bool {
        self.purpose == Purpose::Judge.as_str()
    }
}

/// A call to the system under test failed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct SutException {
    /// The turn of the conversation, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The call within the turn, from 0. Absent: the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The error.
    pub exception: Exception,
    /// What the failed attempts used and cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spend: Option<Spend>,
}

/// A call to a judge failed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AnnotatorException {
    /// The judge's id.
    pub annotator: Arc<str>,
    /// The error.
    pub exception: Exception,
    /// What the failed attempts used and cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spend: Option<Spend>,
}

/// A call to any other model failed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ModelException {
    /// The id of the model.
    pub model: Arc<str>,
    /// What the call was for.
    pub purpose: Cow<'static, str>,
    /// The row that the call was made for.
    pub row: Arc<str>,
    /// The turn of the conversation, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The error.
    pub exception: Exception,
    /// What the failed attempts used and cost.
    pub spend: Spend,
    /// The program that made the call. Absent: a phase did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<Arc<str>>,
}

impl ModelException {
    /// Whether the call was made for a verdict.
    #[must_use]
    pub fn is_for_judge(&self) -> bool {
        self.purpose == Purpose::Judge.as_str()
    }
}

/// An exchange with an application or a program that is no turn: it opens or closes a conversation there, or logs in. It is no call of a
/// model: nothing counts it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionStep {
    /// The id of the model.
    pub model: Arc<str>,
    /// `open`, `close` or `login`.
    pub purpose: Cow<'static, str>,
    /// The row that it was made for. A login also serves rows that come after it.
    pub row: Arc<str>,
    /// Seconds until the response, or until it was clear that there is none.
    pub run_time: f64,
    /// The request, without headers and secrets.
    pub request: JsonText,
    /// The response, without secrets and what a login gives. Absent: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<JsonText>,
    /// Why there is no response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// An error.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Exception {
    /// The type of the error.
    pub class: Option<Cow<'static, str>>,
    /// Its text.
    pub message: Option<Value>,
    /// `transient`, `rate_limited`, `permanent`, `malformed` or `circuit_open`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Cow<'static, str>>,
    /// How often the call was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Whether a provider's filter refused the request for its content. Absent: no, or the journal is from before this was recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
}

/// A call was not made.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CallNotMade {
    /// The id of the model.
    pub model: Arc<str>,
    /// What the call was for.
    pub purpose: Cow<'static, str>,
    /// The row that the call was for.
    pub row: Arc<str>,
    /// `over_budget` or `cancelled`.
    pub reason: Cow<'static, str>,
    /// The reason for people.
    pub text: String,
    /// What was spent before the call.
    pub spend: Spend,
}

/// An attempt failed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FailedAttempt {
    /// The id of the model.
    pub model: Arc<str>,
    /// What the call is for.
    pub purpose: Cow<'static, str>,
    /// The row that the call is made for.
    pub row: Arc<str>,
    /// The repetition of the row, from 0.
    pub sample: u32,
    /// The turn of the conversation; 0 if there are no turns.
    pub turn: u32,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The kind of failure.
    pub kind: Cow<'static, str>,
    /// The HTTP status, or null.
    pub status: Option<u16>,
    /// The reason.
    pub reason: String,
    /// Seconds until the next attempt. Absent: it was the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<f64>,
    /// The error for people, after the last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_text: Option<String>,
}

/// An endpoint does not accept a parameter.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RequestFormChanged {
    /// The id of the model.
    pub model: Arc<str>,
    /// What the call is for.
    pub purpose: Cow<'static, str>,
    /// The row that the call is made for.
    pub row: Arc<str>,
    /// The parameter that is left out or renamed from now on.
    pub change: String,
    /// The endpoint's message.
    pub reason: String,
}

/// The limiter allows more or fewer calls in flight. Written by earlier versions.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LimiterChanged {
    /// The endpoint.
    pub endpoint: Arc<str>,
    /// Calls in flight allowed before.
    pub before: u64,
    /// Calls in flight allowed now.
    pub limit: u64,
    /// `in use`, `rate limited` or `rate limited at any load`.
    pub reason: Cow<'static, str>,
}

/// Attempts at an endpoint start faster or slower: it refuses some, or takes more than it did.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PaceChanged {
    /// The endpoint.
    pub endpoint: Arc<str>,
    /// Attempts a second until now; null if nothing limited them.
    pub before: Option<f64>,
    /// Attempts a second from now on; null if nothing limits them.
    pub rate: Option<f64>,
    /// `rate limited`, `in use` (it grew), `rate limited at any pace` (the last cut did not help and is undone), `learned by an earlier run`,
    /// or `announced` (by headers of replies).
    pub reason: Cow<'static, str>,
}

/// A batch of requests at a provider was sent, was taken up again by a later run, goes on, has ended or was refused.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BatchChanged {
    /// The id of the model.
    pub model: Arc<str>,
    /// The endpoint.
    pub endpoint: Arc<str>,
    /// The provider's id of the batch; empty if it was not taken.
    pub batch: String,
    /// `sent`, `taken up`, `in progress`, `ended` or `refused`.
    pub state: Cow<'static, str>,
    /// Its requests.
    pub requests: u64,
    /// Those that are done; at the end, those with a usable reply. The others are made directly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<u64>,
    /// Seconds since it was sent.
    pub seconds: u64,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A model has failed for too long: its calls now fail at once.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CircuitBreakerOpened {
    /// The model's name in requests.
    pub model: Arc<str>,
    /// The endpoint.
    pub endpoint: Arc<str>,
    /// Seconds since the first failure.
    pub failing_for: f64,
    /// Attempts that failed since the first failure.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub reason: String,
}

/// A model answers again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CircuitBreakerClosed {
    /// The model's name in requests.
    pub model: Arc<str>,
    /// The endpoint.
    pub endpoint: Arc<str>,
    /// Seconds for which calls failed at once.
    pub open_for: f64,
}
