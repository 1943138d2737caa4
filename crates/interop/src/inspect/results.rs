//! The results over a log's samples: rates by metric, and scores reduced over epochs.

use indexmap::IndexMap;
use jiff::Timestamp;
use schema::statistics::Statistics;
use serde::Serialize;
use serde_json::{Value, json};

use super::{json::ScoreValue, sample::SampleParts, usage::Used};
use crate::{Run, Sample, run::Scope};

/// Sums over samples. Keeps two numbers per sample.
#[derive(Default)]
pub(super) struct Sums {
    scorers: IndexMap<String, Tally>,
    /// The number of samples, and of samples without an error.
    samples: u64,
    completed: u64,
    /// The epochs of each sample id, in order of first appearance.
    seen: IndexMap<String, Vec<u64>>,
    /// The highest epoch.
    pub(super) epochs: u64,
    pub(super) used: Used,
    /// When the first sample began and the last one ended, if known.
    pub(super) started: Option<Timestamp>,
    /// See `started`.
    pub(super) ended: Option<Timestamp>,
}

/// One metric.
#[derive(Default)]
struct Tally {
    passed: u64,
    scored: u64,
    unscored: u64,
    /// The rows in `passed` and `scored` that are not in the log.
    unlisted: u64,
    /// Whether there is a score between 0 and 1.
    is_graded: bool,
    sum: f64,
    /// Sum and number of the scores of each sample id.
    by_id: IndexMap<String, (f64, u32)>,
}

impl Sums {
    /// Sums with the metrics of `run`, so that a metric without samples is listed too.
    pub(super) fn new(run: &Run) -> Self {
        let unlisted = |id: &str| {
            let mut all = run.unlisted.iter();
            all.find(|(of, _)| of == id)
                .map_or(0, |(_, passed)| *passed)
        };
        let tally = |id: &str| Tally {
            passed: unlisted(id),
            scored: unlisted(id),
            unlisted: unlisted(id),
            ..Tally::default()
        };
        let metrics = run.benchmark.metrics.iter();
        Self {
            scorers: metrics
                .map(|metric| (metric.id.clone(), tally(&metric.id)))
                .collect(),
            epochs: run.samples_per_scenario.map_or(1, u64::from).max(1),
            ..Self::default()
        }
    }

    /// Whether the log already has this epoch of this sample.
    pub(super) fn has(&self, id: &str, epoch: u64) -> bool {
        self.seen
            .get(id)
            .is_some_and(|epochs| epochs.contains(&epoch))
    }

    pub(super) fn add(&mut self, parts: &SampleParts<'_>, sample: &Sample) {
        self.samples += 1;
        self.completed += u64::from(sample.conversation.error.is_none());
        self.started = match (self.started, sample.started) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.ended = self.ended.max(sample.ended);
        match self.seen.get_mut(&parts.id) {
            Some(epochs) => epochs.push(parts.epoch),
            None => {
                self.seen.insert(parts.id.clone(), vec![parts.epoch]);
            }
        }
        self.epochs = self.epochs.max(parts.epoch);
        self.used.add(&parts.used);
        for (name, score) in &parts.scores.0 {
            if !self.scorers.contains_key(name.as_ref()) {
                self.scorers
                    .insert(name.clone().into_owned(), Tally::default());
            }
            if let Some(tally) = self.scorers.get_mut(name.as_ref()) {
                tally.add(&parts.id, score.value, score.passed);
            }
        }
    }

    /// The distinct sample ids. Inspect uses them to read samples one at a time.
    pub(super) fn sample_ids(&self) -> Vec<&str> {
        self.seen.keys().map(String::as_str).collect()
    }

    /// The number of samples, including repetitions.
    pub(super) fn samples(&self) -> u64 {
        self.samples
    }

    /// The names of all scorers.
    pub(super) fn scorers(&self) -> impl Iterator<Item = &str> {
        self.scorers.keys().map(String::as_str)
    }

