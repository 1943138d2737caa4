//! The number of passed rows, by metric.

use std::collections::BTreeMap;

use schema::{MetricType, Score, VerdictTally, statistics::RateStatistics};

use crate::{Run, Sample, figures::RateFigures, run::Scope};

/// Rows of one metric, or of several.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Count {
    /// Rows that passed.
    pub(crate) passed: u64,
    /// Rows with a verdict.
    pub(crate) judged: u64,
    /// Rows without a verdict.
    pub(crate) unscored: u64,
    /// Of those that passed: conversations without a sample.
    pub(crate) unlisted: u64,
}

impl Count {
    pub(crate) fn add(&mut self, passed: Option<bool>) {
        match passed {
            Some(passed) => {
                self.judged += 1;
                self.passed += u64::from(passed);
            }
            None => self.unscored += 1,
        }
    }

    fn and(&mut self, other: &Self) {
        self.passed += other.passed;
        self.judged += other.judged;
        self.unscored += other.unscored;
        self.unlisted += other.unlisted;
    }

    /// The share of rows that passed; `None` without verdicts.
    pub(crate) fn rate(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 rows")]
        (self.judged > 0).then(|| self.passed as f64 / self.judged as f64)
    }

    /// The figures of the rate, with its statistics if they are known.
    pub(crate) fn figures<'r>(&self, statistics: Option<&'r RateStatistics>) -> RateFigures<'r> {
        RateFigures {
            passed: self.passed,
            rows: self.judged,
            no_verdict: self.unscored,
            share: self.rate(),
            statistics,
        }
    }

    /// The statistics of the rate, if `run` has them for these rows.
    pub(crate) fn statistics<'r>(
        &self,
        run: &'r Run,
        scope: Scope<'_>,
    ) -> Option<&'r RateStatistics> {
        run.rate(scope, self.passed, self.judged)
    }
}

/// One metric.
#[derive(Clone, Debug)]
pub(crate) struct MetricCount {
    pub(crate) name: String,
    pub(crate) metric_type: MetricType,
    pub(crate) count: Count,
    /// The values or labels that judges gave.
    pub(crate) verdicts: VerdictTally,
}

impl MetricCount {
    fn add(&mut self, score: &Score) {
        self.count.add(score.outcome().passed());
        if let Some(verdict) = &score.verdict {
            self.verdicts.add(verdict);
        }
    }
}

/// All metrics of a target.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    metrics: BTreeMap<String, MetricCount>,
    pub(crate) conversations: u64,
    pub(crate) failed: u64,
    /// The number of tool calls in all conversations.
    pub(crate) tool_calls: usize,
}

impl Tally {
    /// Counts the conversations that passed and have no sample, before the first sample.
    pub(crate) fn of(run: &Run) -> Self {
        let mut tally = Self::default();
        for (id, passed) in &run.unlisted {
            let metric = run.benchmark.metric(id);
            let count = MetricCount {
                name: metric.map_or(id, |metric| &metric.name).clone(),
                metric_type: metric.map_or(MetricType::Positive, |metric| metric.metric_type),
                count: Count {
                    passed: *passed,
                    judged: *passed,
                    unscored: 0,
                    unlisted: *passed,
                },
                verdicts: VerdictTally::default(),
            };
            tally.metrics.insert(id.clone(), count);
            tally.conversations += passed;
        }
        tally
    }

    pub(crate) fn add(&mut self, sample: &Sample) {
        self.conversations += 1;
        self.failed += u64::from(sample.conversation.error.is_some());
        let turns = sample.conversation.transcript.iter();
        self.tool_calls += turns.map(|turn| turn.tool_calls.len()).sum::<usize>();
        for score in &sample.scores {
            if let Some(metric) = self.metrics.get_mut(&score.metric_id) {
                metric.add(score);
                continue;
            }
            let mut metric = MetricCount {
                name: score.metric_name.clone(),
                metric_type: score.metric_type,
                count: Count::default(),
                verdicts: VerdictTally::default(),
            };
            metric.add(score);
            self.metrics.insert(score.metric_id.clone(), metric);
        }
    }

    /// The rows of one metric.
    pub(crate) fn of_metric(&self, id: &str) -> Option<&Count> {
        self.metrics.get(id).map(|metric| &metric.count)
    }

    /// The metrics in the order of the benchmark, then metrics that it does not have.
    pub(crate) fn metrics<'a>(
        &'a self,
        run: &'a Run,
    ) -> impl Iterator<Item = (&'a str, &'a MetricCount)> {
        let listed = run
            .benchmark
            .metrics
            .iter()
            .filter_map(|metric| self.metrics.get_key_value(&metric.id));
        let others = self
            .metrics
            .iter()
            .filter(|(id, _)| run.benchmark.metric(id).is_none());
        listed
            .chain(others)
            .map(|(id, metric)| (id.as_str(), metric))
    }

    /// All metrics of one type together.
    pub(crate) fn of_type(&self, metric_type: MetricType) -> Count {
        let mut sum = Count::default();
        let metrics = self
            .metrics
            .values()
            .filter(|metric| metric.metric_type == metric_type);
        metrics.for_each(|metric| sum.and(&metric.count));
        sum
    }
}
