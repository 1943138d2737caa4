//! Counts rows for rates.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schema::{Aggregator, Fingerprint, MetricType, ModelId, Rate, Score, Summary};
use serde_json::json;

use crate::ScoreRow;

/// Pass rates by type, by metric and by scenario: the summary of `results.json`.
///
/// Rows count as positive or negative by the type that they record, as ImpactBench counts them: see [`ScoreRow::recorded_type`].
/// `n_positive`, `n_negative` and `n_total` count all rows. Rates, and `n_total` inside `by_metric` and `by_scenario`,
/// count only the rows with a verdict; without such rows the rate is null, but the entry exists.
#[derive(Clone, Debug)]
pub struct RateAggregator {
    model: ModelId,
    positive: Counts,
    negative: Counts,
    // In the order of the rows: rows are usually sorted, which makes the final sort cheap.
    by_metric: IndexMap<String, Counts>,
    by_scenario: IndexMap<String, Counts>,
}

/// The counts of a group of rows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    rows: u64,
    /// Rows with a verdict.
    pub(crate) scored: u64,
    /// Rows that passed.
    pub(crate) passed: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, passed: Option<bool>) {
        self.rows += 1;
        self.scored += u64::from(passed.is_some());
        self.passed += u64::from(passed == Some(true));
    }

    pub(crate) fn of(passed: u64, failed: u64, unscored: u64) -> Self {
        Self {
            rows: passed + failed + unscored,
            scored: passed + failed,
            passed,
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            rows: self.rows + other.rows,
            scored: self.scored + other.scored,
            passed: self.passed + other.passed,
        }
    }

    pub(crate) fn unscored(self) -> u64 {
        self.rows - self.scored
    }

    fn rate(self) -> Rate {
        Rate::new(self.passed, self.scored)
    }
}

impl RateAggregator {
    /// An aggregator for the rows of `model`.
    #[must_use]
    pub fn new(model: ModelId) -> Self {
        Self {
            model,
            positive: Counts::default(),
            negative: Counts::default(),
            by_metric: IndexMap::new(),
            by_scenario: IndexMap::new(),
        }
    }

    /// Counts one row. The same as [`Aggregator::push`], but without a complete [`Score`].
    pub fn push_row(&mut self, row: &ScoreRow<'_>) {
        let passed = row.outcome().passed();
        match row.recorded_type {
            MetricType::Positive => self.positive.add(passed),
            MetricType::Negative => self.negative.add(passed),
        }
        count(&mut self.by_metric, &row.metric_id, passed);
        count(&mut self.by_scenario, &row.id, passed);
    }

    /// The summary of all rows. The same as [`Aggregator::finish`], but without a box.
    #[must_use]
    pub fn into_summary(self) -> Summary {
        Summary {
            target_model: self.model,
            positive_pass_rate: self.positive.rate().pass_rate,
            negative_pass_rate: self.negative.rate().pass_rate,
            n_positive: self.positive.rows,
            n_negative: self.negative.rows,
            n_total: self.positive.rows + self.negative.rows,
            by_metric: sorted(self.by_metric),
            by_scenario: sorted(self.by_scenario),
        }
    }
}

impl Aggregator for RateAggregator {
    fn push(&mut self, score: &Score) {
        self.push_row(&score.into());
    }

    fn finish(self: Box<Self>) -> Summary {
        self.into_summary()
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint {
            name: "RateAggregator".into(),
            version: 1,
            settings: json!({}),
        }
    }
}

/// Adds to the entry of `key`. The key is copied only if it is new.
fn count(counts: &mut IndexMap<String, Counts>, key: &str, passed: Option<bool>) {
    let entry = match counts.get_mut(key) {
        Some(entry) => entry,
        None => counts.entry(key.to_owned()).or_default(),
    };
    entry.add(passed);
}

fn sorted(counts: IndexMap<String, Counts>) -> BTreeMap<String, Rate> {
    let rate = |(key, counts): (String, Counts)| (key, counts.rate());
    counts.into_iter().map(rate).collect()
}
