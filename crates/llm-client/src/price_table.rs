//! What models cost: the shipped list prices and the user's own.

use serde::Deserialize;

use crate::settings::Price;

/// The shipped list. A test parses it.
const SHIPPED: &str = include_str!("../../../fixtures/prices.json");

/// Prices by provider and model name.
///
/// A name is looked up as it is first, then without a trailing snapshot date or `-latest` (`gpt-4o-2024-08-06` is
/// `gpt-4o`). A shorter name never matches a longer one: `gpt-4o-mini` is not `gpt-4o`.
///
/// ```
/// use llm_client::{PriceRow, PriceTable};
///
/// let prices = PriceTable::shipped().with_overrides([PriceRow::new("my-model", 0.5, 1.5)])?;
/// assert_eq!(prices.price(Some("vllm"), "my-model").map(|price| price.output), Some(1.5));
/// assert_eq!(prices.price(Some("openai"), "gpt-4o-2024-08-06"), prices.price(Some("openai"), "gpt-4o"));
/// assert!(prices.price(Some("openai"), "no-such-model").is_none());
/// # Ok::<(), llm_client::PriceError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PriceTable {
    as_of: String,
    overrides: Vec<PriceRow>,
    rows: Vec<PriceRow>,
}

/// One row of a price table. Dollars per million tokens.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceRow {
    /// The provider, as `source` in the configuration names it; `None` applies to every provider.
    #[serde(default)]
    pub source: Option<String>,
    /// The model's name on the wire. A trailing `*` matches every name with that prefix.
    pub model: String,
    /// Dollars per million tokens sent.
    pub input: f64,
    /// Dollars per million tokens received.
    pub output: f64,
    /// Dollars per million tokens that the endpoint read from its own prompt cache; `None`: the price of other input.
    #[serde(default)]
    pub cached_input: Option<f64>,
    /// Dollars per million tokens that the endpoint wrote to its own prompt cache; `None`: 1.25 times the price of other input.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

impl PriceRow {
    /// A row for every provider. Dollars per million tokens.
    #[must_use]
    pub fn new(model: impl Into<String>, input: f64, output: f64) -> Self {
        Self {
            source: None,
            model: model.into(),
            input,
            output,
            cached_input: None,
            cache_write: None,
        }
    }

    fn price(&self) -> Price {
        Price {
            input: self.input,
            output: self.output,
            cached_input: self.cached_input,
            cache_write: self.cache_write,
        }
    }

    fn is_of(&self, source: Option<&str>) -> bool {
        self.source.is_none() || self.source.as_deref() == source
    }

    fn check(&self) -> Result<(), PriceError> {
        let prices = [
            Some(self.input),
            Some(self.output),
            self.cached_input,
            self.cache_write,
        ];
        let bad = prices
            .into_iter()
            .flatten()
            .find(|price| !price.is_finite() || *price < 0.0);
        match bad {
            None => Ok(()),
            Some(price) => Err(PriceError(format!(
                "the price of {:?} is {price}; a price is a number of dollars per million tokens, 0 or more",
                self.model
            ))),
        }
    }
}

/// Why prices cannot be used. Its text is written for users.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PriceError(String);

/// The file's layout.
#[derive(Deserialize)]
struct PriceFile {
    format: u32,
    as_of: String,
    prices: Vec<PriceRow>,
}

impl PriceTable {
    /// Version of the file.
    pub const FORMAT: u32 = 1;

    /// The list prices that are shipped with Probity. They age: see [`PriceTable::as_of`].
    #[must_use]
    pub fn shipped() -> Self {
        Self::parse(SHIPPED).unwrap_or_default()
    }

    /// Reads a table from JSON: `{"format": 1, "as_of": "2026-07-01", "prices": [{"model", "input", "output"}]}`.
    ///
    /// # Errors
    /// When the text is not a price table, or a price is negative.
    pub fn parse(text: &str) -> Result<Self, PriceError> {
        let file: PriceFile = serde_json::from_str(text)
            .map_err(|error| PriceError(format!("the price table cannot be read: {error}")))?;
        if file.format != Self::FORMAT {
            return Err(PriceError(format!(
                "the price table has format {}; supported: format {}",
                file.format,
                Self::FORMAT
            )));
        }
        file.prices.iter().try_for_each(PriceRow::check)?;
        Ok(Self {
            as_of: file.as_of,
            overrides: Vec::new(),
            rows: file.prices,
        })
    }

