//! The answers of gates are those of the reference program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

mod vectors;

use aggregator::{
    BaselineEvidence, GateEvidence, gate_answer,
    statistics::{AlikeBy, RowVerdict, rate_of_cases},
};
use schema::{
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
