//! Statistics are those of the reference program, vector by vector, to 1e-9 (relative above 1).

#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

mod vectors;

use aggregator::{
    grade,
    statistics::{
        Agreement, Cluster, ClusteredRate, MissingCluster, Ratings, Scale, ScenarioCounts,
        clustered_rate, cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha, missing_bounds,
        pass_hat_k,
    },
};
use schema::base_scenario_id;
use serde_json::{Value, json};
use vectors::{assert_near, cases};

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
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
