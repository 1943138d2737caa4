//! Differences, their tests and their families are those of the reference program, vector by vector, to 1e-9 (relative
//! above 1).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

mod vectors;

use aggregator::statistics::{
    AlikeBy, Attainable, Block, Difference, PairedUnit, RowVerdict, ScenarioIndex, TargetRows,
    VariantEffects, VariantRow, Verdicts, compare, corrected_comparisons, corrected_p_values,
    family_statistics, interchange_test, paired_difference, variant_effects,
};
use schema::{
    MetricType, ModelId,
    numbers::points,
    statistics::{DifferenceFamily, DifferenceStatistics},
};
use serde_json::{Value, json};
use vectors::{assert_near, cases};

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// `10-1`: passed, failed, no verdict, passed.
fn verdicts(rows: &Value) -> Verdicts {
    let rows = text(rows).chars().filter(|row| *row != '-');
    rows.map(|row| row == '1').collect()
}

fn attainable(value: &Value) -> Attainable {
    value.as_array().map_or(Attainable::Any, |values| {
        Attainable::These(values.iter().map(|p| p.as_f64().unwrap()).collect())
    })
}

/// The keys of a difference in `statistics.json`. The vectors' `says` is without the smallest difference.
fn difference_json(difference: &DifferenceStatistics) -> Value {
    let mut json = serde_json::to_value(difference).unwrap();
    let says = difference.says.split(';').next().unwrap();
    json["says"] = json!(says);
    let promised = difference.could_have_shown;
    let end = match promised {
        Some(least) => format!("one of {} or more four times in five", points(least)),
        None => "could not have shown any".to_owned(),
    };
    assert!(says == "differ" || difference.says.ends_with(&end));
    json
}

#[test]
fn interchange_tests() {
    for case in cases("interchange_tests", 22) {
        let blocks = case["blocks"].as_array().unwrap().iter();
        let blocks: Vec<Block> = blocks
            .map(|block| {
                let scores = block["scores"].as_array().unwrap();
                let named = usize::try_from(number(&block["named"])).unwrap();
                let mut read = Block::new(scores.len(), named);
                for (side, score) in scores.iter().enumerate() {
                    read.add(side, number(&score[0]), number(&score[1]));
                }
                read
            })
            .collect();
        let found = interchange_test(&blocks);
        let list = match &found.attainable {
            Attainable::These(list) if list.len() <= 40 => json!(list),
            _ => Value::Null,
        };
        let ours = json!({
            "p_value": found.p_value, "test": found.test.name(),
            "informative": found.blocks_that_differ, "statistic": found.statistic,
            "attainable": list,
            "smallest_attainable": match &found.attainable {
                Attainable::These(list) => json!(list[0]),
                Attainable::Any => Value::Null,
            },
        });
        assert_near(&ours, &case["expected"], &case);
    }
}

#[test]
fn corrections_of_families() {
    for case in cases("corrected_p_values", 10) {
        let tests = case["tests"].as_array().unwrap().iter();
        let tests: Vec<(Option<f64>, Attainable)> = tests
            .map(|test| (test["p_value"].as_f64(), attainable(&test["attainable"])))
            .collect();
        let tests: Vec<Option<(f64, &Attainable)>> = tests
            .iter()
            .map(|(p, attainable)| p.map(|p| (p, attainable)))
            .collect();
        let ours = corrected_p_values(&tests);
        assert_near(&json!(ours), &case["expected"], &case);
    }
}

#[test]
fn differences() {
    for case in cases("paired_differences", 22) {
        let rows = case["units"].as_array().unwrap();
        let mut units: Vec<(&str, Verdicts, Verdicts)> = rows
            .iter()
            .map(|unit| (text(&unit[0]), verdicts(&unit[2]), verdicts(&unit[3])))
            .collect();
        units.sort_by_key(|(base, ..)| *base);
        let units: Vec<PairedUnit<'_>> = units
            .iter()
            .map(|(base, a, b)| PairedUnit { base, a, b })
            .collect();
        let ours = paired_difference(&units);
        let ours: Vec<&Difference> = ours.iter().collect();
        let ours = family_statistics(&ours, DifferenceFamily::Pooled, AlikeBy::BaseScenario);
        let ours = ours.first().map_or(Value::Null, difference_json);
        assert_near(&ours, &case["expected"], &case);
    }
}

