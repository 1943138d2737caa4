//! A table of prices.

use schemars::JsonSchema;

/// The prices of models, in dollars per million tokens. Shipped as `fixtures/prices.json`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Prices {
    /// Version of the format: 1.
    #[schemars(range(min = 1, max = 1))]
    format: u32,
    /// The newest date at which a row was checked, `YYYY-MM-DD`.
    as_of: String,
    /// The sources of the table, for people.
    #[serde(default)]
    about: Vec<String>,
    /// One row for each model. The first match counts.
    prices: Vec<Price>,
}

/// The price of one model.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Price {
    /// The provider, as `source` in the configuration names it. Absent: any.
    source: Option<String>,
    /// The model's name on the wire. A trailing `*` matches every name with that prefix.
    model: String,
    /// Dollars per million tokens sent.
    #[schemars(range(min = 0))]
    input: f64,
    /// Dollars per million tokens received.
    #[schemars(range(min = 0))]
    output: f64,
    /// Dollars per million tokens that the endpoint read from its own prompt cache. Absent: the price of
    /// other input.
    #[schemars(range(min = 0))]
    cached_input: Option<f64>,
    /// Dollars per million tokens that the endpoint wrote to its own prompt cache. Absent: 1.25 times the price
    /// of other input.
    #[schemars(range(min = 0))]
    cache_write: Option<f64>,
}
