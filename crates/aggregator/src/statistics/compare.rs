//! Compares two targets, or two runs of one target, metric by metric.

use std::collections::{BTreeMap, BTreeSet};

use schema::{
    ModelId,
    statistics::{Comparison, DifferenceFamily},
};

use super::{
    AlikeBy, ScenarioIndex, ScenarioSequence, TargetRows, Verdicts,
    difference::{Difference, PairedUnit, paired_difference},
    family::{at_every_look, family_statistics},
    target_rows::Unit,
};
use crate::sequential::DifferenceLook;

/// The comparison of a pair before [`corrected_comparisons`] corrects those of all pairs that are shown together.
#[derive(Clone, Debug)]
pub struct UncorrectedPair {
    a: ModelId,
    b: ModelId,
    alike: AlikeBy,
    pooled: Option<Compared>,
    metrics: Vec<(String, Compared)>,
}

/// A difference, and where scenarios are simulated until rules are decided, what is known of it at every look.
#[derive(Clone, Debug)]
struct Compared {
    difference: Difference,
    look: Option<DifferenceLook>,
}

/// The comparison of all rows, and of each metric that both sides have. `index` contains the scenarios of both sides.
#[must_use]
pub fn compare(a: &TargetRows, b: &TargetRows, index: &ScenarioIndex) -> UncorrectedPair {
    if let Some(sequence) = index.sequence() {
        return compare_in_sequence(a, b, index, sequence);
    }
    let (units_a, units_b) = (a.units(index), b.units(index));
    let pairs = paired(&units_a, &units_b);
    let mut metrics = BTreeMap::<&str, Vec<PairedUnit<'_>>>::new();
    for (metric, unit) in &pairs {
        metrics.entry(metric).or_default().push(*unit);
    }
    let all: Vec<PairedUnit<'_>> = pairs.iter().map(|(_, unit)| *unit).collect();
    let metrics = metrics.iter().filter_map(|(metric, units)| {
        let found = paired_difference(units)?;
        Some(((*metric).to_owned(), found.into()))
    });
    UncorrectedPair {
        a: a.target().clone(),
        b: b.target().clone(),
        alike: index.alike(),
        metrics: metrics.collect(),
        pooled: paired_difference(&all).map(Into::into),
    }
}

impl From<Difference> for Compared {
    fn from(difference: Difference) -> Self {
        Self {
            difference,
            look: None,
        }
    }
}

/// The comparison, at every look where scenarios do not end by a width, of the scenarios that both have simulated without a gap.
fn compare_in_sequence(
    a: &TargetRows,
    b: &TargetRows,
    index: &ScenarioIndex,
    sequence: &ScenarioSequence,
) -> UncorrectedPair {
    let (units_a, units_b) = (a.units(index), b.units(index));
    let metrics: BTreeSet<&str> = units_a.iter().map(|unit| unit.metric).collect();
    let of = |is_in: &dyn Fn(&str) -> bool, scopes: u64| {
        let sides = (units_a.as_slice(), units_b.as_slice());
        let (look, units) = sequence.difference(sides, |metric, _| is_in(metric), scopes);
        Some(Compared {
            difference: paired_difference(&units)?,
            look: sequence.width.is_none().then_some(look),
        })
    };
    let scopes = metrics.len() as u64;
    let by_metric = metrics.iter().filter_map(|metric| {
        let found = of(&|id| id == *metric, scopes)?;
        Some(((*metric).to_owned(), found))
    });
    UncorrectedPair {
        a: a.target().clone(),
        b: b.target().clone(),
        alike: index.alike(),
        metrics: by_metric.collect(),
        pooled: of(&|_| true, 1),
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
    found: &[(&UncorrectedPair, &str, &Compared)],
    family: DifferenceFamily,
    alike: AlikeBy,
) -> Vec<Comparison> {
    let compared = found.iter().map(|(.., found)| *found);
    let differences: Vec<&Difference> = compared.clone().map(|found| &found.difference).collect();
    let looks: Option<Vec<DifferenceLook>> = compared.map(|found| found.look).collect();
    let statistics = family_statistics(&differences, family, alike);
    let statistics = match looks {
        Some(looks) => at_every_look(statistics, &looks),
        None => statistics,
    };
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
