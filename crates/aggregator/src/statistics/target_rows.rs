//! Counting the rows of one target for its statistics.

use indexmap::IndexMap;
use schema::{MetricType, ModelId, NoVerdict};

use super::{ScenarioIndex, judges::JudgeRows, missing::MissingCluster};
use crate::ScoreRow;

/// The counts of one target's rows by scenario and metric. Its memory follows the number of scenarios, not of rows.
#[derive(Clone, Debug)]
pub struct TargetRows {
    target: ModelId,
    metrics: IndexMap<String, MetricType>,
    scenarios: IndexMap<String, Vec<(usize, UnitCounts)>>,
    pub(super) judges: JudgeRows,
    /// The scenario and metric of the last row: rows mostly come sorted.
    last: Option<(usize, usize)>,
}

/// The rows of one metric in one scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UnitCounts {
    pub(super) passed: u64,
    pub(super) scored: u64,
    pub(super) failed: u64,
    pub(super) abstained: u64,
    pub(super) incomplete: u64,
    /// Of the failed and abstained rows, those that say why.
    pub(super) reasons: [u32; NoVerdict::ALL.len()],
}

impl UnitCounts {
    pub(super) fn rows(&self) -> u64 {
        self.scored + self.failed + self.abstained
    }

    /// For bounds: a passed row of a negative metric whose conversation is incomplete is missing there.
    pub(super) fn as_missing(&self) -> MissingCluster {
        MissingCluster {
            passed: self.passed - self.incomplete,
            scored: self.scored - self.incomplete,
            missing: self.failed + self.abstained + self.incomplete,
        }
    }
}

/// The counts of one metric in one scenario, with the names that they are compared and grouped by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit<'a> {
    pub(super) base: &'a str,
    pub(super) scenario: &'a str,
    pub(super) metric: &'a str,
    pub(super) metric_type: MetricType,
    pub(super) counts: UnitCounts,
}

impl TargetRows {
    /// No rows of `target` yet.
    #[must_use]
    pub fn new(target: ModelId) -> Self {
        Self {
            target,
            metrics: IndexMap::new(),
            scenarios: IndexMap::new(),
            judges: JudgeRows::default(),
            last: None,
        }
    }

    /// The system under test.
    #[must_use]
    pub fn target(&self) -> &ModelId {
        &self.target
    }

    /// Takes one row. `incomplete`: whether a reply of the target in its conversation is empty or cut off.
    pub fn push_row(&mut self, row: &ScoreRow<'_>, incomplete: bool) {
        self.judges.push_row(row);
        let Some(counts) = self.counts(row) else {
            return;
        };
        match row.passed {
            Some(passed) => {
                counts.scored += 1;
                counts.passed += u64::from(passed);
                let unsaid = incomplete && passed && row.metric_type == MetricType::Negative;
                counts.incomplete += u64::from(unsaid);
            }
            None => {
                match row.failed {
                    true => counts.failed += 1,
                    false => counts.abstained += 1,
                }
                if let Some(reason) = row.no_verdict {
                    counts.reasons[reason as usize] += 1;
                }
            }
        }
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
        let (scenario, metric) = last.unwrap_or_else(|| self.places(row));
        self.last = Some((scenario, metric));
        let (_, units) = self.scenarios.get_index_mut(scenario)?;
        let place = units.iter().position(|(place, _)| *place == metric);
        let place = place.unwrap_or_else(|| {
            units.push((metric, UnitCounts::default()));
            units.len() - 1
        });
        units.get_mut(place).map(|(_, counts)| counts)
    }

    /// Where the row's scenario and metric are. Their names are copied only when they are new.
    fn places(&mut self, row: &ScoreRow<'_>) -> (usize, usize) {
        let scenario = self.scenarios.get_index_of(row.id.as_ref());
        let scenario = scenario
            .unwrap_or_else(|| self.scenarios.insert_full(row.id.to_string(), Vec::new()).0);
        let metric = self.metrics.get_index_of(row.metric_id.as_ref());
        let metric = metric.unwrap_or_else(|| {
            let id = row.metric_id.to_string();
            self.metrics.insert_full(id, row.metric_type).0
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
                        counts: *counts,
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
