//! The vectors of the reference program, and how near ours have to be.

#![allow(dead_code, reason = "each test uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use serde_json::Value;

/// The cases of one kind. There must be as many as the file had when the test was written, so that none is lost.
pub fn cases(kind: &str, number: usize) -> Vec<Value> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/reference/statistics_reference.json"
    );
    let all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let cases = all[kind].as_array().unwrap().clone();
    assert_eq!(cases.len(), number, "{kind}");
    cases
}

/// Every key that is expected is there and near, to 1e-9 (relative above 1); nothing is compared that is not expected.
#[track_caller]
pub fn assert_near(ours: &Value, expected: &Value, case: &Value) {
    match (ours, expected) {
        (Value::Number(ours), Value::Number(expected)) => {
            let (ours, expected) = (ours.as_f64().unwrap(), expected.as_f64().unwrap());
            let tolerance = 1e-9 * expected.abs().max(1.0);
            assert!(
                (ours - expected).abs() <= tolerance,
                "{ours} is not {expected} in {case}"
            );
        }
        (Value::Object(ours), Value::Object(expected)) => {
            for (key, expected) in expected {
                let ours = ours
                    .get(key)
                    .unwrap_or_else(|| panic!("no {key} in {case}"));
                assert_near(ours, expected, case);
            }
        }
        (Value::Array(ours), Value::Array(expected)) => {
            assert_eq!(ours.len(), expected.len(), "{case}");
            for (ours, expected) in ours.iter().zip(expected) {
                assert_near(ours, expected, case);
            }
        }
        (ours, expected) => assert_eq!(ours, expected, "{case}"),
    }
}
