//! Corrected rates, their differences and the order of labels are those of the reference program, to 1e-9.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

mod vectors;

use aggregator::statistics::{
    LabelledScenario, LabelledStratum, RowToLabel, corrected_difference, corrected_rate,
    label_order,
};
use schema::{ModelId, statistics::CorrectedRateStatistics};
use serde_json::{Value, json};

use vectors::{assert_near, cases};

/// Scenarios as `[rows, passed by the judge, labels of these, of which people passed, labels of the others, of which people passed]`.
fn rate(scenarios: &Value) -> Option<CorrectedRateStatistics> {
    let scenarios = scenarios.as_array().unwrap().iter();
    let scenarios: Vec<LabelledScenario> = scenarios
        .map(|counts| {
            let count = |at: usize| counts[at].as_u64().unwrap();
            let stratum = |rows, at| LabelledStratum {
                rows,
                labels: count(at),
                people_passed: count(at + 1),
            };
            LabelledScenario {
                judge_passed: stratum(count(1), 2),
                judge_failed: stratum(count(0) - count(1), 4),
            }
        })
        .collect();
    corrected_rate(&scenarios)
}

#[test]
fn corrected_rates() {
    for case in cases("corrected_rates", 15) {
        let ours = rate(&case["clusters"]).map_or(Value::Null, |rate| json!(rate));
        assert_near(&ours, &case["expected"], &case);
    }
}

#[test]
fn differences_of_corrected_rates() {
    let (a, b) = (ModelId::new("a").unwrap(), ModelId::new("b").unwrap());
    for case in cases("corrected_differences", 6) {
        let rates = [&case["a"], &case["b"]].map(|side| rate(side).unwrap_or_default());
        let ours = corrected_difference((&a, &rates[0]), (&b, &rates[1]));
        let ours = ours.map_or(Value::Null, |ours| json!(ours));
        assert_near(&ours, &case["expected"], &case);
    }
}

#[test]
fn orders_of_labels() {
    for case in cases("label_orders", 6) {
        let text = |value: &'_ Value| value.as_str().unwrap().to_owned();
        let given: Vec<[String; 3]> = case["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| [0, 1, 2].map(|at| text(&row[at])))
            .collect();
        let verdicts = case["rows"].as_array().unwrap().iter();
        let rows: Vec<RowToLabel<'_>> = given
            .iter()
            .zip(verdicts.map(|row| row[3].as_bool()))
            .map(|([conv_id, metric_id, base], passed)| RowToLabel {
                conv_id,
                metric_id,
                base,
                passed,
            })
            .collect();
        let order = label_order(&rows, case["seed"].as_u64().unwrap());
        let ours: Vec<[&str; 2]> = order
            .into_iter()
            .map(|at| [rows[at].conv_id, rows[at].metric_id])
            .collect();
        assert_eq!(json!(ours), case["expected"], "{case}");
    }
}
