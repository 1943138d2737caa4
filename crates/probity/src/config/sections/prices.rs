//! The list `prices`.

use llm_client::{PriceRow, PriceTable, wire_name};
use schema::nearest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::ModelEntry;
use crate::config::{error::KeyPlace, read::Problems, values::Real, vars::Vars};

/// The price of a model, in dollars per million tokens.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PriceEntry {
    /// The position of the table.
    #[serde(rename = "$place", skip_serializing)]
    #[schemars(skip)]
    place: KeyPlace,
    /// The model's name in requests.
    pub model: String,
    /// Applies only to models of this source.
    pub source: Option<String>,
    /// For tokens sent.
    pub input: Real<0>,
    /// For tokens received.
    pub output: Real<0>,
    /// For tokens read from the endpoint's cache.
    pub cached_input: Option<Real<0>>,
    /// For tokens written to the endpoint's cache. Default: 1.25 times `input`.
    pub cache_write: Option<Real<0>>,
}

impl PriceEntry {
    /// Its row in a table of prices.
    pub fn row(&self) -> PriceRow {
        let source = self.source.as_ref();
        PriceRow {
            source: source.map(|source| source.to_ascii_lowercase()),
            model: self.model.clone(),
            input: self.input.0,
            output: self.output.0,
            cached_input: self.cached_input.map(|dollars| dollars.0),
            cache_write: self.cache_write.map(|dollars| dollars.0),
        }
    }
}

/// Warns of prices that apply to none of `models`: a misspelt name would leave a model without its price.
pub(super) fn check(
    prices: &[PriceEntry],
    models: &[&ModelEntry],
    vars: &Vars,
    problems: &mut Problems,
) {
    // A name with a missing variable is reported when the model is used. Until then it may be any.
    let names = models.iter().map(|model| {
        let name = model.model.resolve(vars).ok()?;
        let source = model.source.as_deref();
        let wire = source.map_or(name.as_str(), |source| wire_name(source, &name));
        Some((model.priced_source(), wire.to_owned()))
    });
    let Some(names) = names.collect::<Option<Vec<_>>>() else {
        return;
    };
    for price in prices {
        let Ok(table) = PriceTable::default().with_overrides([price.row()]) else {
            continue;
        };
        let is_its = |(source, name): &(Option<&str>, String)| table.price(*source, name).is_some();
        if !names.iter().any(is_its) {
            problems.warn(&price.place, unused(price, &names));
        }
    }
}

/// Why no model has this price.
fn unused(price: &PriceEntry, names: &[(Option<&str>, String)]) -> String {
    let model = &price.model;
    let unused = "the price is not used";
    if let Some(source) = &price.source
        && names.iter().any(|(_, name)| name == model)
    {
        return format!(
            "`{model}` is not called at {source} itself; {unused}. Leave `source` out to price the model wherever it is called"
        );
    }
    match nearest(model, names.iter().map(|(_, name)| name.as_str())) {
        Some(meant) => format!("no model is called `{model}`; did you mean `{meant}`? {unused}"),
        None => format!("no model is called `{model}` in requests; {unused}"),
    }
}
