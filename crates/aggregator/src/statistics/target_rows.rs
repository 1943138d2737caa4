//! Counts the rows of one target for its statistics.

use indexmap::IndexMap;
use schema::{
    IncompleteReplies, MetricType, ModelId, NoVerdict, ScoreOutcome, SimulatorStatistics,
};

use super::{
    ScenarioIndex, Verdicts, judges::JudgeRows, missing::MissingCluster, rate_of_units::RowVerdict,
    realism::RealismRows, simulator_sample::SimulatorSampleRows,
};
use crate::ScoreRow;

/// The counts of one target's rows by scenario and metric. Memory depends on the number of scenarios, not of rows.
#[derive(Clone, Debug)]
pub struct TargetRows {
    target: ModelId,
    metrics: IndexMap<String, MetricType>,
    scenarios: IndexMap<String, Vec<(usize, UnitCounts)>>,
    pub(super) judges: JudgeRows,
    /// The scenario and metric of the last row: rows are usually sorted.
    last: Option<(usize, usize)>,
    simulator: Option<SimulatorStatistics>,
    simulator_sample: SimulatorSampleRows,
    pub(super) realism: RealismRows,
    scores_sha256: Option<String>,
    pub(super) replies: Option<IncompleteReplies>,
    /// Rows that record another type than their metric has.
    pub(super) other_type: u64,
}

/// The rows of one metric in one scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UnitCounts {
    pub(super) verdicts: Verdicts,
    pub(super) failed: u64,
    pub(super) abstained: u64,
    /// The rows with a verdict that rests on an empty or cut-off reply: those that did not pass, and those that passed.
    pub(super) incomplete: [u64; 2],
    /// The failed and abstained rows with a known reason, by reason.
    pub(super) reasons: [u32; NoVerdict::ALL.len()],
}

impl UnitCounts {
    pub(super) fn push(&mut self, verdict: RowVerdict) {
        match verdict {
            RowVerdict::Yes => self.verdicts.push(true),
            RowVerdict::No => self.verdicts.push(false),
            RowVerdict::Incomplete { counts } => {
                self.verdicts.push(counts);
                self.incomplete[usize::from(counts)] += 1;
            }
            RowVerdict::Failed => self.failed += 1,
            RowVerdict::Abstained => self.abstained += 1,
        }
    }

    pub(super) fn passed(&self) -> u64 {
        self.verdicts.passed()
    }

    pub(super) fn scored(&self) -> u64 {
        self.verdicts.scored()
    }

    pub(super) fn rows(&self) -> u64 {
        self.scored() + self.failed + self.abstained
    }

    /// The rows whose verdict rests on an empty or cut-off reply.
    pub(super) fn incomplete(&self) -> u64 {
        self.incomplete.iter().sum()
    }

    /// The counts for bounds, where a row whose verdict rests on an empty or cut-off reply counts as missing.
    pub(super) fn as_missing(&self) -> MissingCluster {
        let [_, passed] = self.incomplete;
        MissingCluster {
            passed: self.passed() - passed,
            scored: self.scored() - self.incomplete(),
            missing: self.failed + self.abstained + self.incomplete(),
        }
    }
}

/// The verdicts of one metric in one scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoredUnit<'a> {
    /// The scenario's id.
    pub scenario: &'a str,
    /// The metric's id.
    pub metric: &'a str,
    /// Samples that passed.
    pub passed: u64,
    /// Samples with a verdict: at least one.
    pub scored: u64,
}

/// The counts of one metric in one scenario, with the keys for comparing and grouping.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit<'a> {
    pub(super) base: &'a str,
    pub(super) scenario: &'a str,
    pub(super) metric: &'a str,
    pub(super) metric_type: MetricType,
    pub(super) counts: &'a UnitCounts,
}

impl TargetRows {
    /// The empty counts of `target`.
    #[must_use]
    pub fn new(target: ModelId) -> Self {
        Self {
            target,
            metrics: IndexMap::new(),
            scenarios: IndexMap::new(),
            judges: JudgeRows::default(),
            last: None,
            simulator: None,
            simulator_sample: SimulatorSampleRows::default(),
            realism: RealismRows::default(),
            scores_sha256: None,
            replies: None,
            other_type: 0,
        }
    }

