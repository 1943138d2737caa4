//! From the rows of `scores.json` and `scenarios.json` to statistics.

#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use std::fmt::Write as _;

use aggregator::{
    aggregate_reader_and,
    statistics::{Cluster, ScenarioIndex, TargetRows, clustered_rate, compare},
};
use schema::{Hazard, ModelId, statistics::Comparison};
use serde_json::json;

/// One row as `scores.json` has it.
fn row(id: &str, metric: &str, kind: &str, passed: Option<bool>, error: Option<&str>) -> String {
    json!({
        "id": id, "metric_id": metric, "metric_type": kind, "passed": passed, "error": error,
        "conv_id": format!("c_{id}"),
    })
    .to_string()
}

fn read(target: &str, rows: &[String], incomplete: &[&str]) -> TargetRows {
    let target = ModelId::new(target).unwrap();
    let mut counted = TargetRows::new(target.clone());
    let scores = format!("[{}]", rows.join(",\n"));
    aggregate_reader_and(target, &[], scores.as_bytes(), |row| {
        counted.push_row(row, incomplete.contains(&row.conv_id.as_ref()));
    })
    .unwrap();
    counted
}

#[test]
fn variants_and_samples_of_a_scenario_are_one_cluster() {
    let mut rows = Vec::new();
    for scenario in 1..=4 {
        for variant in 1..=3 {
            for _sample in 0..4 {
                let id = format!("m01_s{scenario:03}_v{variant:02}");
                rows.push(row(&id, "m01", "positive", Some(true), None));
            }
        }
    }
    let found = read("t", &rows, &[]).statistics(&ScenarioIndex::default(), &[]);
    let all = &found.rates.all;
    assert_eq!((all.passed, all.rows, all.scenarios), (48, 48, 4));
    let expected = clustered_rate(&[Cluster::of_verdicts(12, 12); 4]).unwrap();
    assert_eq!(all.lower, Some(expected.lower));
    assert_eq!(all.effective_rows, Some(4.0));
    assert_eq!(found.rates.metrics["m01"], *all);
    // Without negative rows there is no rate: null and not 0.
    assert_eq!(found.rates.negative.estimate, None);
    assert_eq!(found.rates.negative.bounds, None);
    // Four samples of each scenario: all four pass.
    let reliability = &found.reliability[0];
    assert_eq!((reliability.scope.as_str(), reliability.k), ("all", 4));
    assert_eq!((reliability.units, reliability.estimate), (12, Some(1.0)));
}

#[test]
fn rows_without_a_verdict_are_counted_by_reason_and_widen_the_bounds() {
    let rows = [
        row("a", "m", "negative", Some(true), None),
        row("b", "m", "negative", Some(true), None),
        row("c", "m", "negative", Some(false), None),
        row("d", "m", "negative", None, Some("429")),
        row("e", "m", "negative", None, None),
    ];
    // The reply in b was cut off: it passed because it said nothing. c failed all the same.
    let found = read("t", &rows, &["c_b", "c_c"]).statistics(&ScenarioIndex::default(), &[]);
    let rate = &found.rates.negative;
    assert_eq!((rate.passed, rate.rows), (2, 3));
    let missing = rate.missing;
    assert_eq!(
        (missing.failed, missing.abstained, missing.incomplete),
        (1, 1, 1)
    );
    let bounds = rate.bounds.unwrap();
    assert_eq!((bounds.lowest, bounds.highest), (0.2, 0.8));
    assert!(bounds.lower < rate.lower.unwrap() && rate.upper.unwrap() <= bounds.upper);
    assert!(rate.note.as_ref().unwrap().contains("quote the bounds"));
}

#[test]
fn base_scenarios_come_from_the_file_where_it_says_them() {
    let scenarios = json!([
        {"id": "x", "metric_id": "m", "base_scenario_id": "one"},
        {"id": "y", "metric_id": "m", "base_scenario_id": "one", "landmarks": []},
        {"id": "a_v", "metric_id": "m", "base_scenario_id": "  "},
        {"id": "_v1", "metric_id": "m"},
    ])
    .to_string();
    let index = ScenarioIndex::read(scenarios.as_bytes()).unwrap();
    for (id, base) in [
        ("x", "one"),
        ("y", "one"),
        ("a_v", "a_v"),
        ("_v1", "_v1"),
        ("z_v2", "z"),
    ] {
        assert_eq!(index.base(id), base, "{id}");
    }
    let rows = ["x", "y", "a_v", "_v1"].map(|id| row(id, "m", "positive", Some(true), None));
    let found = read("t", &rows, &[]).statistics(&index, &[]);
    assert_eq!(found.rates.all.scenarios, 3);
    assert!(ScenarioIndex::read(&b"{}"[..]).is_err());
}

