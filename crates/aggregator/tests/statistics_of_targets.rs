//! From the rows of `scores.json` and `scenarios.json` to statistics.

#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use std::fmt::Write as _;

use aggregator::{
    aggregate_reader_and,
    statistics::{
        Cluster, RowVerdict, ScenarioIndex, TargetRows, clustered_rate, compare,
        corrected_comparisons,
    },
};
use schema::{Hazard, MetricType, ModelId, statistics::Comparison};
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
fn variants_are_compared_within_their_scenarios_pooled_first() {
    let (scenarios, rows) = aged(2);
    let index = ScenarioIndex::read(scenarios.as_bytes()).unwrap();
    let found = read("t", &rows, &[]).statistics(&index, &[]);
    let [pooled, variant] = found.variants.as_slice() else {
        panic!("{:?}", found.variants);
    };
    assert_eq!(
        (pooled.scope.as_str(), pooled.axis.as_str()),
        ("all", "age")
    );
    assert_eq!(pooled.differ_between_variants, None);
    assert_eq!(
        (variant.scope.as_str(), variant.axis.as_str()),
        ("m", "age")
    );
    let [effect] = variant.effects.as_slice() else {
        panic!("{:?}", variant.effects);
    };
    // Eight of ten scenarios differ, all in one direction: 2 * (1/2)^8.
    assert_eq!(effect.value, "old");
    let difference = &effect.difference;
    assert_eq!((difference.rate_a, difference.rate_b), (1.0, 0.2));
    assert_eq!(difference.p_value, Some(0.0078125));
    assert_eq!(difference.scenarios_that_differ, Some(8));
    assert_eq!((difference.family_size, difference.differs()), (1, true));
    assert_eq!(difference.says, "differ");
    assert_eq!(variant.differ_between_variants, Some(0.8));
    assert_eq!(pooled.effects[0].difference.p_value, difference.p_value);
    let (scenarios, rows) = aged(10);
    let index = ScenarioIndex::read(scenarios.as_bytes()).unwrap();
    let found = read("t", &rows, &[]).statistics(&index, &[]);
    let says = &found.variants[0].effects[0].difference.says;
    assert!(says.starts_with("no difference shown"), "{says}");
}

/// Six metrics of ten scenarios. One value fails one scenario more in each metric: too few in any one of them.
#[test]
fn an_effect_in_every_metric_is_seen_in_the_pooled_rows() {
    let mut scenarios = Vec::new();
    let mut rows = Vec::new();
    for metric in 0..6 {
        for scenario in 0..10 {
            for (variant, age) in ["young", "old"].into_iter().enumerate() {
                let id = format!("m{metric}_s{scenario}_v{variant}");
                scenarios.push(json!({"id": id, "demographic": {"age": age}}));
                let passed = age == "young" || scenario > 1;
                let metric = format!("m{metric}");
                rows.push(row(&id, &metric, "positive", Some(passed), None));
            }
        }
    }
    let index = ScenarioIndex::read(json!(scenarios).to_string().as_bytes()).unwrap();
    let found = read("t", &rows, &[]).statistics(&index, &[]);
    let says = found.variants.iter().map(|variant| {
        let difference = &variant.effects[0].difference;
        (
            variant.scope.as_str(),
            difference.differs(),
            difference.family_size,
        )
    });
    let says: Vec<_> = says.collect();
    assert_eq!(says[0], ("all", true, 1));
    assert_eq!(says.len(), 7);
    for (scope, differs, family_size) in &says[1..] {
        assert_eq!((*differs, *family_size), (false, 6), "{scope}");
    }
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

fn compared(a: &TargetRows, b: &TargetRows) -> Vec<Comparison> {
    corrected_comparisons(&[compare(a, b, &ScenarioIndex::default())])
}

fn scope<'a>(found: &'a [Comparison], scope: &str) -> &'a Comparison {
    found
        .iter()
        .find(|comparison| comparison.scope == scope)
        .unwrap()
}

#[test]
fn targets_are_compared_scenario_by_scenario_and_corrected_together() {
    let a = target("a", &[("m1", 10), ("m2", 10), ("only_a", 3)], 10);
    let b = target("b", &[("m1", 1), ("m2", 7)], 10);
    let found = compared(&a, &b);
    assert_eq!(
        found.iter().map(|c| c.scope.as_str()).collect::<Vec<_>>(),
        ["all", "m1", "m2"]
    );
    let m1 = &scope(&found, "m1").difference;
    // In m2 only three scenarios differ: its p can be 1/4 at least, so it costs m1 nothing.
    assert_eq!(m1.p_value, Some(2.0_f64.powi(-8)));
    assert_eq!(m1.p_corrected, m1.p_value);
    assert_eq!((m1.says.as_str(), m1.family_size), ("differ", 2));
    let m2 = &scope(&found, "m2").difference;
    assert_eq!((m2.p_value, m2.p_corrected), (Some(0.25), Some(0.25)));
    assert!(
        m2.says
            .starts_with("no difference shown; 10 scenarios show one of 68 points"),
        "{}",
        m2.says
    );
    // The interval of a difference that is not shown has 0 in it, whatever it was.
    assert!(m2.lower <= 0.0 && m2.upper > 0.0);
    assert_eq!(scope(&found, "all").difference.unmatched, 10);
    let reversed = compared(&b, &a);
    assert_eq!(scope(&reversed, "m1").difference.lower, -m1.upper);
}

