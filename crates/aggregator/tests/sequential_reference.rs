//! Capitals, intervals at every look, answers and plans are those of the reference program, vector by vector: to 1e-9, chances of being decided
//! to 1e-6.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a failure ends the test"
)]

use aggregator::sequential::{
    DifferenceTest, PlayedDifference, PlayedScenario, RateLimit, RateRule, RateTest, ScenarioLists,
    SequenceAnswer, SequencePlan, adjusted_e_values, plan_sequence, sequence_order,
};
use serde_json::Value;

/// The cases of one kind. There must be as many as the file had when the test was written, so that none is lost.
fn cases(kind: &str, number: usize) -> Vec<Value> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/reference/sequential_reference.json"
    );
    let all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let cases = all[kind].as_array().unwrap().clone();
    assert_eq!(cases.len(), number, "{kind}");
    cases
}

fn lists(case: &Value) -> ScenarioLists {
    let mut lists = case["lists"].as_array().unwrap().iter();
    let first = lists.next().unwrap();
    let one = ScenarioLists::one(first[1].as_u64().unwrap());
    lists.fold(one, |all, list| {
        all.then(list[0].as_u64().unwrap(), list[1].as_u64().unwrap())
    })
}

fn rule(case: &Value) -> RateRule {
    let text = case["require"].as_str().unwrap();
    let (limit, rate) = match text.split_once(" >= ") {
        Some((_, rate)) => (RateLimit::AtLeast, rate),
        None => (RateLimit::AtMost, text.split_once(" <= ").unwrap().1),
    };
    RateRule {
        limit,
        rate: rate.parse().unwrap(),
    }
}

#[track_caller]
fn near(ours: f64, expected: &Value, tolerance: f64, what: &str) {
    let expected = expected.as_f64().unwrap();
    assert!(
        (ours - expected).abs() <= tolerance * expected.abs().max(1.0),
        "{what}: {ours} is not {expected}"
    );
}

fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn orders() {
    for case in cases("order", 3) {
        let ids: Vec<&str> = case["ids"]
            .as_array()
            .unwrap()
            .iter()
            .map(|id| id.as_str().unwrap())
            .collect();
        let order = sequence_order(whole(&case["seed"]), ids);
        assert_eq!(serde_json::to_value(order).unwrap(), case["order"]);
    }
}

#[test]
fn rates() {
    for (number, case) in cases("rates", 15).iter().enumerate() {
        let scenarios: Vec<PlayedScenario> = case["scenarios"]
            .as_array()
            .unwrap()
            .iter()
            .map(|rows| PlayedScenario {
                passed: whole(&rows[0]),
                failed: whole(&rows[1]),
                missing: whole(&rows[2]),
                incomplete: [0; 2],
            })
            .collect();
        let rows = |of: &PlayedScenario| of.passed + of.failed + of.missing;
        let largest = scenarios.iter().map(rows).max().unwrap();
        let max_missing = case["max_missing"].as_f64().unwrap();
        let mut test = RateTest::new(lists(case), largest, max_missing).holding(rule(case), 0.05);
        let mut used = 0;
        for scenario in &scenarios {
            if test.answer() == SequenceAnswer::Open {
                used += 1;
            }
            test.play(scenario);
            let look = test.look();
            let looks = case["looks"].as_array().unwrap().iter();
            for expected in looks.filter(|of| whole(&of["scenarios"]) == look.scenarios) {
                let what = format!("rates {number} after {}", look.scenarios);
                assert_eq!(look.passed, whole(&expected["passed"]), "{what}");
                assert_eq!(look.rows, whole(&expected["rows"]), "{what}");
                assert_eq!(look.missing, whole(&expected["missing"]), "{what}");
                assert_eq!(look.bounds_used, expected["bounds_used"], "{what}");
                near(look.lower, &expected["lower"], 1e-9, &what);
                near(look.upper, &expected["upper"], 1e-9, &what);
                if let Some(estimate) = look.estimate {
                    near(estimate, &expected["estimate"], 1e-9, &what);
                }
            }
        }
        let (answer, why) = match test.answer() {
            SequenceAnswer::Pass => ("pass", "decided"),
            SequenceAnswer::Fail => ("fail", "decided"),
            SequenceAnswer::GivenUp => ("inconclusive", "given up"),
            SequenceAnswer::UsedUp => ("inconclusive", "used up"),
            SequenceAnswer::Open | SequenceAnswer::Differ | SequenceAnswer::Narrow => {
                panic!("rates {number}: still open")
            }
        };
        assert_eq!(case["answer"], answer, "rates {number}");
        assert_eq!(case["why"], why, "rates {number}");
        assert_eq!(used, whole(&case["used"]), "rates {number}");
    }
}

#[test]
fn differences() {
    for (number, case) in cases("differences", 4).iter().enumerate() {
        let scenarios: Vec<PlayedDifference> = case["scenarios"]
            .as_array()
            .unwrap()
            .iter()
            .map(|of| PlayedDifference {
                difference: of[0].as_f64().unwrap(),
                units: whole(&of[1]),
            })
            .collect();
        let largest = scenarios.iter().map(|of| of.units).max().unwrap();
        let mut test = DifferenceTest::new(&lists(case), largest, whole(&case["family"]));
        for scenario in &scenarios {
            test.play(scenario);
            let look = test.look();
            let looks = case["looks"].as_array().unwrap().iter();
            for expected in looks.filter(|of| whole(&of["scenarios"]) == look.scenarios) {
                let what = format!("differences {number} after {}", look.scenarios);
                assert_eq!(look.units, whole(&expected["units"]), "{what}");
                near(look.lower, &expected["lower"], 1e-9, &what);
                near(look.upper, &expected["upper"], 1e-9, &what);
                near(look.e_value, &expected["e_value"], 1e-9, &what);
                near(
                    look.difference.unwrap(),
                    &expected["difference"],
                    1e-9,
                    &what,
                );
            }
        }
    }
}

#[test]
fn families() {
    for case in cases("closed", 7) {
        let e: Vec<f64> = serde_json::from_value(case["e"].clone()).unwrap();
        let adjusted = adjusted_e_values(&e);
        for (ours, expected) in adjusted.iter().zip(case["adjusted"].as_array().unwrap()) {
            near(*ours, expected, 1e-9, &format!("{e:?}"));
        }
    }
}

#[test]
fn plans() {
    for (number, case) in cases("plan", 3).iter().enumerate() {
        let plan = SequencePlan {
            rule: rule(case),
            rate: case["rate"].as_f64().unwrap(),
            icc: case["icc"].as_f64().unwrap(),
            scenarios: whole(&case["scenarios"]),
            rows: whole(&case["rows"]),
            give_up: 0.05,
        };
        let runs = u32::try_from(whole(&case["runs"])).unwrap();
        let planned = plan_sequence(&plan, runs, whole(&case["seed"]));
        let expected = &case["result"];
        let what = format!("plan {number}");
        for (share, scenarios) in expected["scenarios"].as_object().unwrap() {
            let share: f64 = share.parse().unwrap();
            assert_eq!(planned.quantile(share), scenarios.as_u64(), "{what}");
        }
        near(planned.pass, &expected["pass"], 1e-9, &what);
        near(planned.fail, &expected["fail"], 1e-9, &what);
        near(planned.given_up, &expected["given up"], 1e-9, &what);
        near(planned.used_up, &expected["used up"], 1e-9, &what);
        let mean = planned.scenarios.iter().sum::<u64>() as f64 / f64::from(runs);
        near(mean, &expected["mean"], 1e-9, &what);
    }
}