    /// The system under test.
    #[must_use]
    pub fn target(&self) -> &ModelId {
        &self.target
    }

    /// Sets how often the simulated user left its role in the conversations of the rows, and what a judge found in a sample of them.
    pub fn set_simulator(&mut self, statistics: SimulatorStatistics, sample: SimulatorSampleRows) {
        self.simulator = Some(statistics);
        self.simulator_sample = sample;
    }

    /// Sets the judged realism of the conversations of the rows.
    pub fn set_realism(&mut self, realism: RealismRows) {
        self.realism = realism;
    }

    /// Sets the SHA-256 of the `scores.json` that the rows are from.
    pub fn set_scores_sha256(&mut self, sha256: String) {
        self.scores_sha256 = Some(sha256);
    }

    /// The SHA-256 of the `scores.json` that the rows are from; `None` if they are not from one.
    #[must_use]
    pub fn scores_sha256(&self) -> Option<&str> {
        self.scores_sha256.as_deref()
    }

    /// Sets how many conversations of the rows have an empty or cut-off reply.
    pub fn set_replies(&mut self, replies: IncompleteReplies) {
        self.replies = (replies.incomplete > 0).then_some(replies);
    }

    /// `None` if no fault was found and no conversation was sampled.
    pub(super) fn simulator(&self, index: &ScenarioIndex) -> Option<SimulatorStatistics> {
        let sample = self.simulator_sample.statistics(index);
        let statistics = self.simulator.clone()?;
        let is_known = !statistics.faults.is_empty() || sample.is_some();
        is_known.then_some(SimulatorStatistics {
            sample,
            ..statistics
        })
    }

    /// Counts one row; rows of a scenario and metric come in the order of the samples. `incomplete`: whether a reply of the target in its conversation is empty or cut off.
    pub fn push_row(&mut self, row: &ScoreRow<'_>, incomplete: bool) {
        self.judges.push_row(row);
        self.other_type += u64::from(row.recorded_type != row.metric_type);
        let Some(counts) = self.counts(row) else {
            return;
        };
        let outcome = row.outcome();
        let is_silent = incomplete && row.metric_type == MetricType::Negative;
        counts.push(match outcome {
            ScoreOutcome::Passed if is_silent => RowVerdict::Incomplete { counts: true },
            outcome => outcome.into(),
        });
        if let Some(reason) = outcome.reason() {
            counts.reasons[reason as usize] += 1;
        }
    }

    /// Counts `scored` rows with a verdict of a scenario and metric, `passed` of which passed, in an unknown order.
    pub fn push_counts(
        &mut self,
        (scenario, metric, metric_type): (&str, &str, MetricType),
        passed: u64,
        scored: u64,
    ) {
        let places = self.places(scenario, metric, metric_type);
        if let Some(counts) = self.counts_at(places) {
            counts.verdicts.push_counts(passed, scored);
        }
    }

    /// Counts the row of the next sample of a scenario and metric.
    pub fn push_verdict(
        &mut self,
        (scenario, metric, metric_type): (&str, &str, MetricType),
        verdict: RowVerdict,
    ) {
        let places = self.places(scenario, metric, metric_type);
        if let Some(counts) = self.counts_at(places) {
            counts.push(verdict);
        }
    }

    /// Counts `rows` rows of a scenario and metric without a verdict because they failed.
    pub fn push_failed(
        &mut self,
        (scenario, metric, metric_type): (&str, &str, MetricType),
        rows: u64,
    ) {
        let places = self.places(scenario, metric, metric_type);
        if let Some(counts) = self.counts_at(places) {
            counts.failed += rows;
        }
    }

    /// Whether there is a row of this scenario and metric.
    #[must_use]
    pub fn has(&self, scenario: &str, metric: &str) -> bool {
        self.unit(scenario, metric).is_some()
    }

