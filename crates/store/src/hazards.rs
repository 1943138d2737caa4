//! The hazards of `benchmark.yaml`, checked against its metrics.

use std::collections::{HashMap, HashSet};

use schema::{Benchmark, Hazard, nearest};

use super::broken_rule::BrokenRule;

/// Checks that every metric is in exactly one hazard, and that the benchmark's own names can be used. The error says where.
pub(super) fn check_hazards(benchmark: &Benchmark) -> Result<(), BrokenRule> {
    for (key, text) in [
        ("uid", &benchmark.uid),
        ("version", &benchmark.version),
        ("locale", &benchmark.locale),
    ] {
        // Together they name files.
        let text = text.as_deref().unwrap_or_default();
        if text.contains(['/', '\\']) || text.chars().any(char::is_control) {
            let reason = format!("{text:?} holds a slash or a control character");
            return Err(BrokenRule::new(key, reason));
        }
    }
    let mut ids = HashSet::new();
    let mut owners: HashMap<&str, &str> = HashMap::new();
    for (index, hazard) in benchmark.hazards.iter().enumerate() {
        let place = format!("hazards[{index}]");
        check_id(&place, hazard)?;
        if !ids.insert(hazard.id.as_str()) {
            let reason = format!("duplicate id {:?}. Each hazard needs its own id", hazard.id);
            return Err(BrokenRule::new(place, reason));
        }
        check_metrics(&place, hazard, benchmark, &mut owners)?;
    }
    let alone = benchmark
        .metrics
        .iter()
        .find(|metric| !owners.contains_key(metric.id.as_str()));
    match alone {
        Some(metric) if !benchmark.hazards.is_empty() => {
            let reason = format!(
                "the metric {:?} is in no hazard. Add it to one, or leave `hazards` out: then each metric is a hazard",
                metric.id
            );
            Err(BrokenRule::new("hazards", reason))
        }
        _ => Ok(()),
    }
}

fn check_id(place: &str, hazard: &Hazard) -> Result<(), BrokenRule> {
    if hazard.id.trim().is_empty() {
        return Err(BrokenRule::new(place, "the id is empty"));
    }
    if hazard.id.chars().any(char::is_control) {
        let reason = format!("the id {:?} holds a control character", hazard.id);
        return Err(BrokenRule::new(place, reason));
    }
    if hazard.metrics.is_empty() {
        let reason = "`metrics` is empty. Add the metrics of the hazard";
        return Err(BrokenRule::new(place, reason).of(&hazard.id).at("metrics"));
    }
    Ok(())
}

fn check_metrics<'b>(
    place: &str,
    hazard: &'b Hazard,
    benchmark: &'b Benchmark,
    owners: &mut HashMap<&'b str, &'b str>,
) -> Result<(), BrokenRule> {
    for (index, id) in hazard.metrics.iter().enumerate() {
        let broken = |reason: String| {
            BrokenRule::new(format!("{place}.metrics[{index}]"), reason).of(&hazard.id)
        };
        if benchmark.metric(id).is_none() {
            return Err(broken(format!(
                "unknown metric {id:?}{}",
                meant(id, benchmark)
            )));
        }
        match owners.insert(id, &hazard.id) {
            None => {}
            Some(owner) if owner == hazard.id => {
                return Err(broken(format!("duplicate metric {id:?}")));
            }
            Some(owner) => {
                return Err(broken(format!(
                    "the metric {id:?} is in the hazard {owner:?} already, and its samples would count twice"
                )));
            }
        }
    }
    Ok(())
}

/// The metric that may have been meant by `id`, or all of them.
fn meant(id: &str, benchmark: &Benchmark) -> String {
    if benchmark.metrics.is_empty() {
        return ". There are no metrics yet: leave `hazards` out until they are written".to_owned();
    }
    let ids = benchmark.metrics.iter().map(|metric| metric.id.as_str());
    // By name, too: people remember names better than numbers.
    let mut metrics = benchmark.metrics.iter();
    let by_name = metrics
        .find(|metric| metric.name.eq_ignore_ascii_case(id))
        .map(|metric| metric.id.as_str());
    // Ids differ in digits only: of several near ones none is more likely than another.
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
        check_hazards(&benchmark).map_err(|broken| broken.to_string())
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
    fn what_does_not_fit_is_told_with_its_place() {
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
