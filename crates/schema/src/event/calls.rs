//! Calls to models. The message says who was called.

use std::{borrow::Cow, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{JsonText, Spend};

/// A reply of the system under test.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct SutReply {
    /// The turn of the conversation, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// Which call of the turn, from 0. Absent: the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// Seconds that the attempt took which answered. Absent: from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_time: Option<f64>,
    /// The request body.
    pub request: Option<JsonText>,
    /// The response body.
    pub response: Option<JsonText>,
    /// What the call used and cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spend: Option<Spend>,
    /// Seconds that it took when it was fetched. Absent: it was not from the cache, or that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_run_time: Option<f64>,
    /// `conversations.json`: the reply is of an earlier run; `test ID`: it is of the item of that test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Cow<'static, str>>,
    /// How many replies it sums up; `request` and `response` are null then. Absent: it is one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
}

/// A reply that was fetched from a judge.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct AnnotatorReply {
    /// The judge's id.
    pub annotator: Arc<str>,
    /// Seconds that the attempt took which answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_time: Option<f64>,
    /// The request body.
    pub request: Option<JsonText>,
    /// The response body.
    pub response: Option<JsonText>,
    /// What the call used and cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spend: Option<Spend>,
    /// How many replies it sums up; `request` and `response` are null then. Absent: it is one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
}

/// A judge's reply from the cache.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct CachedAnnotatorReply {
    /// The judge's id.
    pub annotator: Arc<str>,
    /// The request body.
    pub annotator_request: Option<JsonText>,
    /// The response body.
    pub response: Option<JsonText>,
    /// What the call used and cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spend: Option<Spend>,
    /// Seconds that it took when it was fetched. Absent: that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_run_time: Option<f64>,
    /// How many replies it sums up; `annotator_request` and `response` are null then. Absent: it is one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
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
    /// Seconds that the attempt took which answered. Absent: from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_time: Option<f64>,
    /// The request body.
    pub request: JsonText,
    /// The response body.
    pub response: JsonText,
    /// What the call used and cost.
    pub spend: Spend,
    /// Seconds that it took when it was fetched. Absent: it was not from the cache, or that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_run_time: Option<f64>,
}

/// A call to the system under test failed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct SutException {
    /// The turn of the conversation, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// Which call of the turn, from 0. Absent: the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// What failed.
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
    /// What failed.
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
    /// What failed.
    pub exception: Exception,
    /// What the failed attempts used and cost.
    pub spend: Spend,
}

/// What failed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Exception {
    /// The type of the error.
    pub class: Option<Cow<'static, str>>,
    /// What it says.
    pub message: Option<Value>,
    /// `transient`, `rate_limited`, `permanent`, `malformed` or `circuit_open`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Cow<'static, str>>,
    /// How often the call was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
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
    /// The same for people.
    pub text: String,
    /// What was spent before it.
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
    /// Which repetition of the row, from 0.
    pub sample: u32,
    /// The turn of the conversation; 0 where there are none.
    pub turn: u32,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// Of what sort the failure is.
    pub kind: Cow<'static, str>,
    /// The HTTP status, or null.
    pub status: Option<u16>,
    /// Why.
    pub reason: String,
    /// Seconds until the next attempt. Absent: it was the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<f64>,
    /// The error as people see it, of the last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_text: Option<String>,
}

/// An endpoint does not take a parameter.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RequestFormChanged {
    /// The id of the model.
    pub model: Arc<str>,
    /// What the call is for.
    pub purpose: Cow<'static, str>,
    /// The row that the call is made for.
    pub row: Arc<str>,
    /// What is left out or named differently from now on.
    pub change: String,
    /// What the endpoint said.
    pub reason: String,
}

/// The limiter allows more or fewer calls in flight.
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

/// A model answered nothing well for too long: its calls fail at once.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CircuitBreakerOpened {
    /// The name on the wire.
    pub model: Arc<str>,
    /// The endpoint.
    pub endpoint: Arc<str>,
    /// Seconds since the first failure.
    pub failing_for: f64,
    /// Attempts that failed since then.
    pub attempts: u32,
    /// Why the last one did.
    pub reason: String,
}

/// A model answers again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CircuitBreakerClosed {
    /// The name on the wire.
    pub model: Arc<str>,
    /// The endpoint.
    pub endpoint: Arc<str>,
    /// Seconds for which calls failed at once.
    pub open_for: f64,
}
