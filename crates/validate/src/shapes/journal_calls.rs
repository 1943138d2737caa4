//! The messages of a journal that tell of calls to models. Who was called is in the name of the message.

use schema::Spend;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

/// Types of which only the schema is used.
macro_rules! shapes {
    ($($(#[$doc:meta])* struct $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $($(#[$doc])*
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct $name { $($(#[$field_doc])* $field: $type,)* })*
    };
}
pub(super) use shapes;

shapes! {
    /// A reply of the system under test.
    struct SutReply {
        /// The turn of the conversation, from 1.
        turn: Option<u32>,
        /// Which call of the turn, from 0. Absent: the first.
        step: Option<u32>,
        /// Seconds that the attempt took which answered. Absent: from the cache.
        run_time: Option<f64>,
        /// Seconds that it took when it was fetched. Absent: it was not from the cache, or that is not known.
        original_run_time: Option<f64>,
        /// The request body.
        request: Option<Value>,
        /// The response body.
        response: Option<Value>,
        /// What the call used and cost.
        spend: Option<Spend>,
        /// `conversations.json`: the reply is of an earlier run.
        source: Option<String>,
        /// How many replies it sums up; `request` and `response` are null then. Absent: it is one reply.
        turns: Option<u64>,
    }

    /// A reply of a judge.
    struct AnnotatorReply {
        /// The judge's id.
        annotator: String,
        /// Seconds that the attempt took which answered. Absent: from the cache.
        run_time: Option<f64>,
        /// Seconds that it took when it was fetched. Absent: it was not from the cache, or that is not known.
        original_run_time: Option<f64>,
        /// The request body.
        request: Option<Value>,
        /// The request body, where the reply is from the cache.
        annotator_request: Option<Value>,
        /// The response body.
        response: Option<Value>,
        /// What the call used and cost.
        spend: Option<Spend>,
        /// How many replies it sums up; request and response are null then. Absent: it is one reply.
        turns: Option<u64>,
    }

    /// A reply of any other model.
    struct Reply {
        /// The id of the model.
        model: String,
        /// What the call is for.
        purpose: String,
        /// The row that the call was made for.
        row: String,
        /// The turn of the conversation, from 1.
        turn: Option<u32>,
        /// Seconds that the attempt took which answered. Absent: from the cache.
        run_time: Option<f64>,
        /// Seconds that it took when it was fetched. Absent: it was not from the cache, or that is not known.
        original_run_time: Option<f64>,
        /// The request body.
        request: Value,
        /// The response body.
        response: Value,
        /// What the call used and cost.
        spend: Spend,
    }

    /// A call to the system under test failed.
    struct SutException {
        /// The turn of the conversation, from 1.
        turn: Option<u32>,
        /// Which call of the turn, from 0. Absent: the first.
        step: Option<u32>,
        /// What failed.
        exception: Exception,
        /// What the failed attempts used and cost.
        spend: Option<Spend>,
    }

    /// A call to a judge failed.
    struct AnnotatorException {
        /// The judge's id.
        annotator: String,
        /// What failed.
        exception: Exception,
        /// What the failed attempts used and cost.
        spend: Option<Spend>,
    }

    /// A call to any other model failed.
    struct ModelException {
        /// The id of the model.
        model: String,
        /// What the call was for.
        purpose: String,
        /// The row that the call was made for.
        row: String,
        /// The turn of the conversation, from 1.
        turn: Option<u32>,
        /// What failed.
        exception: Exception,
        /// What the failed attempts used and cost.
        spend: Spend,
    }

    /// What failed.
    struct Exception {
        /// The type of the error.
        class: Option<String>,
        /// What it says.
        message: Option<Value>,
        /// `transient`, `rate_limited`, `permanent`, `malformed` or `circuit_open`.
        kind: Option<String>,
        /// How often the call was tried.
        attempts: Option<u32>,
    }

    /// A call was not made.
    struct CallNotMade {
        /// The id of the model.
        model: String,
        /// What the call was for.
        purpose: String,
        /// The row that the call was for.
        row: String,
        /// `over_budget` or `cancelled`.
        reason: String,
        /// The same for people.
        text: String,
        /// What was spent before it.
        spend: Spend,
    }

    /// An attempt failed.
    struct Attempt {
        /// The id of the model.
        model: String,
        /// What the call is for.
        purpose: String,
        /// The row that the call is made for.
        row: String,
        /// Which repetition of the row, from 0.
        sample: u32,
        /// The turn of the conversation; 0 where there are none.
        turn: u32,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// Of what sort the failure is.
        kind: String,
        /// The HTTP status, or null.
        status: Option<u16>,
        /// Why.
        reason: String,
        /// Seconds until the next attempt. Absent: it was the last.
        delay: Option<f64>,
        /// The error as people see it, of the last attempt.
        message_text: Option<String>,
    }

    /// An endpoint does not take a parameter.
    struct FormChanged {
        /// The id of the model.
        model: String,
        /// What the call is for.
        purpose: String,
        /// The row that the call is made for.
        row: String,
        /// What is left out or named differently from now on.
        change: String,
        /// What the endpoint said.
        reason: String,
    }

    /// The limiter allows more or fewer calls in flight.
    struct LimiterChanged {
        /// The endpoint.
        endpoint: String,
        /// Calls in flight allowed before.
        before: u64,
        /// Calls in flight allowed now.
        limit: u64,
        /// `in use`, `rate limited` or `rate limited at any load`.
        reason: String,
    }

    /// A model answered nothing well for too long: its calls fail at once.
    struct CircuitOpened {
        /// The name on the wire.
        model: String,
        /// The endpoint.
        endpoint: String,
        /// Seconds since the first failure.
        failing_for: f64,
        /// Attempts that failed since then.
        attempts: u32,
        /// Why the last one did.
        reason: String,
    }

    /// A model answers again.
    struct CircuitClosed {
        /// The name on the wire.
        model: String,
        /// The endpoint.
        endpoint: String,
        /// Seconds for which calls failed at once.
        open_for: f64,
    }
}

/// Each message with the schema of its own fields.
pub(super) fn list(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
    let sut = generator.subschema_for::<SutReply>();
    let annotator = generator.subschema_for::<AnnotatorReply>();
    let other = generator.subschema_for::<Reply>();
    let failed = generator.subschema_for::<ModelException>();
    let attempt = generator.subschema_for::<Attempt>();
    vec![
        ("fetched sut turn", sut.clone()),
        ("using cached sut turn", sut.clone()),
        ("fetched sut response", sut.clone()),
        ("using cached sut response", sut),
        ("sut exception", generator.subschema_for::<SutException>()),
        ("fetched annotator turn", annotator.clone()),
        ("using cached annotator turn", annotator.clone()),
        ("fetched annotator response", annotator.clone()),
        ("using cached annotator response", annotator),
        (
            "annotator exception",
            generator.subschema_for::<AnnotatorException>(),
        ),
        ("fetched user response", other.clone()),
        ("using cached user response", other.clone()),
        ("user exception", failed.clone()),
        ("fetched tool response", other.clone()),
        ("using cached tool response", other.clone()),
        ("tool exception", failed.clone()),
        ("fetched generator response", other.clone()),
        ("using cached generator response", other.clone()),
        ("generator exception", failed.clone()),
        ("fetched probe response", other),
        ("probe exception", failed),
        ("call not made", generator.subschema_for::<CallNotMade>()),
        ("retrying call", attempt.clone()),
        ("model call failed", attempt),
        (
            "request form changed",
            generator.subschema_for::<FormChanged>(),
        ),
        (
            "limiter changed",
            generator.subschema_for::<LimiterChanged>(),
        ),
        (
            "circuit breaker opened",
            generator.subschema_for::<CircuitOpened>(),
        ),
        (
            "circuit breaker closed",
            generator.subschema_for::<CircuitClosed>(),
        ),
    ]
}
