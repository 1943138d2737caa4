//! How many rows and base scenarios a run will have, metric by metric.

use std::collections::{BTreeMap, BTreeSet};

use aggregator::statistics::ScenarioIndex;
use engine::{NeededScenarios, PlanSettings};
use schema::{Benchmark, Scenario};

/// The rows of one target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Base scenarios.
    pub(super) scenarios: u64,
    pub(super) rows: u64,
}

impl Size {
    /// The scenarios that are generated for so many metrics.
    pub(super) fn planned(settings: &PlanSettings, metrics: u64) -> Self {
        let scenarios = settings.scenarios_per_metric.saturating_mul(metrics);
        let rows = scenarios.saturating_mul(settings.variants);
        Self {
            scenarios,
            rows: rows.saturating_mul(settings.samples),
        }
    }
}

/// The rows of each metric of a benchmark.
pub(super) struct Sizes<'b> {
    settings: &'b PlanSettings,
    /// Metrics whose scenarios are not generated yet.
    wanted: BTreeSet<&'b str>,
    /// The base scenarios and the number of rows of the other metrics.
    existing: BTreeMap<&'b str, (BTreeSet<&'b str>, u64)>,
}

impl<'b> Sizes<'b> {
    pub(super) fn of(
        benchmark: &'b Benchmark,
        scenarios: &'b [Scenario],
        index: &'b ScenarioIndex,
        wanted: &NeededScenarios,
        settings: &'b PlanSettings,
    ) -> Self {
        let ids = benchmark.metrics.iter().map(|metric| &*metric.id);
        let wanted: BTreeSet<&str> = ids.filter(|id| wanted.has(id)).collect();
        let mut existing: BTreeMap<&str, (BTreeSet<&str>, u64)> = BTreeMap::new();
        for scenario in scenarios {
            if wanted.contains(&*scenario.metric_id) {
                continue;
            }
            let (bases, rows) = existing.entry(&scenario.metric_id).or_default();
            bases.insert(index.base(&scenario.id));
            *rows = rows.saturating_add(settings.samples);
        }
        Self {
            settings,
            wanted,
            existing,
        }
    }

    /// The rows of these metrics together.
    pub(super) fn size(&self, metrics: &[&str]) -> Size {
        let planned = metrics
            .iter()
            .filter(|id| self.wanted.contains(**id))
            .fold(0, |count, _| count + 1);
        let mut size = Size::planned(self.settings, planned);
        let mut bases: BTreeSet<&str> = BTreeSet::new();
        for (of_metric, rows) in metrics.iter().filter_map(|id| self.existing.get(id)) {
            bases.extend(of_metric);
            size.rows = size.rows.saturating_add(*rows);
        }
        size.scenarios = size.scenarios.saturating_add(bases.len() as u64);
        size
    }
}
