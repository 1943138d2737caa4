//! The power of comparisons is that of the reference program: closed forms to 1e-9, counts of draws to the last digit.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

mod vectors;

use aggregator::statistics::{
    PlannedMetric,
    power::{
        GateQuestion, PowerMemo, PowerQuestion, SplitMix64, gate_chances, power,
        scenarios_for_pass, scenarios_needed, smallest_difference,
    },
};
use serde_json::{Value, json};
use vectors::{assert_near, cases};

fn question(case: &Value) -> PowerQuestion {
    let real = |key: &str| case[key].as_f64().unwrap();
    PowerQuestion {
        scenarios: case["scenarios"].as_u64().unwrap_or(0),
        rows: case["rows"].as_u64().unwrap(),
        icc: real("icc"),
        rate: real("rate"),
        correlation: real("correlation"),
        comparisons: case["comparisons"].as_u64().unwrap(),
    }
}

#[test]
fn random_numbers() {
    let mut random = SplitMix64::new(0);
    for expected in cases("splitmix64_seed_0", 8) {
        assert_eq!(random.next_unit(), expected.as_f64().unwrap());
    }
}

#[test]
fn powers() {
    for case in cases("power", 14) {
        let ours = power(&question(&case), case["difference"].as_f64().unwrap());
        let expected = case["expected"].as_f64().unwrap();
        let counted = (expected * 2000.0).fract().abs() < 1e-9;
        let tolerance = if counted { 1e-12 } else { 1e-9 };
        assert!((ours - expected).abs() <= tolerance, "{ours} in {case}");
    }
}

#[test]
fn plans() {
    let mut memo = PowerMemo::default();
    for case in cases("plans", 14) {
        let question = question(&case);
        let rows_each = case["rows"].as_f64().unwrap();
        let planned = PlannedMetric {
            scenarios: question.scenarios,
            rows_each,
            icc: question.icc,
            rate: question.rate,
            correlation: question.correlation,
            comparisons: question.comparisons,
        };
        assert_eq!(planned.power_question(), question);
        let plan = planned.plan().unwrap();
        let ours = json!({
            "rows": question.scenarios * question.rows, "design_effect": plan.design_effect,
            "effective_rows": plan.effective_rows, "expected_lower": plan.expected_lower,
            "expected_upper": plan.expected_upper,
            "upper_if_none_fails": plan.upper_if_none_fails, "smallest_p": plan.smallest_p,
            "can_differ": plan.can_differ, "smallest_difference": plan.smallest_difference,
        });
        assert_near(&ours, &case["expected"], &case);
        for _ in 0..2 {
            let known = memo.smallest_difference(&question);
            assert_eq!(known, smallest_difference(&question));
        }
    }
}

#[test]
fn scenarios() {
    for case in cases("scenarios_needed", 6) {
        let ours = scenarios_needed(&question(&case), case["difference"].as_f64().unwrap());
        assert_eq!(ours, case["expected"].as_u64(), "{case}");
    }
}

fn gate_question(case: &Value) -> GateQuestion {
    let compare = match case["quantity"].as_str().unwrap() {
        "lower" => "lower >=",
        _ => "upper <=",
    };
    let require = format!("{compare} {}", case["limit"]);
    GateQuestion {
        scenarios: case["scenarios"].as_u64().unwrap_or(0),
        rows: case["rows"].as_u64().unwrap(),
        icc: case["icc"].as_f64().unwrap(),
        rate: case["rate"].as_f64().unwrap(),
        require: require.parse().unwrap(),
    }
}

#[test]
fn chances_of_gates() {
    for case in cases("gate_chances", 10) {
        let ours = gate_chances(&gate_question(&case)).unwrap();
        let ours = json!({
            "pass": ours.pass, "fail": ours.fail, "inconclusive": ours.inconclusive,
        });
        assert_near(&ours, &case["expected"], &case);
    }
}

#[test]
fn scenarios_for_gates() {
    for case in cases("scenarios_for_pass", 4) {
        let ours = scenarios_for_pass(&gate_question(&case));
        assert_eq!(ours, case["expected"].as_u64(), "{case}");
    }
    let differs = GateQuestion {
        require: "difference >= -0.1".parse().unwrap(),
        ..gate_question(&cases("scenarios_for_pass", 4)[0])
    };
    assert_eq!(gate_chances(&differs), None);
}