    fn unit(&self, scenario: &str, metric: &str) -> Option<&UnitCounts> {
        let metric = self.metrics.get_index_of(metric)?;
        let mut units = self.scenarios.get(scenario)?.iter();
        units
            .find(|(place, _)| *place == metric)
            .map(|(_, counts)| counts)
    }

    /// The largest number of rows of one scenario and metric.
    #[must_use]
    pub fn most_samples(&self) -> u64 {
        let units = self.scenarios.values().flatten();
        units.map(|(_, counts)| counts.rows()).max().unwrap_or(0)
    }

    /// Every scenario and metric with a verdict, in the order of the rows.
    pub fn scored_units(&self) -> impl Iterator<Item = ScoredUnit<'_>> {
        let all = self.scenarios.iter().flat_map(|(scenario, units)| {
            units
                .iter()
                .map(move |(metric, counts)| (scenario, *metric, counts))
        });
        all.filter(|(_, _, counts)| counts.scored() > 0)
            .filter_map(|(scenario, metric, counts)| {
                let (metric, _) = self.metrics.get_index(metric)?;
                Some(ScoredUnit {
                    scenario,
                    metric,
                    passed: counts.passed(),
                    scored: counts.scored(),
                })
            })
    }

    /// Rows without a verdict.
    #[must_use]
    pub fn missing(&self) -> u64 {
        let units = self.scenarios.values().flatten();
        units
            .map(|(_, counts)| counts.rows() - counts.scored())
            .sum()
    }

    fn counts(&mut self, row: &ScoreRow<'_>) -> Option<&mut UnitCounts> {
        let last = self.last.filter(|(scenario, metric)| {
            self.scenarios
                .get_index(*scenario)
                .is_some_and(|(id, _)| *id == row.id)
                && self
                    .metrics
                    .get_index(*metric)
                    .is_some_and(|(id, _)| *id == row.metric_id)
        });
        let places = last.unwrap_or_else(|| self.places(&row.id, &row.metric_id, row.metric_type));
        self.counts_at(places)
    }

    fn counts_at(&mut self, (scenario, metric): (usize, usize)) -> Option<&mut UnitCounts> {
        self.last = Some((scenario, metric));
        let (_, units) = self.scenarios.get_index_mut(scenario)?;
        let place = units
            .iter()
            .position(|(place, _)| *place == metric)
            .unwrap_or_else(|| {
                // Most scenarios have one metric, and a list would make room for four.
                units.reserve_exact(1);
                units.push((metric, UnitCounts::default()));
                units.len() - 1
            });
        units.get_mut(place).map(|(_, counts)| counts)
    }

    /// The indexes of the scenario and the metric. Their names are copied only if they are new.
    fn places(&mut self, scenario: &str, metric: &str, metric_type: MetricType) -> (usize, usize) {
        let place = self.scenarios.get_index_of(scenario);
        let scenario = place.unwrap_or_else(|| {
            let id = scenario.to_owned();
            self.scenarios.insert_full(id, Vec::new()).0
        });
        let place = self.metrics.get_index_of(metric);
        let metric = place.unwrap_or_else(|| {
            let id = metric.to_owned();
            self.metrics.insert_full(id, metric_type).0
        });
        (scenario, metric)
    }

    /// All counts, sorted by base scenario, scenario and metric.
    pub(super) fn units<'a>(&'a self, index: &'a ScenarioIndex) -> Vec<Unit<'a>> {
        let mut units: Vec<Unit<'a>> = Vec::with_capacity(self.scenarios.len());
        for (scenario, counted) in &self.scenarios {
            let base = index.base(scenario);
            for (metric, counts) in counted {
                if let Some((metric, metric_type)) = self.metrics.get_index(*metric) {
                    units.push(Unit {
                        base,
                        scenario,
                        metric,
                        metric_type: *metric_type,
                        counts,
                    });
                }
            }
        }
        units.sort_by(|a, b| {
            let key = |unit: &Unit<'a>| (unit.base, unit.scenario, unit.metric);
            key(a).cmp(&key(b))
        });
        units
    }
}