    /// Adds prices that override all others, including earlier overrides.
    ///
    /// # Errors
    /// When a price is negative or not a number.
    pub fn with_overrides(
        mut self,
        rows: impl IntoIterator<Item = PriceRow>,
    ) -> Result<Self, PriceError> {
        let mut overrides: Vec<PriceRow> = rows.into_iter().collect();
        overrides.iter().try_for_each(PriceRow::check)?;
        overrides.append(&mut self.overrides);
        self.overrides = overrides;
        Ok(self)
    }

    /// The date of the list prices, `YYYY-MM-DD`; empty when there are none.
    #[must_use]
    pub fn as_of(&self) -> &str {
        &self.as_of
    }

    /// The price of `model` (its name on the wire) at the provider `source`; `None` when it is unknown.
    ///
    /// Pass no source for an endpoint that is not the provider's own: a model of the same name may have another price
    /// there, so only rows for every provider count.
    #[must_use]
    pub fn price(&self, source: Option<&str>, model: &str) -> Option<Price> {
        find(&self.overrides, source, model).or_else(|| find(&self.rows, source, model))
    }
}

fn find(rows: &[PriceRow], source: Option<&str>, model: &str) -> Option<Price> {
    by_name(rows, source, model)
        .or_else(|| {
            let (vendor, name) = resold(source?, model)?;
            by_name(rows, Some(vendor), &name)
        })
        .or_else(|| by_beginning(rows, source, model))
        .map(PriceRow::price)
}

/// The row with this name, with the name without its date, or with the name without Gemini's `models/`.
fn by_name<'a>(rows: &'a [PriceRow], source: Option<&str>, model: &str) -> Option<&'a PriceRow> {
    let exact = |name: &str| {
        rows.iter()
            .find(|row| row.model == name && row.is_of(source))
    };
    let model = model.strip_prefix("models/").unwrap_or(model);
    exact(model).or_else(|| exact(undated(model)?))
}

/// The row with the longest matching prefix, among those that end in `*`.
fn by_beginning<'a>(
    rows: &'a [PriceRow],
    source: Option<&str>,
    model: &str,
) -> Option<&'a PriceRow> {
    rows.iter()
        .filter(|row| row.is_of(source))
        .filter_map(|row| Some((row.model.strip_suffix('*')?, row)))
        .filter(|(beginning, _)| model.starts_with(beginning))
        .max_by_key(|(beginning, _)| beginning.len())
        .map(|(_, row)| row)
}

