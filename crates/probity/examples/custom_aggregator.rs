//! An aggregator of one's own in a whole pipeline: a scenario passes only when every one of its samples does.
//!
//! Run it with `cargo run -p probity --example custom_aggregator`.

use std::{collections::BTreeMap, error::Error, sync::Arc};

use probity::{PhaseSettings, Pipeline, RunOptions, Session, demo, standard_phases};
use schema::{Aggregator, Fingerprint, MetricType, ModelId, Rate, Score, Summary};

/// Counts each scenario once, by its worst sample.
struct WorstOfSamples {
    model: ModelId,
    /// Per scenario: its metric, that metric's type, and whether all samples with a verdict passed.
    scenarios: BTreeMap<String, (String, MetricType, Option<bool>)>,
}

impl WorstOfSamples {
    fn new(model: ModelId) -> Self {
        Self {
            model,
            scenarios: BTreeMap::new(),
        }
    }

    /// The rate of the scenarios that `wanted` picks, and how many there are.
    fn rate(&self, wanted: impl Fn(&str, MetricType) -> bool) -> (Rate, u64) {
        let rows = self.scenarios.values().filter(|row| wanted(&row.0, row.1));
        let worst: Vec<Option<bool>> = rows.map(|row| row.2).collect();
        let count = |verdict| {
            worst
                .iter()
                .filter(|worst| **worst == Some(verdict))
                .count() as u64
        };
        let rate = Rate::new(count(true), count(true) + count(false));
        (rate, worst.len() as u64)
    }
}

impl Aggregator for WorstOfSamples {
    fn push(&mut self, score: &Score) {
        let first = || (score.metric_id.clone(), score.metric_type, None);
        let (_, _, worst) = self.scenarios.entry(score.id.clone()).or_insert_with(first);
        // A sample without a verdict says nothing about the scenario.
        if let Some(passed) = score.outcome().passed() {
            *worst = Some(worst.unwrap_or(true) && passed);
        }
    }

    fn finish(self: Box<Self>) -> Summary {
        let (positive, n_positive) = self.rate(|_, of| of == MetricType::Positive);
        let (negative, n_negative) = self.rate(|_, of| of == MetricType::Negative);
        let by_metric = self.scenarios.values().map(|(metric, _, _)| {
            let (rate, _) = self.rate(|id, _| id == metric);
            (metric.clone(), rate)
        });
        let by_scenario = self.scenarios.iter().map(|(id, (_, _, worst))| {
            let rate = Rate::new(u64::from(*worst == Some(true)), u64::from(worst.is_some()));
            (id.clone(), rate)
        });
        Summary {
            target_model: self.model.clone(),
            positive_pass_rate: positive.pass_rate,
            negative_pass_rate: negative.pass_rate,
            n_positive,
            n_negative,
            n_total: n_positive + n_negative,
            by_metric: by_metric.collect(),
            by_scenario: by_scenario.collect(),
        }
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint {
            name: "WorstOfSamples".into(),
            version: 1,
            settings: serde_json::json!({}),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = scripted_llm::ScriptedServer::start().await?;
    let folder = tempfile::tempdir()?;
    let layout = demo::layout(folder.path())?;
    let session = Arc::new(Session::default());
    let models = demo::models(&session, server.base_url())?;

    let mut phases = standard_phases(models, PhaseSettings::default())?;
    phases.aggregator = Some(Box::new(|target| {
        Box::new(WorstOfSamples::new(target.clone()))
    }));

    let options = RunOptions {
        samples: 3,
        ..RunOptions::default()
    };
    let report = demo::run(&Pipeline::new(session, layout, phases, options)).await?;
    println!("A scenario passes when it does in all samples:");
    print!("{}", demo::rates(&report));
    Ok(())
}
