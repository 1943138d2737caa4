//! The statistics of one target.

use std::collections::BTreeMap;

use schema::{
    Hazard, MetricType, ModelId,
    statistics::{RateStatistics, Rates, ReliabilityStatistics, TargetStatistics},
};

use super::{
    ScenarioIndex, TargetRows,
    rate_of_units::rate_of,
    reliability::{ScenarioCounts, pass_hat_k},
    target_rows::Unit,
    variants_of_target::variants,
};

impl TargetRows {
    /// The statistics of these rows. `index` contains their scenarios, `hazards` the hazards of the benchmark.
    #[must_use]
    pub fn statistics(&self, index: &ScenarioIndex, hazards: &[Hazard]) -> TargetStatistics {
        let units = self.units(index);
        let mut metrics = ByMetric::new();
        for unit in &units {
            metrics.entry(unit.metric).or_default().push(unit);
        }
        TargetStatistics {
            target: self.target().clone(),
            scores_sha256: self.scores_sha256().map(str::to_owned),
            rates: rates((self.target(), &units), &metrics, hazards, index),
            reliability: reliability(&units, &metrics),
            variants: variants(&units, index),
            judge: self.judges.statistics(),
            simulator: self.simulator(index),
            realism: self.realism.statistics(index),
            replies: self.replies.clone(),
            other_type: self.other_type,
        }
    }
}

type ByMetric<'a> = BTreeMap<&'a str, Vec<&'a Unit<'a>>>;

fn rates(
    rows: (&ModelId, &[Unit<'_>]),
    metrics: &ByMetric<'_>,
    hazards: &[Hazard],
    index: &ScenarioIndex,
) -> Rates {
    let of_type =
        |metric_type| rate_in_scope(rows, index, move |_, of_unit| of_unit == metric_type);
    let of_hazard = |hazard: &Hazard| {
        let is_in = |metric: &str, _| hazard.metrics.iter().any(|id| id == metric);
        (hazard.id.clone(), rate_in_scope(rows, index, is_in))
    };
    let of_metric = |metric: &str| rate_in_scope(rows, index, |id, _| id == metric);
    Rates {
        all: rate_in_scope(rows, index, |_, _| true),
        positive: of_type(MetricType::Positive),
        negative: of_type(MetricType::Negative),
        hazards: hazards.iter().map(of_hazard).collect(),
        metrics: metrics
            .keys()
            .map(|id| ((*id).to_owned(), of_metric(id)))
            .collect(),
    }
}

/// The rate of the metrics for which `is_in` holds, given their types. Where scenarios are simulated in an order until rules are decided, it
/// is that of the scenarios without a gap, with the interval that holds at every look.
fn rate_in_scope(
    (target, units): (&ModelId, &[Unit<'_>]),
    index: &ScenarioIndex,
    is_in: impl Fn(&str, MetricType) -> bool,
) -> RateStatistics {
    match index.sequence() {
        Some(sequence) => sequence.rate((target, units), index, is_in),
        None => {
            let is_in_scope = |unit: &&Unit<'_>| is_in(unit.metric, unit.metric_type);
            rate_of(units.iter().filter(is_in_scope), index.alike())
        }
    }
}

/// pass^k at the number of samples, if it is at least two.
fn reliability(units: &[Unit<'_>], metrics: &ByMetric<'_>) -> Vec<ReliabilityStatistics> {
    let k = units.iter().map(|unit| unit.counts.rows()).max();
    let Some(k) = k.filter(|k| *k >= 2) else {
        return Vec::new();
    };
    let of_type = |metric_type| {
        let of_type = move |unit: &&Unit<'_>| unit.metric_type == metric_type;
        units.iter().filter(of_type)
    };
    // One scope after the other, so that memory holds the counts of one scope only.
    let pooled = [
        reliability_of("all", k, units.iter()),
        reliability_of("positive", k, of_type(MetricType::Positive)),
        reliability_of("negative", k, of_type(MetricType::Negative)),
    ];
    let by_metric = metrics
        .iter()
        .map(|(id, units)| reliability_of(id, k, units.iter().copied()));
    pooled.into_iter().chain(by_metric).flatten().collect()
}

/// pass^k over the units of one scope; `None` without units.
fn reliability_of<'a>(
    scope: &str,
    k: u64,
    units: impl Iterator<Item = &'a Unit<'a>>,
) -> Option<ReliabilityStatistics> {
    let counts: Vec<_> = units
        .map(|unit| ScenarioCounts {
            base: unit.base,
            passed: unit.counts.passed(),
            scored: unit.counts.scored(),
        })
        .collect();
    if counts.is_empty() {
        return None;
    }
    let found = pass_hat_k(k, &counts);
    Some(ReliabilityStatistics {
        scope: scope.to_owned(),
        k,
        units: found.units,
        left_out: found.left_out,
        estimate: found.rate.map(|rate| rate.estimate),
        lower: found.rate.map(|rate| rate.lower),
        upper: found.rate.map(|rate| rate.upper),
    })
}
