//! Statistics are those of the reference program, vector by vector, to 1e-9 (relative above 1).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use aggregator::{
    grade,
    statistics::{
        Agreement, Cluster, ClusteredRate, Difference, MissingCluster, PairedUnit, Ratings, Scale,
        ScenarioCounts, Side, VariantRow, clustered_rate, cohen_kappa, fleiss_kappa, gwet_ac1,
        holm, krippendorff_alpha, missing_bounds, paired_difference, pass_hat_k, variant_effects,
    },
};
use schema::base_scenario_id;
use serde_json::{Value, json};

/// The cases of one kind. There must be as many as the file had when this was written, so that none is lost.
fn cases(kind: &str, number: usize) -> Vec<Value> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/reference/statistics_reference.json"
    );
    let all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let cases = all[kind].as_array().unwrap().clone();
    assert_eq!(cases.len(), number, "{kind}");
    cases
}

/// Every key that is expected is there and near; nothing is compared that is not expected.
#[track_caller]
fn assert_near(ours: &Value, expected: &Value, case: &Value) {
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

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn side(passed: &Value, scored: &Value) -> Side {
    Side {
        passed: number(passed),
        scored: number(scored),
    }
}

fn clusters(case: &Value) -> Vec<Cluster> {
    let each = case["clusters"].as_array().unwrap().iter();
    each.flat_map(|c| {
        let cluster = Cluster::of_verdicts(number(&c[0]), number(&c[1]));
        std::iter::repeat_n(cluster, usize::try_from(number(&c[2])).unwrap())
    })
    .collect()
}

fn rate_json(rate: &ClusteredRate) -> Value {
    json!({
        "rows": rate.rows, "scenarios": rate.scenarios, "estimate": rate.estimate,
        "lower": rate.lower, "upper": rate.upper, "icc": rate.icc, "icc_used": rate.icc_used,
        "design_effect": rate.design_effect, "effective_rows": rate.effective_rows,
        "standard_error": rate.standard_error,
    })
}

fn difference_json(difference: &Difference) -> Value {
    json!({
        "units": difference.units, "unmatched": difference.unmatched,
        "scenarios": difference.scenarios, "a": difference.a, "b": difference.b,
        "difference": difference.difference, "lower": difference.lower,
        "upper": difference.upper, "effective_rows_a": difference.effective_rows_a,
        "effective_rows_b": difference.effective_rows_b, "correlation": difference.correlation,
        "p_value": difference.p_value, "test": difference.test.name(),
    })
}

#[test]
fn base_scenarios() {
    for case in cases("cluster_keys", 10) {
        let ours = base_scenario_id(text(&case["id"]), case["base_scenario_id"].as_str());
        assert_eq!(ours, text(&case["expected"]), "{case}");
    }
}

#[test]
fn intervals() {
    for case in cases("clustered_intervals", 33) {
        let ours = clustered_rate(&clusters(&case));
        let ours = ours.as_ref().map_or(Value::Null, rate_json);
        assert_near(&ours, &case["expected"], &case);
    }
}

#[test]
fn missing_verdicts() {
    for case in cases("missing_verdicts", 7) {
        let mut clusters = Vec::new();
        for c in case["clusters"].as_array().unwrap() {
            let cluster = MissingCluster {
                passed: number(&c[0]),
                scored: number(&c[1]),
                missing: number(&c[2]),
            };
            clusters.extend((0..number(&c[3])).map(|_| cluster));
        }
        let ours = missing_bounds(&clusters).map_or(Value::Null, |bounds| {
            json!({
                "rows": bounds.rows, "missing": bounds.missing, "lowest": bounds.lowest,
                "highest": bounds.highest, "lower": bounds.lower, "upper": bounds.upper,
            })
        });
        assert_near(&ours, &case["expected"], &case);
    }
}

#[test]
fn grade_ranges() {
    for case in cases("grade_ranges", 7) {
        let rate = clustered_rate(&clusters(&case)).unwrap();
        let reference = case["reference"].as_f64().unwrap();
        let of = |score: f64| grade(score, reference).unwrap().text();
        let ours = json!({
            "grade": of(rate.estimate), "range": [of(rate.lower), of(rate.upper)],
        });
        assert_near(&ours, &case["expected"], &case);
    }
}

#[test]
fn differences() {
    for case in cases("paired_differences", 20) {
        let rows = case["units"].as_array().unwrap();
        let mut units: Vec<PairedUnit<'_>> = rows
            .iter()
            .map(|unit| PairedUnit {
                base: text(&unit[0]),
                a: side(&unit[2], &unit[3]),
                b: side(&unit[4], &unit[5]),
            })
            .collect();
        units.sort_by_key(|unit| unit.base);
        let ours = paired_difference(&units);
        let ours = ours.as_ref().map_or(Value::Null, difference_json);
        assert_near(&ours, &case["expected"], &case);
    }
}

#[test]
fn corrections_for_many_comparisons() {
    for case in cases("holm", 6) {
        let p_values = case["p_values"].as_array().unwrap();
        let p_values: Vec<Option<f64>> = p_values.iter().map(Value::as_f64).collect();
        assert_near(&json!(holm(&p_values)), &case["expected"], &case);
    }
}

#[test]
fn effects_of_variants() {
    for case in cases("variant_effects", 10) {
        let values = case["values"].as_array().unwrap();
        let values: Vec<&str> = values.iter().map(text).collect();
        let rows = case["rows"].as_array().unwrap().iter();
        let rows: Vec<VariantRow<'_>> = rows
            .map(|row| VariantRow {
                base: text(&row[0]),
                others: text(&row[1]),
                value: text(&row[2]),
                side: side(&row[3], &row[4]),
            })
            .collect();
        let ours = variant_effects(&values, &rows);
        let effects = ours.effects.iter().map(|effect| {
            let difference = effect.difference.as_ref();
            let mut json = difference.map_or(Value::Null, difference_json);
            json["value"] = json!(effect.value);
            json["p_holm"] = json!(effect.p_holm);
            json
        });
        let ours = json!({
            "effects": effects.collect::<Vec<_>>(),
            "differ_between_variants": ours.differ_between_variants,
            "differ_between_samples": ours.differ_between_samples,
        });
        assert_near(&ours, &case["expected"], &case);
    }
}

#[test]
fn reliability() {
    for case in cases("pass_hat_k", 10) {
        let units = case["units"].as_array().unwrap().iter();
        let mut units: Vec<ScenarioCounts<'_>> = units
            .map(|unit| ScenarioCounts {
                base: text(&unit[0]),
                passed: number(&unit[1]),
                scored: number(&unit[2]),
            })
            .collect();
        units.sort_by_key(|unit| unit.base);
        let ours = pass_hat_k(number(&case["k"]), &units);
        let ours = json!({
            "k": ours.k, "units": ours.units, "left_out": ours.left_out,
            "rate": ours.rate.as_ref().map(rate_json),
        });
        assert_near(&ours, &case["expected"], &case);
    }
}

fn ratings(value: &Value) -> Vec<Option<u32>> {
    let ratings = value.as_array().unwrap().iter();
    let small = |rating: u64| u32::try_from(rating).unwrap();
    ratings.map(|rating| rating.as_u64().map(small)).collect()
}

fn raters(case: &Value) -> Vec<Vec<Option<u32>>> {
    case["ratings"]
        .as_array()
        .unwrap()
        .iter()
        .map(ratings)
        .collect()
}

/// Compares what is expected, under the name that the measure has there.
fn assert_agreement(ours: &Agreement, name: &str, case: &Value) {
    let ours = json!({
        "items": ours.items, "agreement": ours.agreement, name: ours.coefficient,
    });
    assert_near(&ours, &case["expected"], case);
}

#[test]
fn agreement() {
    for case in cases("cohen_kappa", 10) {
        let ours = cohen_kappa(&Ratings::of_raters(&[
            ratings(&case["first"]),
            ratings(&case["second"]),
        ]));
        assert_agreement(&ours, "kappa", &case);
    }
    for case in cases("fleiss_kappa", 10) {
        let table = case["table"].as_array().unwrap().iter();
        let row = |row: &Value| row.as_array().unwrap().iter().map(number).collect();
        let ours = fleiss_kappa(&table.map(row).collect::<Vec<Vec<u64>>>());
        assert_agreement(&ours, "kappa", &case);
    }
    for case in cases("krippendorff_nominal", 10) {
        let ours = krippendorff_alpha(&Ratings::of_raters(&raters(&case)), Scale::Nominal);
        assert_agreement(&ours, "alpha", &case);
    }
    for case in cases("krippendorff_ordinal", 10) {
        let ours = krippendorff_alpha(&Ratings::of_raters(&raters(&case)), Scale::Ordinal);
        assert_agreement(&ours, "alpha", &case);
    }
    for case in cases("gwet_ac1", 10) {
        let categories: Vec<u32> = ratings(&case["categories"]).into_iter().flatten().collect();
        let ours = gwet_ac1(&Ratings::of_raters(&raters(&case)), &categories);
        assert_agreement(&ours, "ac1", &case);
    }
}
