//! The effects of all axes of variants on the rows of one target.

use std::collections::BTreeSet;

use schema::statistics::{DifferenceFamily, VariantEffectStatistics, VariantStatistics};

use super::{
    AlikeBy, ScenarioIndex,
    difference::Difference,
    family::family_statistics,
    target_rows::Unit,
    variants::{VariantEffects, VariantRow, variant_effects},
};

/// The effects of every axis on the pooled rows of all metrics, then on those of each metric. The pooled effects are one
/// family, those of metrics another.
pub(super) fn variants(units: &[Unit<'_>], index: &ScenarioIndex) -> Vec<VariantStatistics> {
    if !index.has_variants() {
        return Vec::new();
    }
    let of_units = units.iter().filter_map(|unit| index.variant(unit.scenario));
    let axes: BTreeSet<&str> = of_units
        .flat_map(|v| v.keys().map(String::as_str))
        .collect();
    let metrics: BTreeSet<&str> = units.iter().map(|unit| unit.metric).collect();
    let alike = index.alike();
    let all: Vec<&Unit<'_>> = units.iter().collect();
    let pooled = axes
        .iter()
        .filter_map(|axis| found("all", axis, &all, index));
    let mut statistics = in_family(pooled.collect(), DifferenceFamily::Pooled, alike);
    let by_metric = metrics.iter().flat_map(|metric| {
        let of_metric: Vec<&Unit<'_>> =
            units.iter().filter(|unit| unit.metric == *metric).collect();
        let of_axes = axes
            .iter()
            .filter_map(|axis| found(metric, axis, &of_metric, index));
        of_axes.collect::<Vec<_>>()
    });
    let by_metric = in_family(by_metric.collect(), DifferenceFamily::Metric, alike);
    statistics.extend(by_metric);
    statistics
}

/// The effects of one axis in one scope.
struct Found<'a> {
    scope: &'a str,
    axis: &'a str,
    effects: VariantEffects,
}

/// `None` if no value can be compared with another.
fn found<'a>(
    scope: &'a str,
    axis: &'a str,
    units: &[&Unit<'_>],
    index: &ScenarioIndex,
) -> Option<Found<'a>> {
    let mut effects = effects_of(axis, units, index);
    if scope == "all" {
        // Flips of different metrics are not to be mixed.
        effects.differ_between_variants = None;
        effects.differ_between_samples = None;
    }
    let several = effects.effects.iter().any(|e| e.difference.is_some());
    several.then_some(Found {
        scope,
        axis,
        effects,
    })
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
        let others: Vec<String> = variant
            .iter()
            .filter(|(other, _)| *other != axis)
            .map(|(axis, value)| format!("{axis:?}={value:?}"))
            .collect();
        rows.push((unit, others.join(","), value.as_str()));
    }
    let sorted: BTreeSet<&str> = rows.iter().map(|(_, _, value)| *value).collect();
    let values: Vec<&str> = sorted.into_iter().collect();
    let rows: Vec<VariantRow<'_>> = rows
        .iter()
        .map(|(unit, others, value)| VariantRow {
            base: unit.base,
            metric: unit.metric,
            others,
            value,
            verdicts: &unit.counts.verdicts,
        })
        .collect();
    variant_effects(&values, &rows)
}

/// The entries for `statistics.json`, corrected together.
fn in_family(
    found: Vec<Found<'_>>,
    family: DifferenceFamily,
    alike: AlikeBy,
) -> Vec<VariantStatistics> {
    let effects = found.iter().flat_map(|found| &found.effects.effects);
    let differences: Vec<&Difference> = effects.filter_map(|e| e.difference.as_ref()).collect();
    let mut statistics = family_statistics(&differences, family, alike).into_iter();
    let entries = found.iter().map(|found| {
        let shown = found
            .effects
            .effects
            .iter()
            .filter(|effect| effect.difference.is_some())
            .zip(&mut statistics);
        let effects = shown.map(|(effect, difference)| VariantEffectStatistics {
            value: effect.value.clone(),
            difference,
        });
        VariantStatistics {
            scope: found.scope.to_owned(),
            axis: found.axis.to_owned(),
            effects: effects.collect(),
            differ_between_variants: found.effects.differ_between_variants,
            differ_between_samples: found.effects.differ_between_samples,
        }
    });
    entries.collect()
}
