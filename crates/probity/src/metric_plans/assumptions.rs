//! What a plan assumes of rates, and what an earlier run measured.

use aggregator::statistics::PlannedMetric;
use schema::{
    gate::GateScope,
    statistics::{PlanAssumptions, RateStatistics, Rates, Statistics},
};

/// The rows that a plan is about.
pub(super) enum PlannedRows<'a> {
    /// Those of a metric that is not generated yet.
    Unknown,
    /// Those of one metric.
    Metric(&'a str),
    /// Those of all metrics, or of several.
    Scope(&'a GateScope),
}

impl PlannedRows<'_> {
    fn rate<'r>(&self, rates: &'r Rates) -> Option<&'r RateStatistics> {
        match self {
            Self::Unknown => None,
            Self::Metric(id) => rates.metrics.get(*id),
            Self::Scope(GateScope::Metric(id)) => rates.metrics.get(id),
            Self::Scope(GateScope::Positive) => Some(&rates.positive),
            Self::Scope(GateScope::Negative) => Some(&rates.negative),
            Self::Scope(GateScope::Hazard(id)) => rates.hazards.get(id),
            Self::Scope(_) => Some(&rates.all),
        }
    }

    /// The scope of comparisons of these rows; `None` where no file compares them.
    fn scope(&self) -> Option<&str> {
        match self {
            Self::Metric(id) => Some(id),
            Self::Scope(GateScope::All) => Some("all"),
            Self::Unknown | Self::Scope(_) => None,
        }
    }
}

/// The measurements of an earlier run for these rows, as the mean over its targets, and assumptions for the rest. A rate of 0 or 1 does
/// not show how far rates spread.
pub(super) fn assumptions(earlier: Option<&Statistics>, rows: &PlannedRows<'_>) -> PlanAssumptions {
    let default = PlannedMetric::default();
    let mut assumed = PlanAssumptions {
        rate: default.rate,
        icc: default.icc,
        correlation: default.correlation,
        measured: Vec::new(),
    };
    let Some(earlier) = earlier else {
        return assumed;
    };
    let targets = earlier.targets.iter();
    let rates = targets.filter_map(|target| rows.rate(&target.rates));
    let scope = rows.scope();
    let pairs = earlier
        .comparisons
        .iter()
        .filter(|pair| Some(&*pair.scope) == scope);
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

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    (count > 0.0).then(|| sum / count)
}
