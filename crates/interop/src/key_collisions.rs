//! Renames keys of a row that collide with keys of a format.

use std::borrow::Cow;

use schema::{Conversation, Extra, Scenario, Score};

/// The metadata keys of an Inspect sample besides the scenario.
pub(crate) const INSPECT: [&str; 5] = ["conv_id", "sample", "target_id", "usage", "calls"];

/// The name of a scenario's key that collides with a key of the format.
pub(crate) fn of_scenario(key: &str) -> String {
    format!("scenario.{key}")
}

/// The conversation, with every key of its scenario that is in `own` renamed to `scenario.<key>`.
pub(crate) fn conversation<'a>(row: &'a Conversation, own: &[&str]) -> Cow<'a, Conversation> {
    let Some(extra) = renamed(&row.scenario.extra, own, of_scenario) else {
        return Cow::Borrowed(row);
    };
    let mut row = row.clone();
    row.scenario.extra = extra;
    Cow::Owned(row)
}

/// The scenario, with every key that is in `own` renamed to `scenario.<key>`.
pub(crate) fn scenario<'a>(row: &'a Scenario, own: &[&str]) -> Cow<'a, Scenario> {
    let Some(extra) = renamed(&row.extra, own, of_scenario) else {
        return Cow::Borrowed(row);
    };
    let mut row = row.clone();
    row.extra = extra;
    Cow::Owned(row)
}

/// The score, with every key that is in `own` renamed to `score.<key>`.
pub(crate) fn score<'a>(row: &'a Score, own: &[&str]) -> Cow<'a, Score> {
    let Some(extra) = renamed(&row.extra, own, |key| format!("score.{key}")) else {
        return Cow::Borrowed(row);
    };
    let mut row = row.clone();
    row.extra = extra;
    Cow::Owned(row)
}

/// `None` if no key is in `own`.
fn renamed(extra: &Extra, own: &[&str], name: impl Fn(&str) -> String) -> Option<Extra> {
    if !own.iter().any(|key| extra.contains_key(*key)) {
        return None;
    }
    let mut all = Extra::new();
    for (key, value) in extra {
        let mut key = key.clone();
        if own.contains(&key.as_str()) {
            key = name(&key);
            // Both names may be in use.
            while extra.contains_key(&key) {
                key = name(&key);
            }
        }
        all.insert(key, value.clone());
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_keys_that_are_taken_get_another_name() {
        let row = |value| serde_json::from_value::<Scenario>(value).unwrap();
        let one = row(json!({"id": "a", "metric_id": "m", "title": 1}));
        assert!(matches!(scenario(&one, &["calls"]), Cow::Borrowed(_)));
        let two = row(json!({"id": "a", "metric_id": "m", "calls": 1, "scenario.calls": 2}));
        let two = scenario(&two, &["calls"]).into_owned();
        assert_eq!(
            serde_json::to_value(two.extra).unwrap(),
            json!({"scenario.calls": 2, "scenario.scenario.calls": 1})
        );
    }
}
