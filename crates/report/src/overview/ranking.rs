//! The order of the models, best first, and what their comparisons say.

use std::borrow::Cow;

use schema::{
    ModelId,
    numbers::{percent, percent_digits},
    statistics::{
        Comparison, CorrectedDifference, CorrectedRateStatistics, DifferenceFamily,
        DifferenceStatistics, Statistics, TargetStatistics,
    },
};

/// The targets by their rate over all rows, best first; those without a verdict last. Equal ones keep their order.
pub(crate) fn ranked(statistics: &Statistics) -> Vec<&TargetStatistics> {
    let mut targets: Vec<&TargetStatistics> = statistics.targets.iter().collect();
    targets.sort_by(|one, other| {
        let rate = |target: &TargetStatistics| target.rates.all.estimate.unwrap_or(-1.0);
        rate(other).total_cmp(&rate(one))
    });
    targets
}

/// The comparison of two targets over all rows, with `a` as the first one; `None` if they were not compared.
pub(crate) fn pooled<'s>(
    statistics: &'s Statistics,
    a: &ModelId,
    b: &ModelId,
) -> Option<Cow<'s, Comparison>> {
    scoped(statistics, a, b, |one| {
        one.difference.family == DifferenceFamily::Pooled
    })
}

/// Whether the corrected test shows over all rows that `a` passes more often than `b`. Rates cover all rows of a target, the test the scenarios
/// that both have: they can point in different directions.
pub(crate) fn is_ahead(statistics: &Statistics, a: &ModelId, b: &ModelId) -> bool {
    pooled(statistics, a, b)
        .is_some_and(|found| found.difference.differs() && found.difference.difference > 0.0)
}

/// The comparison of two targets in the rows of a metric, with `a` as the first one.
pub(crate) fn by_metric<'s>(
    statistics: &'s Statistics,
    a: &ModelId,
    b: &ModelId,
    metric: &str,
) -> Option<Cow<'s, Comparison>> {
    scoped(statistics, a, b, |one| {
        one.difference.family == DifferenceFamily::Metric && one.scope == metric
    })
}

fn scoped<'s>(
    statistics: &'s Statistics,
    a: &ModelId,
    b: &ModelId,
    is_in: impl Fn(&Comparison) -> bool,
) -> Option<Cow<'s, Comparison>> {
    let found = statistics
        .comparisons
        .iter()
        .find(|one| is_in(one) && (one.a == *a && one.b == *b || one.a == *b && one.b == *a))?;
    Some(match found.a == *a {
        true => Cow::Borrowed(found),
        false => Cow::Owned(swapped(found)),
    })
}

/// The same comparison with its two sides swapped.
pub(crate) fn swapped(comparison: &Comparison) -> Comparison {
    let found = &comparison.difference;
    Comparison {
        a: comparison.b.clone(),
        b: comparison.a.clone(),
        scope: comparison.scope.clone(),
        difference: DifferenceStatistics {
            rate_a: found.rate_b,
            rate_b: found.rate_a,
            difference: -found.difference,
            lower: -found.upper,
            upper: -found.lower,
            effective_rows_a: found.effective_rows_b,
            effective_rows_b: found.effective_rows_a,
            ..found.clone()
        },
    }
}

/// The rate over all rows that people would give; `None` if it is not known.
pub(crate) fn corrected(target: &TargetStatistics) -> Option<&CorrectedRateStatistics> {
    target.judge.as_ref()?.people.as_ref()?.corrected()
}

/// The difference of the corrected rates of two targets, `a` less `b`; `None` if it is not known.
pub(crate) fn corrected_difference(
    statistics: &Statistics,
    a: &ModelId,
    b: &ModelId,
) -> Option<CorrectedDifference> {
    let pairs = &statistics.corrected_differences;
    let found = pairs
        .iter()
        .find(|pair| pair.a == *a && pair.b == *b || pair.a == *b && pair.b == *a)?;
    Some(match found.a == *a {
        true => found.clone(),
        false => CorrectedDifference {
            a: found.b.clone(),
            b: found.a.clone(),
            difference: -found.difference,
            lower: -found.upper,
            upper: -found.lower,
        },
    })
}

/// `50 more, 61 to 4%`: the rates of the models after the first `open` ones.
pub(crate) fn folded_text(targets: &[&TargetStatistics], open: usize) -> String {
    let rest = targets.get(open..).unwrap_or_default();
    let rates: Vec<f64> = rest
        .iter()
        .filter_map(|target| target.rates.all.estimate)
        .collect();
    let range = match (rates.first(), rates.last()) {
        (Some(first), Some(last)) => format!(", {} to {}", percent_digits(*first), percent(*last)),
        _ => String::new(),
    };
    format!("{} more{range}", rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_models_are_counted_with_their_range() {
        let target = |share: f64| {
            let mut target = TargetStatistics::new(ModelId::new("a").unwrap());
            target.rates.all.estimate = Some(share);
            target
        };
        let targets = [target(0.9), target(0.61), target(0.3), target(0.04)];
        let all: Vec<&TargetStatistics> = targets.iter().collect();
        assert_eq!(folded_text(&all, 1), "3 more, 61 to 4%");
    }
}