/// Eight equal targets: every pair is corrected for all 28 of them.
#[test]
fn all_pairs_that_are_shown_are_one_family() {
    let targets: Vec<TargetRows> = (0..8)
        .map(|id| target(&format!("t{id}"), &[("m", 10 - id)], 12))
        .collect();
    let index = ScenarioIndex::default();
    let mut pairs = Vec::new();
    for (place, a) in targets.iter().enumerate() {
        for b in targets.iter().skip(place + 1) {
            pairs.push(compare(a, b, &index));
        }
    }
    let found = corrected_comparisons(&pairs);
    let last = found
        .iter()
        .find(|one| one.a.as_str() == "t0" && one.b.as_str() == "t7");
    let last = &last.unwrap().difference;
    // Seven scenarios differ: p is 1/64, as it can be in no other pair. The next two pairs can have 1/32.
    assert_eq!(last.p_value, Some(1.0 / 64.0));
    assert_eq!((last.p_corrected, last.family_size), (Some(1.0 / 64.0), 28));
    let next = found
        .iter()
        .find(|one| one.a.as_str() == "t0" && one.b.as_str() == "t6");
    let next = &next.unwrap().difference;
    assert_eq!(next.p_value, Some(1.0 / 32.0));
    assert_eq!(next.p_corrected, Some(2.0 / 32.0));
    assert!(next.says.starts_with("no difference shown"));
    assert_eq!((next.lower, found.len()), (0.0, 56));
}

#[test]
fn five_scenarios_cannot_show_any_difference() {
    let found = compared(&target("a", &[("m", 5)], 5), &target("b", &[("m", 0)], 5));
    let difference = &scope(&found, "m").difference;
    assert_eq!(difference.difference, 1.0);
    assert_eq!(
        difference.says,
        "no difference shown; 5 scenarios could not have shown any"
    );
    let nothing = compared(
        &target("a", &[("m", 5)], 5),
        &target("b", &[("other", 0)], 5),
    );
    assert_eq!(nothing, []);
}

/// The present run has a third sample: which two of three the baseline's counts would be is unknown only there.
#[test]
fn counts_without_order_have_no_test_where_their_number_differs() {
    let unit = |scenario: &str| (scenario.to_owned(), "m", MetricType::Positive);
    let id = ModelId::new("t").unwrap();
    let (mut before, mut here) = (TargetRows::new(id.clone()), TargetRows::new(id));
    for scenario in 0..8 {
        let (name, metric, kind) = unit(&format!("s{scenario}"));
        before.push_counts((&name, metric, kind), 1, 2);
        for _ in 0..2 {
            here.push_verdict((&name, metric, kind), RowVerdict::Yes);
        }
    }
    let same = compared(&here, &before);
    assert!(scope(&same, "all").difference.p_value.is_some());
    here.push_verdict(("s0", "m", MetricType::Positive), RowVerdict::Yes);
    let found = compared(&here, &before);
    let difference = &scope(&found, "m").difference;
    assert_eq!((difference.p_value, difference.p_corrected), (None, None));
    assert_eq!((difference.family_size, &difference.test), (0, &None));
    assert_eq!(difference.says, "not tested: the number of samples changed");
    assert!(difference.lower < difference.difference && difference.difference < difference.upper);
}

/// One side has ten samples of each scenario, the other one: the test compares the first of each.
#[test]
fn the_test_uses_as_many_rows_of_each_side_as_the_shorter_has() {
    let id = |id: &str| ModelId::new(id).unwrap();
    let (mut many, mut one) = (TargetRows::new(id("many")), TargetRows::new(id("one")));
    for scenario in 0..10 {
        let name = format!("s{scenario}");
        let unit = (name.as_str(), "m", MetricType::Positive);
        for sample in 0..10 {
            let verdict = match sample {
                0 => RowVerdict::Yes,
                _ => RowVerdict::No,
            };
            many.push_verdict(unit, verdict);
        }
        one.push_verdict(unit, RowVerdict::Yes);
    }
    let difference = &scope(&compared(&many, &one), "m").difference.clone();
    assert!((difference.difference - -0.9).abs() < 1e-12);
    assert_eq!(difference.test.as_deref(), Some("none differ"));
    assert_eq!((difference.p_value, difference.upper), (Some(1.0), 0.0));
}
