//! Models with an unknown cost, and advice about them.

use std::collections::BTreeSet;

use llm_client::Meter;
use schema::{ASSUMED_FREE, ModelId};

use super::plan::NOWHERE;
use crate::config::{Config, ModelEntry};

/// One line for all models without a known price, and one for those whose endpoint returned no token counts.
pub fn models(meter: &Meter) -> Vec<String> {
    lines(&meter.unpriced(), &meter.without_usage())
}

/// The ids of `models` whose calls are assumed to be free. Models that cannot be resolved are left out: they are reported elsewhere.
pub fn assumed_free<'m>(
    config: &Config,
    models: impl IntoIterator<Item = &'m ModelEntry>,
) -> BTreeSet<ModelId> {
    let Ok(endpoints) = config.endpoints(Some(NOWHERE.to_owned())) else {
        return BTreeSet::new();
    };
    let is_free = |entry: &&ModelEntry| {
        let settings = endpoints.without_key(entry);
        settings.is_ok_and(|settings| settings.assumed_free)
    };
    let free = models.into_iter().filter(is_free);
    free.map(|entry| entry.id.clone()).collect()
}

/// The note on models that are assumed to be free; `None` if there are none.
pub fn assumed_free_note(models: &BTreeSet<ModelId>) -> Option<String> {
    let names: Vec<&str> = models.iter().map(ModelId::as_str).collect();
    (!names.is_empty()).then(|| format!("{} {ASSUMED_FREE}", names.join(", ")))
}

fn lines(unpriced: &BTreeSet<ModelId>, without_usage: &BTreeSet<ModelId>) -> Vec<String> {
    let names = |models: Vec<&ModelId>| {
        let names: Vec<&str> = models.into_iter().map(ModelId::as_str).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let priceless = names(unpriced.difference(without_usage).collect()).map(|names| {
        format!(
            "no price for {names}, so the cost is unknown; add one under `prices` in the config (0 for a free model)"
        )
    });
    let uncounted = names(unpriced.intersection(without_usage).collect()).map(|names| {
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