#[test]
fn hazards_pool_their_metrics() {
    let rows = [
        row("a", "m1", "positive", Some(true), None),
        row("b", "m2", "negative", Some(false), None),
        row("c", "m3", "negative", Some(false), None),
    ];
    let hazard: Hazard =
        serde_json::from_value(json!({"id": "h", "metrics": ["m1", "m2"]})).unwrap();
    let found = read("t", &rows, &[]).statistics(&ScenarioIndex::default(), &[hazard]);
    assert_eq!(found.rates.hazards["h"].estimate, Some(0.5));
    assert_eq!(found.rates.hazards["h"].scenarios, 2);
}

/// Ten scenarios in two variants each; one value passes `passing` of them, the other all.
fn aged(passing: usize) -> (String, Vec<String>) {
    let mut scenarios = Vec::new();
    let mut rows = Vec::new();
    for scenario in 0..10 {
        for (variant, age) in ["young", "old"].into_iter().enumerate() {
            let id = format!("m_s{scenario}_v{variant}");
            scenarios.push(json!({"id": id, "metric_id": "m", "demographic": {"age": age}}));
            let passed = age == "old" || scenario < passing;
            rows.push(row(&id, "m", "positive", Some(passed), None));
        }
    }
    (json!(scenarios).to_string(), rows)
}

#[test]
fn variants_are_compared_within_their_scenarios() {
    let (scenarios, rows) = aged(2);
    let index = ScenarioIndex::read(scenarios.as_bytes()).unwrap();
    let found = read("t", &rows, &[]).statistics(&index, &[]);
    let [variant] = found.variants.as_slice() else {
        panic!("{:?}", found.variants);
    };
    assert_eq!(
        (variant.metric.as_str(), variant.axis.as_str()),
        ("m", "age")
    );
    let [effect] = variant.effects.as_slice() else {
        panic!("{:?}", variant.effects);
    };
    // Eight of ten scenarios differ, all in one direction: 2 * (1/2)^8.
    assert_eq!(effect.value, "old");
    assert_eq!(
        (effect.difference.rate_a, effect.difference.rate_b),
        (1.0, 0.2)
    );
    assert_eq!(effect.difference.p_value, 0.0078125);
    assert_eq!(effect.difference.says, "differ");
    assert_eq!(variant.differ_between_variants, Some(0.8));
    let (scenarios, rows) = aged(10);
    let index = ScenarioIndex::read(scenarios.as_bytes()).unwrap();
    let found = read("t", &rows, &[]).statistics(&index, &[]);
    assert!(
        found.variants[0].effects[0]
            .difference
            .says
            .starts_with("no difference shown")
    );
}

fn target(id: &str, metrics: &[(&str, usize)], scenarios: usize) -> TargetRows {
    let mut rows = Vec::new();
    for (metric, passing) in metrics {
        for scenario in 0..scenarios {
            let mut name = String::new();
            write!(name, "{metric}_s{scenario:02}").unwrap();
            rows.push(row(
                &name,
                metric,
                "positive",
                Some(scenario < *passing),
                None,
            ));
        }
    }
    read(id, &rows, &[])
}

fn scope<'a>(found: &'a [Comparison], scope: &str) -> &'a Comparison {
    found
        .iter()
        .find(|comparison| comparison.scope == scope)
        .unwrap()
}

#[test]
fn targets_are_compared_scenario_by_scenario_with_holms_correction() {
    let a = target("a", &[("m1", 10), ("m2", 10), ("only_a", 3)], 10);
    let b = target("b", &[("m1", 1), ("m2", 6)], 10);
    let found = compare(&a, &b, &ScenarioIndex::default());
    assert_eq!(
        found.iter().map(|c| c.scope.as_str()).collect::<Vec<_>>(),
        ["all", "m1", "m2"]
    );
    let m1 = &scope(&found, "m1").difference;
    assert_eq!(m1.p_value, 2.0_f64.powi(-8));
    assert_eq!(m1.p_holm, 2.0_f64.powi(-7));
    assert_eq!(m1.says, "differ");
    // Four scenarios of ten differ: too few to tell from chance, however clear the direction.
    let m2 = &scope(&found, "m2").difference;
    assert_eq!((m2.p_value, m2.p_holm), (0.125, 0.125));
    assert!(
        m2.says
            .starts_with("no difference shown; 10 scenarios could have shown one of 0."),
        "{}",
        m2.says
    );
    assert_eq!(scope(&found, "all").difference.unmatched, 10);
    let reversed = compare(&b, &a, &ScenarioIndex::default());
    assert_eq!(scope(&reversed, "m1").difference.lower, -m1.upper);
}

#[test]
fn five_scenarios_cannot_show_any_difference() {
    let found = compare(
        &target("a", &[("m", 5)], 5),
        &target("b", &[("m", 0)], 5),
        &ScenarioIndex::default(),
    );
    let difference = &scope(&found, "m").difference;
    assert_eq!(difference.difference, 1.0);
    assert_eq!(
        difference.says,
        "no difference shown; 5 scenarios could not have shown any"
    );
    let nothing = compare(
        &target("a", &[("m", 5)], 5),
        &target("b", &[("other", 0)], 5),
        &ScenarioIndex::default(),
    );
    assert_eq!(nothing, []);
}