/// The name without a trailing snapshot date (`-2024-08-06`, `-20241022`) or `-latest`.
fn undated(model: &str) -> Option<&str> {
    if let Some(name) = model.strip_suffix("-latest") {
        return Some(name);
    }
    let is_date = |tail: &str, dashes: &[usize]| {
        tail.bytes().enumerate().all(|(at, byte)| {
            if dashes.contains(&at) {
                byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        })
    };
    let without = |length: usize, dashes: &[usize]| {
        let (name, tail) = model.split_at_checked(model.len().checked_sub(length)?)?;
        (!name.is_empty() && is_date(tail, dashes)).then_some(name)
    };
    without(11, &[0, 5, 8]).or_else(|| without(9, &[0]))
}

/// A model that OpenRouter resells at its vendor's list price: the vendor's source and its name for the model.
fn resold(source: &str, model: &str) -> Option<(&'static str, String)> {
    if source != "openrouter" {
        return None;
    }
    let (vendor, name) = model.split_once('/')?;
    match vendor {
        "openai" => Some(("openai", name.to_owned())),
        // OpenRouter writes claude-sonnet-4.5 for claude-sonnet-4-5.
        "anthropic" => Some(("anthropic", name.replace('.', "-"))),
        "google" => Some(("gemini", name.to_owned())),
        "x-ai" => Some(("xai", name.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(table: &PriceTable, source: &str, model: &str) -> Option<f64> {
        table.price(Some(source), model).map(|price| price.input)
    }

    #[test]
    fn the_shipped_table_is_whole_and_names_each_model_once() {
        let table = PriceTable::parse(SHIPPED).unwrap();
        assert!(table.rows.len() > 100);
        assert_eq!(table.as_of().len(), 10);
        let mut names: Vec<_> = table
            .rows
            .iter()
            .map(|row| (&row.source, &row.model))
            .collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all, "a duplicate model");
        for row in &table.rows {
            assert!(row.output >= row.input, "{row:?} looks swapped");
            assert!(
                row.cached_input.unwrap_or(0.0) <= row.input,
                "{row:?} is dearer cached"
            );
            assert!(
                row.price().written() >= row.input,
                "{row:?} is cheaper written"
            );
        }
    }

    #[test]
    fn exact_names_come_first_then_undated_ones() {
        let table = PriceTable::shipped();
        assert_eq!(input(&table, "openai", "gpt-4o"), Some(2.5));
        assert_eq!(input(&table, "openai", "gpt-4o-2024-08-06"), Some(2.5));
        assert_eq!(input(&table, "openai", "gpt-4o-2024-05-13"), Some(5.0));
        assert_eq!(
            input(&table, "openai", "gpt-4o-mini-2024-07-18"),
            Some(0.15)
        );
        assert_eq!(
            input(&table, "anthropic", "claude-3-5-haiku-20241022"),
            Some(0.8)
        );
        assert_eq!(
            input(&table, "anthropic", "claude-3-5-haiku-latest"),
            Some(0.8)
        );
        assert_eq!(
            input(&table, "gemini", "models/gemini-2.5-flash"),
            Some(0.3)
        );
    }

    #[test]
    fn nothing_is_guessed() {
        let table = PriceTable::shipped();
        for (source, model) in [
            ("openai", "gpt-4o-audio-preview"),
            ("openai", "gpt"),
            ("openai", "gpt-4o-2024-08-0x"),
            ("openai", "GPT-4o"),
            ("openai", "-2024-08-06"),
            ("openai", "-latest"),
            ("openai", ""),
            ("openai", "é-20é40806"),
            ("vllm", "gpt-4o"),
            ("openrouter", "openai/gpt-4o:free"),
            ("openrouter", "someone/gpt-4o"),
        ] {
            assert_eq!(input(&table, source, model), None, "{source} {model}");
        }
        assert_eq!(table.price(None, "gpt-4o"), None);
    }

    #[test]
    fn openrouter_resells_at_the_vendors_price() {
        let table = PriceTable::shipped();
        assert_eq!(input(&table, "openrouter", "openai/gpt-4o"), Some(2.5));
        assert_eq!(
            input(&table, "openrouter", "anthropic/claude-sonnet-4.5"),
            Some(3.0)
        );
    }

    #[test]
    fn the_users_prices_win() {
        let table = PriceTable::shipped()
            .with_overrides([PriceRow::new("gpt-4o", 9.0, 9.0)])
            .unwrap();
        assert_eq!(input(&table, "openai", "gpt-4o"), Some(9.0));
        assert_eq!(input(&table, "openai", "gpt-4o-2024-05-13"), Some(9.0));
        let local = PriceRow {
            source: Some("ollama".to_owned()),
            ..PriceRow::new("*", 0.0, 0.0)
        };
        let table = table.with_overrides([local]).unwrap();
        assert_eq!(input(&table, "ollama", "llama3:8b"), Some(0.0));
        assert_eq!(input(&table, "openai", "llama3:8b"), None);
        assert_eq!(input(&table, "openai", "gpt-4o"), Some(9.0));
    }

    #[test]
    fn scripted_models_are_free_everywhere() {
        let table = PriceTable::shipped();
        assert_eq!(
            table
                .price(None, "scripted-judge")
                .map(|price| price.output),
            Some(0.0)
        );
    }

    #[test]
    fn a_bad_price_is_refused_by_name() {
        for price in [-1.0, f64::NAN, f64::INFINITY] {
            let error = PriceTable::shipped()
                .with_overrides([PriceRow::new("mine", price, 1.0)])
                .unwrap_err();
            assert!(error.to_string().contains("\"mine\""), "{error}");
        }
        PriceTable::parse("{}").unwrap_err();
        PriceTable::parse(r#"{"format": 2, "as_of": "", "prices": []}"#).unwrap_err();
    }
}
