//! The hazards of `benchmark.yaml`, checked against its metrics.

use std::collections::{HashMap, HashSet};

use schema::{Benchmark, Hazard, Metric, nearest};

use super::broken_rule::BrokenRule;

/// The rules that hazards break. With the benchmark's `metrics`, each metric must be in exactly one hazard; a separate list of hazards
/// is checked without them.
#[must_use]
pub fn check_hazards(hazards: &[Hazard], metrics: Option<&[Metric]>) -> Vec<BrokenRule> {
    let mut broken = Vec::new();
    let mut ids = HashSet::new();
    let mut owners: HashMap<&str, &str> = HashMap::new();
    for (index, hazard) in hazards.iter().enumerate() {
        let entry = format!("hazards[{index}]");
        check_id(&entry, hazard, &mut broken);
        if !ids.insert(hazard.id.as_str()) {
            let reason = format!("duplicate id {:?}. Each hazard needs its own id", hazard.id);
            broken.push(BrokenRule::new(&entry, reason).at("id"));
        }
        check_metrics(&entry, hazard, metrics, &mut owners, &mut broken);
    }
    if hazards.is_empty() {
        return broken;
    }
    let known = metrics.unwrap_or_default().iter();
    for metric in known.filter(|metric| !owners.contains_key(metric.id.as_str())) {
        let reason = format!(
            "the metric {:?} is in no hazard. Add it to one, or leave `hazards` out: then each metric is a hazard",
            metric.id
        );
        broken.push(BrokenRule::new("hazards", reason));
    }
    broken
}

/// The rules that the benchmark's own names break. File names are built from these names.
pub(super) fn check_names(benchmark: &Benchmark) -> Vec<BrokenRule> {
    let names = [
        ("uid", &benchmark.uid),
        ("version", &benchmark.version),
        ("locale", &benchmark.locale),
    ];
    let mut broken = Vec::new();
    for (key, text) in names {
        let text = text.as_deref().unwrap_or_default();
        if text.contains(['/', '\\']) || text.chars().any(char::is_control) {
            let reason = format!("{text:?} holds a slash or a control character");
            broken.push(BrokenRule::new(key, reason));
        }
    }
    broken
}

fn check_id(entry: &str, hazard: &Hazard, broken: &mut Vec<BrokenRule>) {
    if hazard.id.trim().is_empty() {
        broken.push(BrokenRule::new(entry, "the id is empty").at("id"));
    } else if hazard.id.chars().any(char::is_control) {
        let reason = format!("the id {:?} holds a control character", hazard.id);
        broken.push(BrokenRule::new(entry, reason).at("id"));
    }
    if hazard.metrics.is_empty() {
        let reason = "`metrics` is empty. Add the metrics of the hazard";
        let rule = BrokenRule::new(entry, reason);
        broken.push(rule.of(&hazard.id).at("metrics"));
    }
}

fn check_metrics<'b>(
    entry: &str,
    hazard: &'b Hazard,
    metrics: Option<&[Metric]>,
    owners: &mut HashMap<&'b str, &'b str>,
    broken: &mut Vec<BrokenRule>,
) {
    for (index, id) in hazard.metrics.iter().enumerate() {
        let mut add = |reason: String| {
            let entry = format!("{entry}.metrics[{index}]");
            broken.push(BrokenRule::new(entry, reason).of(&hazard.id));
        };
        if let Some(metrics) = metrics
            && !metrics.iter().any(|metric| metric.id == *id)
        {
            add(format!("unknown metric {id:?}{}", meant(id, metrics)));
            continue;
        }
        match owners.insert(id, &hazard.id) {
            None => {}
            Some(owner) if owner == hazard.id => add(format!("duplicate metric {id:?}")),
            Some(owner) => add(format!(
                "the metric {id:?} is in the hazard {owner:?} already, and its samples would count twice"
            )),
        }
    }
}

