//! The statistics of one target.

use std::collections::{BTreeMap, BTreeSet};

use schema::{
    Hazard, MetricType,
    statistics::{
        Rates, ReliabilityStatistics, TargetStatistics, VariantEffectStatistics, VariantStatistics,
    },
};

use super::{
    AlikeBy, ScenarioIndex, TargetRows,
    compare::difference_statistics,
    difference::Side,
    holm::holm,
    rate_of_units::rate_of,
    reliability::{ScenarioCounts, pass_hat_k},
    target_rows::Unit,
    variants::{VariantEffects, VariantRow, variant_effects},
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
            rates: rates(&units, &metrics, hazards, index.alike()),
            reliability: reliability(&units, &metrics),
            variants: variants(&metrics, index),
            judge: self.judges.statistics(),
            simulator: self.simulator().cloned(),
            realism: self.realism.statistics(index),
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
    let by_metric = metrics.iter();
    let by_metric = by_metric.map(|(id, units)| reliability_of(id, k, units.iter().copied()));
    pooled.into_iter().chain(by_metric).flatten().collect()
}

/// pass^k over the units of one scope; `None` without units.
fn reliability_of<'a>(
    scope: &str,
    k: u64,
    units: impl Iterator<Item = &'a Unit<'a>>,
) -> Option<ReliabilityStatistics> {
    let counts = units.map(|unit| ScenarioCounts {
        base: unit.base,
        passed: unit.counts.passed,
        scored: unit.counts.scored,
    });
    let counts: Vec<_> = counts.collect();
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

/// The effects of every axis on every metric, with their p-values corrected together.
fn variants(metrics: &ByMetric<'_>, index: &ScenarioIndex) -> Vec<VariantStatistics> {
    if !index.has_variants() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (metric, units) in metrics {
        let of_units = units.iter().filter_map(|unit| index.variant(unit.scenario));
        let axes: BTreeSet<&str> = of_units
            .flat_map(|v| v.keys().map(String::as_str))
            .collect();
        for axis in axes {
            let effects = effects_of(axis, units, index);
            let several = effects
                .effects
                .iter()
                .any(|effect| effect.difference.is_some());
            if several {
                found.push(((*metric).to_owned(), axis.to_owned(), effects));
            }
        }
    }
    corrected(found, index.alike())
}

fn effects_of(axis: &str, units: &[&Unit<'_>], index: &ScenarioIndex) -> VariantEffects {
    let mut rows = Vec::new();
    for unit in units {
        let Some(variant) = index.variant(unit.scenario) else {
            continue;
        };
        let Some(value) = variant.get(axis) else {
            continue;
        };
        let others = variant.iter().filter(|(other, _)| *other != axis);
        let others: Vec<String> = others
            .map(|(axis, value)| format!("{axis:?}={value:?}"))
            .collect();
        rows.push((unit, others.join(","), value.as_str()));
    }
    let values: BTreeSet<&str> = rows.iter().map(|(_, _, value)| *value).collect();
    let values: Vec<&str> = values.into_iter().collect();
    let rows: Vec<VariantRow<'_>> = rows
        .iter()
        .map(|(unit, others, value)| VariantRow {
            base: unit.base,
            others,
            value,
            side: Side {
                passed: unit.counts.passed,
                scored: unit.counts.scored,
            },
        })
        .collect();
    variant_effects(&values, &rows)
}

fn corrected(
    found: Vec<(String, String, VariantEffects)>,
    alike: AlikeBy,
) -> Vec<VariantStatistics> {
    let effects = found.iter().flat_map(|(.., effects)| &effects.effects);
    let p_values: Vec<Option<f64>> = effects
        .map(|e| Some(e.difference.as_ref()?.p_value))
        .collect();
    let number = p_values.iter().flatten().fold(0, |count, _| count + 1);
    let mut corrected = holm(&p_values).into_iter();
    found
        .into_iter()
        .map(|(metric, axis, effects)| {
            let with_p = effects.effects.into_iter().zip(&mut corrected);
            let shown = with_p.filter_map(|(effect, p)| {
                Some(VariantEffectStatistics {
                    value: effect.value,
                    difference: difference_statistics(&effect.difference?, p?, number, alike),
                })
            });
            VariantStatistics {
                metric,
                axis,
                effects: shown.collect(),
                differ_between_variants: effects.differ_between_variants,
                differ_between_samples: effects.differ_between_samples,
            }
        })
        .collect()
}
