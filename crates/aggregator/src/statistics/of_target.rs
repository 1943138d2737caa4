//! The statistics of one target.

use std::collections::BTreeMap;

use schema::{
    Hazard, MetricType,
    statistics::{Rates, ReliabilityStatistics, TargetStatistics},
};

use super::{
    AlikeBy, ScenarioIndex, TargetRows,
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
            rates: rates(&units, &metrics, hazards, index.alike()),
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

fn rates(units: &[Unit<'_>], metrics: &ByMetric<'_>, hazards: &[Hazard], alike: AlikeBy) -> Rates {
    let of_type = |metric_type| {
        let of_type = units
            .iter()
            .filter(move |unit| unit.metric_type == metric_type);
        rate_of(of_type, alike)
    };
    let of_hazard = |hazard: &Hazard| {
        let in_hazard = |unit: &&Unit<'_>| hazard.metrics.iter().any(|id| id == unit.metric);
        let rate = rate_of(units.iter().filter(in_hazard), alike);
        (hazard.id.clone(), rate)
    };
    Rates {
        all: rate_of(units.iter(), alike),
        positive: of_type(MetricType::Positive),
        negative: of_type(MetricType::Negative),
        hazards: hazards.iter().map(of_hazard).collect(),
        metrics: metrics
            .iter()
            .map(|(id, units)| ((*id).to_owned(), rate_of(units.iter().copied(), alike)))
            .collect(),
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
