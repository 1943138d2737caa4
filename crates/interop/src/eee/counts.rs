//! The counts of a target's rows.

use std::collections::BTreeMap;

use schema::{MetricType, Score, statistics::RateStatistics};
use serde_json::{Value, json};

use crate::{Run, Sample};

/// Rows of one metric, or of all metrics of one polarity.
#[derive(Clone, Debug, Default)]
pub(super) struct Count {
    /// Rows that passed.
    pub(super) passed: u64,
    /// Rows with a verdict.
    pub(super) judged: u64,
    /// Rows without a verdict.
    pub(super) unscored: u64,
    /// The number of passed rows that are not in the file.
    pub(super) unlisted: u64,
    /// The smallest and the greatest score, with 0 and 1 included.
    pub(super) lowest: f64,
    pub(super) highest: f64,
}

impl Count {
    pub(super) fn add(&mut self, verdict: Option<(f64, bool)>) {
        let Some((number, passed)) = verdict else {
            self.unscored += 1;
            return;
        };
        self.judged += 1;
        self.passed += u64::from(passed);
        self.lowest = self.lowest.min(number);
        self.highest = self.highest.max(number);
    }

    /// The counts as texts, `{"n_passed": …}`, with the basis of the interval of `rate`.
    pub(super) fn texts(&self, rate: Option<&RateStatistics>) -> Value {
        let mut texts = json!({
            "n_passed": self.passed.to_string(),
            "n_judged": self.judged.to_string(),
            "n_without_verdict": self.unscored.to_string(),
        });
        if let Some(texts) = texts.as_object_mut() {
            if self.unlisted > 0 {
                texts.insert("n_passed_unlisted".into(), self.unlisted.to_string().into());
            }
            if let Some(rate) = rate {
                texts.insert("n_scenarios".into(), rate.scenarios.to_string().into());
            }
            if let Some(rows) = rate.and_then(|rate| rate.effective_rows) {
                texts.insert("n_effective_rows".into(), rows.to_string().into());
            }
        }
        texts
    }
}

/// The counts of a target's rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// By metric id: its type, its name, its rows.
    pub(super) metrics: BTreeMap<String, (MetricTypeAndName, Count)>,
    pub(super) rows: u64,
    pub(super) conversations: u64,
    /// Conversations without scores, because they were not judged.
    pub(super) not_judged: u64,
}

impl Counts {
    /// Counts the conversations that passed and are not listed, before the first row.
    pub(super) fn begin(&mut self, run: &Run) {
        for (id, passed) in &run.unlisted {
            let metric = run.benchmark.metric(id);
            let about = (
                metric.map_or(MetricType::Positive, |metric| metric.metric_type),
                metric.map_or(id, |metric| &metric.name).clone(),
            );
            let count = Count {
                passed: *passed,
                judged: *passed,
                unlisted: *passed,
                ..Count::default()
            };
            self.metrics.insert(id.clone(), (about, count));
            self.conversations += passed;
        }
    }

    pub(super) fn add(&mut self, score: &Score, verdict: Option<(f64, bool)>) {
        if let Some((_, count)) = self.metrics.get_mut(&score.metric_id) {
            count.add(verdict);
            return;
        }
        let mut count = Count::default();
        count.add(verdict);
        let about = (score.metric_type, score.metric_name.clone());
        self.metrics.insert(score.metric_id.clone(), (about, count));
    }
}

pub(super) type MetricTypeAndName = (MetricType, String);

/// The fields of the samples that an aggregate needs besides their scores.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The first system prompt sent to the target, and whether all were the same.
    system_prompt: Option<Option<std::sync::Arc<str>>>,
    several: bool,
    pub(super) answered_by: Vec<String>,
}

impl Seen {
    pub(super) fn add(&mut self, sample: &Sample) {
        let first = self
            .system_prompt
            .get_or_insert_with(|| sample.system_prompt.clone());
        self.several |= *first != sample.system_prompt;
        for name in sample
            .calls_to(crate::Asked::Target)
            .filter_map(|call| call.answered_by.as_ref())
        {
            if !self.answered_by.contains(name) && self.answered_by.len() < 20 {
                self.answered_by.push(name.clone());
            }
        }
    }

    /// The system prompt that all samples share.
    pub(super) fn system_prompt(&self) -> Option<&str> {
        self.system_prompt
            .as_ref()?
            .as_deref()
            .filter(|_| !self.several)
    }
}