    /// The section `results` of the header.
    pub(super) fn results(&self, run: &Run) -> Value {
        let scores: Vec<Value> = self
            .scorers
            .iter()
            .map(|(name, tally)| tally.score(name, run, self.epochs))
            .collect();
        json!({
            "total_samples": self.samples,
            "completed_samples": self.completed,
            "scores": scores,
        })
    }

    /// The scores of each sample id reduced to one, by scorer. `None` if there is only one epoch.
    pub(super) fn reductions(&self) -> Option<Vec<Reductions<'_>>> {
        let scorers = self.scorers.iter();
        (self.epochs > 1).then(|| {
            scorers
                .map(|(name, tally)| tally.reductions(name))
                .collect()
        })
    }
}

/// A part of `reductions.json`.
#[derive(Serialize)]
pub(super) struct Reductions<'a> {
    scorer: &'a str,
    reducer: &'static str,
    samples: Vec<Reduced<'a>>,
}

#[derive(Serialize)]
struct Reduced<'a> {
    value: ScoreValue,
    sample_id: &'a str,
}

impl Tally {
    fn add(&mut self, id: &str, value: ScoreValue, passed: bool) {
        if !self.by_id.contains_key(id) {
            self.by_id.insert(id.to_owned(), (0.0, 0));
        }
        let ScoreValue::Known(value) = value else {
            self.unscored += 1;
            return;
        };
        self.scored += 1;
        self.passed += u64::from(passed);
        self.is_graded |= value != 0.0 && value != 1.0;
        self.sum += value;
        if let Some((sum, n)) = self.by_id.get_mut(id) {
            *sum += value;
            *n += 1;
        }
    }

    /// The mean of each sample id.
    fn reductions<'a>(&'a self, scorer: &'a str) -> Reductions<'a> {
        let by_id = self.by_id.iter();
        let reduced = by_id.map(|(id, (sum, n))| Reduced {
            value: mean(*sum, *n).map_or(ScoreValue::Unscored, ScoreValue::Known),
            sample_id: id,
        });
        Reductions {
            scorer,
            reducer: "mean",
            samples: reduced.collect(),
        }
    }

    fn score(&self, name: &str, run: &Run, epochs: u64) -> Value {
        let mut metrics = serde_json::Map::new();
        let statistics = run.rate(Scope::Metric(name), self.passed, self.scored);
        if self.scored > 0 {
            #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 rows")]
            let rate = self.passed as f64 / self.scored as f64;
            let mut metric = json!({"name": "pass_rate", "value": rate, "params": {}});
            if let (Some(rate), Some(metric)) = (statistics, metric.as_object_mut()) {
                metric.insert(
                    "metadata".to_owned(),
                    json!({
                        "lower": rate.lower,
                        "upper": rate.upper,
                        "level": Statistics::LEVEL,
                        "method": rate.method(),
                        "scenarios": rate.scenarios,
                        "effective_rows": rate.effective_rows,
                    }),
                );
            }
            metrics.insert("pass_rate".to_owned(), metric);
        }
        let listed = self.scored - self.unlisted;
        if self.is_graded && listed > 0 {
            #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 rows")]
            let mean = self.sum / listed as f64;
            let metric = json!({"name": "mean", "value": mean, "params": {}});
            metrics.insert("mean".to_owned(), metric);
        }
        if let Some(error) = statistics.and_then(|rate| rate.standard_error) {
            let metric = json!({"name": "stderr", "value": error, "params": {}});
            metrics.insert("stderr".to_owned(), metric);
        }
        let mut score = json!({
            "name": name,
            "scorer": name,
            "scored_samples": listed,
            "unscored_samples": self.unscored,
            "params": {},
            "metrics": metrics,
            "metadata": {"passed": self.passed},
        });
        if let Some(score) = score.as_object_mut().filter(|_| epochs > 1) {
            score.insert("reducer".to_owned(), Value::from("mean"));
        }
        if self.unlisted > 0
            && let Some(metadata) = score.get_mut("metadata").and_then(Value::as_object_mut)
        {
            metadata.insert("passed_unlisted".to_owned(), self.unlisted.into());
        }
        score
    }
}

fn mean(sum: f64, n: u32) -> Option<f64> {
    (n > 0).then(|| sum / f64::from(n))
}
