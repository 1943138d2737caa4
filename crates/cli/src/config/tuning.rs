//! How a model is asked: sampling, limits, headers and free fields.

use std::time::Duration;

use schema::Extra;

use super::{
    read::{Reader, Text},
    table::Table,
};

/// How a model is asked. `None` leaves it to the endpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tuning {
    /// The longest reply, in tokens.
    pub max_tokens: Option<u32>,
    /// 0 to 2.
    pub temperature: Option<f64>,
    /// 0 to 1.
    pub top_p: Option<f64>,
    /// The endpoint's sampling seed.
    pub seed: Option<i64>,
    /// `low`, `high` or whatever the endpoint knows.
    pub reasoning_effort: Option<String>,
    /// Who opens the reasoning block of a reply: position in [`REASONING_OPENED_BY`].
    pub reasoning_opened_by: Option<usize>,
    /// Further fields of the request body.
    pub extra_body: Extra,
    /// Under which name the token limit is sent: position in [`TOKEN_LIMITS`].
    pub token_limit: Option<usize>,
    /// The strongest reply format that is asked for: position in [`STRUCTURED`].
    pub structured: Option<usize>,
    /// How long one call may take.
    pub timeout: Option<Duration>,
    /// What the endpoint is spared.
    pub limits: Limits,
}

impl Tuning {
    /// Reads the keys of `table` that say how a model is asked.
    pub fn read(table: &mut Table, reader: &mut Reader<'_>) -> Self {
        Self {
            max_tokens: table
                .take("max_tokens")
                .and_then(|node| node.count(reader, 1)),
            temperature: table
                .take("temperature")
                .and_then(|node| node.number(reader, 0.0, 2.0)),
            top_p: table
                .take("top_p")
                .and_then(|node| node.number(reader, 0.0, 1.0)),
            seed: table.take("seed").and_then(|node| node.integer(reader)),
            reasoning_effort: table
                .take("reasoning_effort")
                .and_then(|node| node.resolved_text(reader)),
            reasoning_opened_by: table
                .take("reasoning_opened_by")
                .and_then(|node| node.word(reader, &REASONING_OPENED_BY)),
            extra_body: read_extra_body(table, reader),
            token_limit: table
                .take("token_limit")
                .and_then(|node| node.word(reader, &TOKEN_LIMITS)),
            structured: table
                .take("structured")
                .and_then(|node| node.word(reader, &STRUCTURED)),
            timeout: table.take("timeout").and_then(|node| node.duration(reader)),
            limits: Limits::read(table, reader),
        }
    }
}

/// The values of `reasoning_opened_by`.
pub const REASONING_OPENED_BY: [&str; 2] = ["reply", "template"];
/// The values of `token_limit`.
pub const TOKEN_LIMITS: [&str; 3] = ["auto", "max_tokens", "max_completion_tokens"];
/// The values of `structured`.
pub const STRUCTURED: [&str; 4] = ["auto", "json_schema", "json_object", "text"];

/// How hard an endpoint is used at most. `None`: no limit of the user's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Calls in flight.
    pub max_concurrency: Option<u32>,
    /// Calls started per minute.
    pub requests_per_minute: Option<u32>,
    /// Tokens per minute.
    pub tokens_per_minute: Option<u32>,
}

impl Limits {
    /// Reads the `limits` of `table`.
    pub fn read(table: &mut Table, reader: &mut Reader<'_>) -> Self {
        let Some(mut table) = table.take("limits").and_then(|node| node.table(reader)) else {
            return Self::default();
        };
        let mut count = |key| table.take(key).and_then(|node| node.count(reader, 1));
        let limits = Self {
            max_concurrency: count("max_concurrency"),
            requests_per_minute: count("requests_per_minute"),
            tokens_per_minute: count("tokens_per_minute"),
        };
        table.finish(reader);
        limits
    }
}

/// Reads `extra_headers`, in order.
pub fn read_headers(table: &mut Table, reader: &mut Reader<'_>) -> Vec<(String, Text)> {
    let Some(headers) = table
        .take("extra_headers")
        .and_then(|node| node.table(reader))
    else {
        return Vec::new();
    };
    let mut read = Vec::new();
    for (name, node) in headers.take_all() {
        let fits = |char: char| char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char);
        if name.is_empty() || !name.chars().all(fits) {
            node.problem(reader, "is not a valid header name");
        } else if let Some(value) = node.text(reader) {
            read.push((name, value));
        }
    }
    read
}

fn read_extra_body(table: &mut Table, reader: &mut Reader<'_>) -> Extra {
    let Some(node) = table.take("extra_body") else {
        return Extra::new();
    };
    let Some(body) = node.table(reader) else {
        return Extra::new();
    };
    body.take_all()
        .into_iter()
        .map(|(key, node)| (key, node.json()))
        .collect()
}
