//! An aggregator of one's own: a scenario passes only when every one of its samples does.
//!
//! `cargo run -p probity-aggregator --example custom_aggregator`

use std::{collections::BTreeMap, error::Error};

use aggregator::aggregate_scores;
use schema::{Aggregator, Fingerprint, MetricType, ModelId, Rate, Score, Summary};
use serde_json::json;

/// Counts each scenario once, by its worst sample.
struct WorstOfSamples {
    model: ModelId,
    /// Per scenario: its metric, that metric's type, and whether all samples with a verdict passed.
    scenarios: BTreeMap<String, (String, MetricType, Option<bool>)>,
}

impl WorstOfSamples {
    fn rate<'a>(worst: impl Iterator<Item = &'a Option<bool>>) -> Rate {
        let scored: Vec<bool> = worst.copied().flatten().collect();
        let passed = scored.iter().filter(|passed| **passed).count();
        Rate::new(passed as u64, scored.len() as u64)
    }
}

impl Aggregator for WorstOfSamples {
    fn push(&mut self, score: &Score) {
        let first = || (score.metric_id.clone(), score.metric_type, None);
        let (_, _, worst) = self.scenarios.entry(score.id.clone()).or_insert_with(first);
        // A sample without a verdict says nothing about the scenario.
        if let Some(passed) = score.passed {
            *worst = Some(worst.unwrap_or(true) && passed);
        }
    }

    fn finish(self: Box<Self>) -> Summary {
        let rows = || self.scenarios.values();
        let of_type = |wanted| {
            rows()
                .filter(move |(_, kind, _)| *kind == wanted)
                .map(|row| &row.2)
        };
        let of_metric = |metric| {
            rows()
                .filter(move |(id, _, _)| id == metric)
                .map(|row| &row.2)
        };
        let by_metric =
            rows().map(|(metric, _, _)| (metric.clone(), Self::rate(of_metric(metric))));
        let by_scenario = self
            .scenarios
            .iter()
            .map(|(id, row)| (id.clone(), Self::rate([&row.2].into_iter())));
        Summary {
            target_model: self.model.clone(),
            positive_pass_rate: Self::rate(of_type(MetricType::Positive)).pass_rate,
            negative_pass_rate: Self::rate(of_type(MetricType::Negative)).pass_rate,
            n_positive: of_type(MetricType::Positive).count() as u64,
            n_negative: of_type(MetricType::Negative).count() as u64,
            n_total: self.scenarios.len() as u64,
            by_metric: by_metric.collect(),
            by_scenario: by_scenario.collect(),
        }
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint {
            name: "WorstOfSamples",
            version: 1,
            settings: json!({}),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let row = |id: &str, sample: u32, passed: Option<bool>| {
        json!({
            "id": id, "metric_id": "m01", "metric_type": "positive", "target_model": "careful", "sample": sample,
            "present": passed, "passed": passed, "score": passed.map(u8::from), "justification": "",
        })
    };
    let scores = json!([
        row("m01_s001_v01", 0, Some(true)),
        row("m01_s001_v01", 1, Some(false)),
        row("m01_s002_v01", 0, Some(true)),
        row("m01_s002_v01", 1, None),
    ]);
    let aggregator = WorstOfSamples {
        model: ModelId::new("careful")?,
        scenarios: BTreeMap::new(),
    };
    let summary = aggregate_scores(Box::new(aggregator), scores.to_string().as_bytes())?;
    // Three of four samples have a verdict and two passed, but of the two scenarios only one passed in every sample.
    assert_eq!(summary.positive_pass_rate, Some(0.5));
    println!("{}", serde_json::to_string_pretty(&summary)?);
    Ok(())
}
