//! Compares two targets, or two runs of one target, metric by metric.

use std::collections::BTreeMap;

use schema::statistics::{Comparison, DifferenceStatistics};

use super::{
    AlikeBy, ScenarioIndex, TargetRows,
    difference::{Difference, PairedUnit, Side, paired_difference},
    holm::holm,
    plan::{error_of_difference, smallest_difference},
    target_rows::{Unit, UnitCounts},
};

/// Two sides differ if the corrected p-value is at most this.
pub(crate) const DIFFER: f64 = 0.05;

/// The comparison of all rows, and of each metric that both sides have, with Holm's correction over the metrics. Empty if no scenario
/// has a verdict from both. `index` contains the scenarios of both sides.
#[must_use]
pub fn compare(a: &TargetRows, b: &TargetRows, index: &ScenarioIndex) -> Vec<Comparison> {
    let (units_a, units_b) = (a.units(index), b.units(index));
    let pairs = paired(&units_a, &units_b);
    let mut metrics = BTreeMap::<&str, Vec<PairedUnit<'_>>>::new();
    for (metric, unit) in &pairs {
        metrics.entry(metric).or_default().push(*unit);
    }
    let all: Vec<PairedUnit<'_>> = pairs.iter().map(|(_, unit)| *unit).collect();
    let found: Vec<(&str, Difference)> = metrics
        .iter()
        .filter_map(|(metric, units)| Some((*metric, paired_difference(units)?)))
        .collect();
    let p_values: Vec<Option<f64>> = found.iter().map(|(_, found)| Some(found.p_value)).collect();
    let number = found.iter().fold(0, |count, _| count + 1);
    let alike = index.alike();
    let comparison = |scope: &str, difference| Comparison {
        a: a.target().clone(),
        b: b.target().clone(),
        scope: scope.to_owned(),
        difference,
    };
    let pooled = paired_difference(&all).map(|found| {
        comparison(
            "all",
            difference_statistics(&found, found.p_value, 1, alike),
        )
    });
    let by_metric = found
        .iter()
        .zip(holm(&p_values))
        .filter_map(|((metric, found), p)| {
            let difference = difference_statistics(found, p?, number, alike);
            Some(comparison(metric, difference))
        });
    pooled.into_iter().chain(by_metric).collect()
}

/// The comparison of the pooled rows of some metrics. It is a single comparison, so its p-value is not corrected. `None` if no scenario
/// has a verdict from both.
#[must_use]
pub fn compare_in(
    a: &TargetRows,
    b: &TargetRows,
    index: &ScenarioIndex,
    is_in: impl Fn(&str) -> bool,
) -> Option<DifferenceStatistics> {
    let (units_a, units_b) = (a.units(index), b.units(index));
    let pairs = paired(&units_a, &units_b).into_iter();
    let pairs: Vec<PairedUnit<'_>> = pairs
        .filter(|(metric, _)| is_in(metric))
        .map(|(_, unit)| unit)
        .collect();
    let found = paired_difference(&pairs)?;
    Some(difference_statistics(
        &found,
        found.p_value,
        1,
        index.alike(),
    ))
}

/// The units of both sides, paired. Both inputs are sorted by base scenario, scenario and metric.
fn paired<'a>(a: &[Unit<'a>], b: &[Unit<'a>]) -> Vec<(&'a str, PairedUnit<'a>)> {
    let key = |unit: &Unit<'a>| (unit.base, unit.scenario, unit.metric);
    let pair = |unit: &Unit<'a>, a: Option<&UnitCounts>, b: Option<&UnitCounts>| {
        let side = |counts: Option<&UnitCounts>| {
            counts.map_or_else(Side::default, |counts| Side {
                passed: counts.passed,
                scored: counts.scored,
            })
        };
        let sides = PairedUnit {
            base: unit.base,
            a: side(a),
            b: side(b),
        };
        (unit.metric, sides)
    };
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
            let counts = |unit: Option<&'_ Unit<'a>>| unit.map(|unit| unit.counts);
            let (a, b) = (counts(from_a), counts(from_b));
            pairs.push(pair(unit, a.as_ref(), b.as_ref()));
        }
    }
}

/// The entry for `statistics.json`: with the p-value corrected for `comparisons` comparisons, and the conclusion in words.
pub(super) fn difference_statistics(
    found: &Difference,
    p_holm: f64,
    comparisons: u64,
    alike: AlikeBy,
) -> DifferenceStatistics {
    DifferenceStatistics {
        units: found.units,
        unmatched: found.unmatched,
        scenarios: found.scenarios,
        rate_a: found.a,
        rate_b: found.b,
        difference: found.difference,
        lower: found.lower,
        upper: found.upper,
        effective_rows_a: found.effective_rows_a,
        effective_rows_b: found.effective_rows_b,
        correlation: found.correlation,
        p_value: found.p_value,
        p_holm,
        test: found.test.name().to_owned(),
        says: says(found, p_holm, comparisons, alike),
    }
}

/// The conclusion about a difference. "Differ" depends on the corrected p-value alone, never on the interval.
fn says(found: &Difference, p_holm: f64, comparisons: u64, alike: AlikeBy) -> String {
    if p_holm <= DIFFER {
        return "differ".to_owned();
    }
    let scenarios = alike.counted(found.scenarios);
    match could_have_shown(found, comparisons) {
        Some(least) => {
            format!("no difference shown; {scenarios} could have shown one of {least:.2} or more")
        }
        None => format!("no difference shown; {scenarios} could not have shown any"),
    }
}

/// The smallest difference that these scenarios would show with a probability of 80%; `None` if they could show none.
fn could_have_shown(found: &Difference, comparisons: u64) -> Option<f64> {
    let smallest_p = (1.0 - super::clusters::float(found.scenarios)).exp2();
    if smallest_p * super::clusters::float(comparisons) > DIFFER {
        return None;
    }
    // If all rows agree, the observed spread is 0 and not informative: the rate is then limited to 0.2 to 0.8.
    let rate = f64::midpoint(found.a, found.b).clamp(0.2, 0.8);
    let rows = found.effective_rows_a.min(found.effective_rows_b);
    let error = error_of_difference(rate, found.correlation.max(0.0), rows);
    smallest_difference(found.scenarios, error, comparisons)
}
