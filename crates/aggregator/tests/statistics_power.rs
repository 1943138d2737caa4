//! The power of comparisons is that of the reference program: closed forms to 1e-9, counts of draws to the last digit.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

mod vectors;

use aggregator::statistics::power::{
    PowerMemo, PowerQuestion, SplitMix64, power, scenarios_needed, smallest_difference,
};
use serde_json::Value;
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
fn smallest_differences() {
    let mut memo = PowerMemo::default();
    for case in cases("plans", 14) {
        let expected = &case["expected"]["smallest_difference"];
        let ours = smallest_difference(&question(&case));
        assert_near(&serde_json::json!(ours), expected, &case);
        for _ in 0..2 {
            assert_eq!(memo.smallest_difference(&question(&case)), ours);
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