#[test]
fn families_of_targets() {
    for case in cases("families", 5) {
        let targets = case["targets"].as_array().unwrap().iter();
        let targets: Vec<TargetRows> = targets
            .map(|target| {
                let id = ModelId::new(text(&target["target"])).unwrap();
                let mut rows = TargetRows::new(id);
                for row in target["rows"].as_array().unwrap() {
                    let unit = (text(&row[1]), text(&row[0]), MetricType::Positive);
                    for verdict in text(&row[2]).chars() {
                        let verdict = match verdict {
                            '1' => RowVerdict::Yes,
                            '0' => RowVerdict::No,
                            _ => RowVerdict::Abstained,
                        };
                        rows.push_verdict(unit, verdict);
                    }
                }
                rows
            })
            .collect();
        // Each scenario is a base of its own, whatever its id ends with.
        let index = ScenarioIndex::of_cases();
        let pairs = targets.iter().enumerate().flat_map(|(place, a)| {
            let others = targets.iter().skip(place + 1);
            others.map(move |b| (a, b))
        });
        let pairs: Vec<_> = pairs.map(|(a, b)| compare(a, b, &index)).collect();
        let found = corrected_comparisons(&pairs);
        let family = |family: DifferenceFamily| {
            let of_family = found.iter().filter(|one| one.difference.family == family);
            let json = of_family.map(|one| {
                let mut json = difference_json(&one.difference);
                json["a"] = json!(one.a);
                json["b"] = json!(one.b);
                json["scope"] = json!(one.scope);
                json
            });
            json.collect::<Vec<_>>()
        };
        let ours = json!({
            "pooled": family(DifferenceFamily::Pooled), "metric": family(DifferenceFamily::Metric),
        });
        assert_near(&ours, &case["expected"], &case);
    }
}

#[test]
fn effects_of_variants() {
    for case in cases("variant_effects", 12) {
        let values = case["values"].as_array().unwrap();
        let values: Vec<&str> = values.iter().map(text).collect();
        let rows = case["rows"].as_array().unwrap();
        let verdicts: Vec<Verdicts> = rows.iter().map(|row| verdicts(&row[4])).collect();
        let rows: Vec<VariantRow<'_>> = rows
            .iter()
            .zip(&verdicts)
            .map(|(row, verdicts)| VariantRow {
                metric: text(&row[0]),
                base: text(&row[1]),
                others: text(&row[2]),
                value: text(&row[3]),
                verdicts,
            })
            .collect();
        let expected = case["expected"].as_object().unwrap();
        let all = ("all", variant_effects(&values, &rows));
        assert_near(&effects_json(&[&all])["all"], &expected["all"], &case);
        let metrics: Vec<(&str, VariantEffects)> = expected
            .keys()
            .filter(|metric| *metric != "all")
            .map(|metric| {
                let of_metric = rows.iter().filter(|row| row.metric == metric);
                let of_metric: Vec<VariantRow<'_>> = of_metric.copied().collect();
                (metric.as_str(), variant_effects(&values, &of_metric))
            })
            .collect();
        let ours = effects_json(&metrics.iter().collect::<Vec<_>>());
        for (metric, _) in &metrics {
            assert_near(&ours[metric], &expected[*metric], &case);
        }
    }
}

/// The effects of some scopes, corrected together.
fn effects_json(scopes: &[&(&str, VariantEffects)]) -> Value {
    let effects = scopes.iter().flat_map(|(_, found)| &found.effects);
    let differences: Vec<&Difference> = effects.filter_map(|e| e.difference.as_ref()).collect();
    let family = family_statistics(
        &differences,
        DifferenceFamily::Metric,
        AlikeBy::BaseScenario,
    );
    let mut corrected = family.iter();
    let mut json = json!({});
    for (scope, found) in scopes {
        let effects = found.effects.iter().map(|effect| {
            let mut json = match &effect.difference {
                Some(_) => difference_json(corrected.next().unwrap()),
                None => json!({}),
            };
            json["value"] = json!(effect.value);
            json
        });
        json[*scope] = json!({
            "effects": effects.collect::<Vec<_>>(),
            "differ_between_variants": found.differ_between_variants,
            "differ_between_samples": found.differ_between_samples,
        });
    }
    json
}
