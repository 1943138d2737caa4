//! What a run could show for each metric, before it costs anything.

use std::collections::{BTreeMap, BTreeSet};

use aggregator::statistics::{PlannedMetric, ScenarioIndex, scenarios_needed};
use engine::{PlanSettings, WantedScenarios, wanted_scenarios};
use schema::{
    Benchmark, Scenario,
    statistics::{MetricPlan, PlanAssumptions, Statistics},
};
use store::{
    Layout, RunError, read_benchmark, read_scenario_index, read_scenarios, read_statistics,
};

/// What a run of each benchmark could show for one target and for two, metric by metric. With `want_difference`, from 0 to 1, also
/// how many base scenarios are needed to show such a difference.
///
/// Scenarios that are not generated yet are counted as the settings plan them; planned metrics have one entry that applies to each.
/// A metric that gets no scenarios has no entry. Measurements of an earlier run of the benchmark, from its `statistics.json`,
/// replace assumptions.
///
/// # Errors
/// When a benchmark cannot be read.
pub fn plan_metrics(
    layout: &Layout,
    benchmarks: &[String],
    settings: &PlanSettings,
    want_difference: Option<f64>,
) -> Result<Vec<MetricPlan>, RunError> {
    let mut plans = Vec::new();
    for name in benchmarks {
        let dir = layout.benchmark(name)?;
        let benchmark = read_benchmark(&dir)?;
        let scenarios = read_scenarios(&dir.scenarios())?;
        let planner = Planner {
            name,
            settings,
            index: read_scenario_index(&dir)?,
            wanted: wanted_scenarios(layout, name, false)?,
            earlier: read_statistics(&dir.statistics()).ok(),
            want_difference,
        };
        plans.extend(planner.plans(&benchmark, &scenarios));
    }
    Ok(plans)
}

struct Planner<'p> {
    name: &'p str,
    settings: &'p PlanSettings,
    index: ScenarioIndex,
    wanted: WantedScenarios,
    earlier: Option<Statistics>,
    want_difference: Option<f64>,
}

/// The rows of one metric and one target.
#[derive(Clone, Copy, Default)]
struct Size {
    /// Base scenarios.
    scenarios: u64,
    rows: u64,
}

impl Planner<'_> {
    fn plans(&self, benchmark: &Benchmark, scenarios: &[Scenario]) -> Vec<MetricPlan> {
        if benchmark.metrics.is_empty() {
            let plan = self.plan(None, self.planned(), self.settings.metrics.high);
            return plan.into_iter().collect();
        }
        let existing = self.existing(scenarios);
        let sizes = benchmark.metrics.iter().map(|metric| {
            let size = match self.wanted.has(&metric.id) {
                true => self.planned(),
                false => existing.get(&*metric.id).copied().unwrap_or_default(),
            };
            (&*metric.id, size)
        });
        let sizes: Vec<(&str, Size)> = sizes.filter(|(_, size)| size.rows > 0).collect();
        let metrics = sizes.len() as u64;
        let plans = sizes.iter();
        plans
            .filter_map(|(metric, size)| self.plan(Some(metric), *size, metrics))
            .collect()
    }

    /// The scenarios that are generated for a metric.
    fn planned(&self) -> Size {
        let settings = self.settings;
        let scenarios = settings.scenarios_per_metric;
        let rows = scenarios.saturating_mul(settings.variants);
        Size {
            scenarios,
            rows: rows.saturating_mul(settings.samples),
        }
    }

    /// The existing rows of `scenarios.json`, by metric.
    fn existing<'s>(&'s self, scenarios: &'s [Scenario]) -> BTreeMap<&'s str, Size> {
        let mut found: BTreeMap<&str, (BTreeSet<&str>, u64)> = BTreeMap::new();
        for scenario in scenarios {
            let (bases, rows) = found.entry(&scenario.metric_id).or_default();
            bases.insert(self.index.base(&scenario.id));
            *rows = rows.saturating_add(self.settings.samples);
        }
        let sizes = found.into_iter().map(|(metric, (bases, rows))| {
            let scenarios = bases.len() as u64;
            (metric, Size { scenarios, rows })
        });
        sizes.collect()
    }

    fn plan(&self, metric: Option<&str>, size: Size, metrics: u64) -> Option<MetricPlan> {
        let assumed = self.assumptions(metric);
        #[expect(clippy::cast_precision_loss, reason = "no plan has 2^53 rows")]
        let rows_each = size.rows as f64 / size.scenarios as f64;
        let planned = PlannedMetric {
            scenarios: size.scenarios,
            rows_each,
            icc: assumed.icc,
            rate: assumed.rate,
            correlation: assumed.correlation,
            metrics,
        };
        let plan = planned.plan()?;
        let needed = |difference| scenarios_needed(&planned, difference);
        Some(MetricPlan {
            benchmark: self.name.to_owned(),
            metric: metric.map(str::to_owned),
            metrics,
            scenarios: size.scenarios,
            rows: size.rows,
            design_effect: plan.design_effect,
            effective_rows: plan.effective_rows,
            expected_lower: plan.expected_lower,
            expected_upper: plan.expected_upper,
            upper_if_none_fails: plan.upper_if_none_fails,
            smallest_p: plan.smallest_p,
            can_differ: plan.can_differ,
            smallest_difference: plan.smallest_difference.filter(|_| plan.can_differ),
            scenarios_needed: self.want_difference.and_then(needed),
            assumed,
        })
    }

    /// The measurements of an earlier run for the metric, as the mean over its targets, and assumptions for the rest. A rate of 0 or
    /// 1 does not show how far rates spread.
    fn assumptions(&self, metric: Option<&str>) -> PlanAssumptions {
        let default = PlannedMetric::default();
        let mut assumed = PlanAssumptions {
            rate: default.rate,
            icc: default.icc,
            correlation: default.correlation,
            measured: Vec::new(),
        };
        let (Some(earlier), Some(metric)) = (&self.earlier, metric) else {
            return assumed;
        };
        let targets = earlier.targets.iter();
        let rates = targets.filter_map(|target| target.rates.metrics.get(metric));
        let pairs = earlier.comparisons.iter();
        let pairs = pairs.filter(|pair| pair.scope == metric);
        let rate = mean(rates.clone().filter_map(|rate| rate.estimate));
        for (name, place, found) in [
            (
                "rate",
                &mut assumed.rate,
                rate.filter(|rate| *rate > 0.0 && *rate < 1.0),
            ),
            (
                "icc",
                &mut assumed.icc,
                mean(rates.filter_map(|rate| rate.icc)),
            ),
            (
                "correlation",
                &mut assumed.correlation,
                mean(pairs.map(|pair| pair.difference.correlation)),
            ),
        ] {
            if let Some(found) = found {
                *place = found;
                assumed.measured.push(name.to_owned());
            }
        }
        assumed
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    (count > 0.0).then(|| sum / count)
}
