//! Models with an unknown cost, and advice about them.

use std::collections::BTreeSet;

use llm_client::{Meter, ModelSettings, Price};
use schema::{ASSUMED_FREE, ModelId};

use super::plan::NOWHERE;
use crate::config::{Config, ModelEntry};

/// One line for all models without a known price, and one for those whose endpoint returned no token counts.
pub fn models(meter: &Meter) -> Vec<String> {
    lines(&meter.unpriced(), &meter.without_usage())
}

/// What a plan cannot know of the cost of its models' calls.
#[derive(Default)]
pub struct UnknownCosts {
    /// The models whose calls are assumed to be free.
    pub assumed_free: BTreeSet<ModelId>,
    /// The models that cost something and whose replies no `max_tokens` bounds.
    pub unbounded: BTreeSet<ModelId>,
}

impl UnknownCosts {
    /// Those of `models`. Models that cannot be resolved are left out: they are reported elsewhere.
    pub fn of<'m>(config: &Config, models: impl IntoIterator<Item = &'m ModelEntry>) -> Self {
        let Ok(endpoints) = config.endpoints(Some(NOWHERE.to_owned())) else {
            return Self::default();
        };
        let mut unknown = Self::default();
        for entry in models {
            let Ok(settings) = endpoints.without_key(entry) else {
                continue;
            };
            if settings.assumed_free {
                unknown.assumed_free.insert(entry.id.clone());
            } else if is_unbounded(&settings) {
                unknown.unbounded.insert(entry.id.clone());
            }
        }
        unknown
    }

    /// A note on each kind that there is.
    pub fn notes(&self) -> Vec<String> {
        let free = names(&self.assumed_free).map(|names| format!("{names} {ASSUMED_FREE}"));
        let unbounded = names(&self.unbounded).map(|names| {
            format!(
                "no `max_tokens` bounds the replies of {names}; where they are longer than the plan assumes, the run costs more"
            )
        });
        free.into_iter().chain(unbounded).collect()
    }
}

/// Applications and programs have no such setting.
fn is_unbounded(settings: &ModelSettings) -> bool {
    let is_free = |price: &Price| price.output == 0.0;
    settings.wire.is_none()
        && settings.max_tokens.is_none()
        && !settings.price.as_ref().is_some_and(is_free)
}

fn names<'m>(models: impl IntoIterator<Item = &'m ModelId>) -> Option<String> {
    let names: Vec<&str> = models.into_iter().map(ModelId::as_str).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn lines(unpriced: &BTreeSet<ModelId>, without_usage: &BTreeSet<ModelId>) -> Vec<String> {
    let priceless = names(unpriced.difference(without_usage)).map(|names| {
        format!(
            "no price for {names}, so the cost is unknown; add one under `prices` in the config (0 for a free model)"
        )
    });
    let uncounted = names(unpriced.intersection(without_usage)).map(|names| {
        format!("the cost of {names} is unknown: the endpoint returns no token counts")
    });
    priceless.into_iter().chain(uncounted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_models_without_a_price_are_named_in_one_line() {
        let set = |ids: &[&str]| ids.iter().map(|id| ModelId::new(*id).unwrap()).collect();
        let found = lines(&set(&["a", "b", "c"]), &set(&["c"]));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("no price for a, b, so"));
        assert!(found[1].starts_with("the cost of c is unknown: the endpoint"));
        assert_eq!(lines(&set(&[]), &set(&[])), Vec::<String>::new());
    }
}
