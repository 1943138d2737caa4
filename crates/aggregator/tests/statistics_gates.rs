//! The answers of gates are those of the reference program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

mod vectors;

use aggregator::{
    BaselineEvidence, GateEvidence, gate_answer,
    statistics::{
        AlikeBy, RowVerdict, ScenarioIndex, TargetRows, gate_comparisons, gate_difference,
        rate_of_cases,
    },
};
use schema::{
    MetricType,
    gate::{GateRate, GateRequirement, GateResult},
    statistics::RateStatistics,
};
use serde_json::{Value, json};
use vectors::{assert_near, cases};

/// The rate of base scenarios of `[passed, scored, missing, times]`.
fn rate(clusters: &Value) -> RateStatistics {
    let mut rows: Vec<(String, RowVerdict)> = Vec::new();
    for (number, cluster) in clusters.as_array().unwrap().iter().enumerate() {
        let [passed, scored, missing, times] = [0, 1, 2, 3].map(|i| cluster[i].as_u64().unwrap());
        for time in 0..times {
            let case = format!("{number:03} {time:05}");
            for (verdict, rows_of) in [
                (RowVerdict::Yes, passed),
                (RowVerdict::No, scored - passed),
                (RowVerdict::Failed, missing),
            ] {
                rows.extend((0..rows_of).map(|_| (case.clone(), verdict)));
            }
        }
    }
    rate_of_cases(rows.iter().map(|(case, verdict)| (case.as_str(), *verdict)))
}

/// What a rule on a rate says, and the interval that it looked at.
fn result(rate: RateStatistics, require: GateRequirement, max_missing: f64) -> GateResult {
    let evidence = GateEvidence {
        rate: &rate,
        alike: AlikeBy::BaseScenario,
        not_run: 0,
        baseline: BaselineEvidence::NoTarget,
        cost: None,
    };
    let decision = gate_answer(require, max_missing, &evidence);
    GateResult {
        target: schema::ModelId::new("t").unwrap(),
        rule: 1,
        name: None,
        scope: "all".to_owned(),
        requires: require,
        answer: decision.answer,
        reason: decision.reason,
        rate: GateRate::Passed(rate),
        left_out: decision.left_out,
        not_run: 0,
        difference: None,
        difference_bounds: None,
        cost: None,
    }
}

#[test]
fn rates() {
    for case in cases("gate_rates", 12) {
        let compare = match case["quantity"].as_str().unwrap() {
            "lower" => "lower >=",
            _ => "upper <=",
        };
        let require = format!("{compare} {}", case["limit"]).parse().unwrap();
        let max_missing = case["max_missing"].as_f64().unwrap();
        let expected = &case["expected"];
        let ours = result(rate(&case["clusters"]), require, max_missing);
        assert_eq!(ours.answer.as_str(), expected["answer"], "{case}");
        // Where no row has a verdict, the bounds say nothing that an output would show.
        if ours.rate.rows() > 0 {
            let (lower, upper) = ours.interval().unzip();
            assert_near(&json!(lower), &expected["lower"], &case);
            assert_near(&json!(upper), &expected["upper"], &case);
        }
    }
}

#[test]
fn missing_verdicts_do_not_turn_a_rate_into_a_pass() {
    let clusters = json!([[1, 1, 0, 372], [0, 1, 0, 10], [0, 0, 1, 18]]);
    let of = |max_missing| {
        let found = result(
            rate(&clusters),
            "lower >= 0.94".parse().unwrap(),
            max_missing,
        );
        (found.answer.as_str(), found.left_out)
    };
    assert_eq!(of(0.0), ("inconclusive", 0));
    assert_eq!(of(0.04), ("inconclusive", 0));
    assert_eq!(of(0.05), ("pass", 18));
}

/// One side of the units, as rows of a target. Scenarios are named so that their base scenario is that of the unit.
fn side(units: &Value, column: usize) -> TargetRows {
    let mut rows = TargetRows::new(schema::ModelId::new("t").unwrap());
    for unit in units.as_array().unwrap() {
        let key = (unit[1].as_str().unwrap(), "m", MetricType::Positive);
        for row in unit[column].as_str().unwrap().chars() {
            let verdict = match row {
                '1' => RowVerdict::Yes,
                '0' => RowVerdict::No,
                _ => RowVerdict::Failed,
            };
            rows.push_verdict(key, verdict);
        }
    }
    rows
}

#[test]
fn differences() {
    for case in cases("gate_differences", 8) {
        let units = &case["units"];
        let bases = units.as_array().unwrap().iter();
        assert!(bases.clone().all(|unit| unit[0] == unit[1]), "{case}");
        let (here, before) = (side(units, 2), side(units, 3));
        let index = ScenarioIndex::of_cases();
        let found = gate_difference(&here, &before, &index, |_| true);
        let found: Vec<_> = found.iter().collect();
        let compared = gate_comparisons(&found, AlikeBy::BaseScenario).pop();
        let expected = &case["expected"];
        let max_missing = case["max_missing"].as_f64().unwrap();
        let rate = rate(&json!([[1, 1, 0, 2]]));
        let evidence = GateEvidence {
            rate: &rate,
            alike: AlikeBy::BaseScenario,
            not_run: 0,
            baseline: BaselineEvidence::Compared(compared.as_ref()),
            cost: None,
        };
        let require = format!("difference >= {}", case["limit"]).parse().unwrap();
        let decision = gate_answer(require, max_missing, &evidence);
        assert_eq!(decision.answer.as_str(), expected["answer"], "{case}");
        let ends = compared.map(|found| match decision.left_out {
            0 => (found.lower, found.upper),
            _ => (found.measured.lower, found.measured.upper),
        });
        let (lower, upper) = ends.unzip();
        assert_near(&json!(lower), &expected["lower"], &case);
        assert_near(&json!(upper), &expected["upper"], &case);
    }
}
