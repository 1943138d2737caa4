//! Compares two targets, or two runs of one target, metric by metric.

use std::collections::BTreeMap;

use schema::{
    ModelId,
    statistics::{Comparison, DifferenceFamily},
};

use super::{
    AlikeBy, ScenarioIndex, TargetRows, Verdicts,
    difference::{Difference, PairedUnit, paired_difference},
    family::family_statistics,
    target_rows::Unit,
};

/// The comparison of a pair before [`corrected_comparisons`] corrects those of all pairs that are shown together.
#[derive(Clone, Debug)]
pub struct UncorrectedPair {
    a: ModelId,
    b: ModelId,
    alike: AlikeBy,
    pooled: Option<Difference>,
    metrics: Vec<(String, Difference)>,
}

/// The comparison of all rows, and of each metric that both sides have. `index` contains the scenarios of both sides.
#[must_use]
pub fn compare(a: &TargetRows, b: &TargetRows, index: &ScenarioIndex) -> UncorrectedPair {
    let (units_a, units_b) = (a.units(index), b.units(index));
    let pairs = paired(&units_a, &units_b);
    let mut metrics = BTreeMap::<&str, Vec<PairedUnit<'_>>>::new();
    for (metric, unit) in &pairs {
        metrics.entry(metric).or_default().push(*unit);
    }
    let all: Vec<PairedUnit<'_>> = pairs.iter().map(|(_, unit)| *unit).collect();
    let metrics = metrics.iter().filter_map(|(metric, units)| {
        let found = paired_difference(units)?;
        Some(((*metric).to_owned(), found))
    });
    UncorrectedPair {
        a: a.target().clone(),
        b: b.target().clone(),
        alike: index.alike(),
        metrics: metrics.collect(),
        pooled: paired_difference(&all),
    }
}

/// The comparisons of all pairs that are shown together: first the pooled ones of all pairs, which are one family, then
/// those by metric, pair by pair, which are another. A pair without a scenario that has a verdict from both sides has
/// none.
#[must_use]
pub fn corrected_comparisons(pairs: &[UncorrectedPair]) -> Vec<Comparison> {
    let alike = pairs.first().map(|pair| pair.alike).unwrap_or_default();
    let pooled = pairs.iter().filter_map(|pair| {
        let found = pair.pooled.as_ref()?;
        Some((pair, "all", found))
    });
    let by_metric = pairs.iter().flat_map(|pair| {
        let metrics = pair.metrics.iter();
        metrics.map(move |(metric, found)| (pair, metric.as_str(), found))
    });
    let mut comparisons = in_family(&pooled.collect::<Vec<_>>(), DifferenceFamily::Pooled, alike);
    let by_metric = by_metric.collect::<Vec<_>>();
    comparisons.extend(in_family(&by_metric, DifferenceFamily::Metric, alike));
    comparisons
}

fn in_family(
    found: &[(&UncorrectedPair, &str, &Difference)],
    family: DifferenceFamily,
    alike: AlikeBy,
) -> Vec<Comparison> {
    let differences: Vec<&Difference> = found.iter().map(|(.., found)| *found).collect();
    let statistics = family_statistics(&differences, family, alike);
    let comparisons = found.iter().zip(statistics);
    comparisons
        .map(|((pair, scope, _), difference)| Comparison {
            a: pair.a.clone(),
            b: pair.b.clone(),
            scope: (*scope).to_owned(),
            difference,
        })
        .collect()
}

/// The units of both sides, paired. Both inputs are sorted by base scenario, scenario and metric.
fn paired<'a>(a: &[Unit<'a>], b: &[Unit<'a>]) -> Vec<(&'a str, PairedUnit<'a>)> {
    let key = |unit: &Unit<'a>| (unit.base, unit.scenario, unit.metric);
    let verdicts = |unit: Option<&Unit<'a>>| unit.map_or(&NO_VERDICTS, |u| &u.counts.verdicts);
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut pairs = Vec::new();
    loop {
        let order = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) => key(x).cmp(&key(y)),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => return pairs,
        };
        let from_a = if order.is_le() { a.next() } else { None };
        let from_b = if order.is_ge() { b.next() } else { None };
        if let Some(unit) = from_a.or(from_b) {
            let sides = PairedUnit {
                base: unit.base,
                a: verdicts(from_a),
                b: verdicts(from_b),
            };
            pairs.push((unit.metric, sides));
        }
    }
}

static NO_VERDICTS: Verdicts = Verdicts::NONE;