/// The metric that `id` was probably meant to be, or all of them.
fn meant(id: &str, metrics: &[Metric]) -> String {
    if metrics.is_empty() {
        return ". There are no metrics yet: leave `hazards` out until they are written".to_owned();
    }
    let ids = metrics.iter().map(|metric| metric.id.as_str());
    // Also by name: people remember names better than numbers.
    let by_name = metrics
        .iter()
        .find(|metric| metric.name.eq_ignore_ascii_case(id))
        .map(|metric| metric.id.as_str());
    // Ids differ only in digits: if several are near, none is more likely than another.
    let is_only_one =
        |near: &&str| nearest(id, ids.clone().filter(|known| known != near)).is_none();
    let by_id = nearest(id, ids.clone()).filter(is_only_one);
    match by_name.or(by_id) {
        Some(known) => format!(". Did you mean {known:?}?"),
        None => format!(". The metrics are {}", ids.collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(yaml: &str) -> Result<(), String> {
        let metrics = "metrics:
- {id: m01, name: Avoid flattery, type: negative, definition: x}
- {id: m02, name: Correct claims, type: positive, definition: y}
";
        let benchmark: Benchmark = serde_saphyr::from_str(&format!("{metrics}{yaml}")).unwrap();
        let names = check_names(&benchmark);
        let hazards = check_hazards(&benchmark.hazards, Some(&benchmark.metrics));
        match names.into_iter().chain(hazards).next() {
            None => Ok(()),
            Some(broken) => Err(broken.to_string()),
        }
    }

    #[test]
    fn hazards_that_cover_all_metrics_are_fine() {
        for yaml in [
            "",
            "hazards:",
            "hazards: []",
            "hazards: [{id: h, metrics: [m01, m02]}]",
            "hazards: [{id: a, name: A, metrics: [m02], weight: 1}, {id: b, metrics: [m01]}]",
        ] {
            assert_eq!(checked(yaml), Ok(()), "{yaml}");
        }
    }

    #[test]
    fn what_does_not_fit_is_reported_with_its_place() {
        for (yaml, expected) in [
            (
                "hazards: [{id: h, metrics: [m01, m03]}]",
                "hazards[0].metrics[1] (h): unknown metric \"m03\". The metrics are m01, m02",
            ),
            (
                "hazards: [{id: h, metrics: [M-01]}]",
                "Did you mean \"m01\"?",
            ),
            (
                "hazards: [{id: h, metrics: [avoid Flattery]}]",
                "Did you mean \"m01\"?",
            ),
            (
                "hazards: [{id: h, metrics: [zzz]}]",
                "The metrics are m01, m02",
            ),
            (
                "hazards: [{id: h, metrics: [m01]}, {id: h, metrics: [m02]}]",
                "hazards[1]: duplicate id \"h\"",
            ),
            ("hazards: [{id: h, metrics: []}]", "`metrics` is empty"),
            ("hazards: [{id: ' ', metrics: [m01]}]", "the id is empty"),
            (
                "hazards: [{id: h, metrics: [m01]}]",
                "the metric \"m02\" is in no hazard",
            ),
            (
                "hazards: [{id: a, metrics: [m01, m02]}, {id: b, metrics: [m02]}]",
                "in the hazard \"a\" already",
            ),
            (
                "hazards: [{id: a, metrics: [m01, m01]}]",
                "duplicate metric \"m01\"",
            ),
            ("version: a/b", "version: \"a/b\" holds a slash"),
        ] {
            let error = checked(yaml).unwrap_err();
            assert!(error.contains(expected), "{yaml}: {error}");
        }
    }

    #[test]
    fn a_version_that_looks_like_a_number_is_kept_as_written() {
        let benchmark: Benchmark = serde_saphyr::from_str("version: 1.10\nuid: 7").unwrap();
        assert_eq!(benchmark.version.as_deref(), Some("1.10"));
        assert_eq!(benchmark.uid.as_deref(), Some("7"));
    }
}
