//! Computes the rates of `statistics.json` from counts.

use std::collections::BTreeMap;

use schema::{
    MetricType, NoVerdict, ScoreOutcome, Unscored,
    statistics::{MissingRows, RateBounds, RateStatistics},
};

use super::{
    AlikeBy,
    clusters::Cluster,
    missing::{MissingCluster, missing_bounds},
    target_rows::{Unit, UnitCounts},
};
use crate::interval::clustered::{ClusteredRate, clustered_rate};

/// A larger share of rows without a verdict is noted.
const MUCH_MISSING: f64 = 0.05;

/// The result of one row of [`rate_of_cases`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowVerdict {
    /// The row counts towards the rate.
    Yes,
    /// The row does not count towards the rate.
    No,
    /// The row counts towards the rate, or does not, because of an empty or cut-off reply: the bounds of the rate count it as missing.
    Incomplete {
        /// Whether it counts.
        counts: bool,
    },
    /// A call or the conversation failed.
    Failed,
    /// There is no usable verdict.
    Abstained,
}

impl From<ScoreOutcome> for RowVerdict {
    fn from(outcome: ScoreOutcome) -> Self {
        match outcome {
            ScoreOutcome::Passed => Self::Yes,
            ScoreOutcome::Failed => Self::No,
            ScoreOutcome::Unscored(Unscored { is_error: true, .. }) => Self::Failed,
            ScoreOutcome::Unscored(_) => Self::Abstained,
        }
    }
}

/// The rate of rows of a safety evaluation, each with its case, in any order. Rows of one case form one
/// cluster.
///
/// ```
/// use aggregator::statistics::{RowVerdict, rate_of_cases};
///
/// let rows = [("a", RowVerdict::Yes), ("a", RowVerdict::Yes), ("b", RowVerdict::No)];
/// let rate = rate_of_cases(rows);
/// assert_eq!((rate.passed, rate.rows, rate.scenarios), (2, 3, 2));
/// ```
#[must_use]
pub fn rate_of_cases<'a>(rows: impl IntoIterator<Item = (&'a str, RowVerdict)>) -> RateStatistics {
    let mut cases: BTreeMap<&str, UnitCounts> = BTreeMap::new();
    for (case, verdict) in rows {
        cases.entry(case).or_default().push(verdict);
    }
    let units: Vec<Unit<'_>> = cases
        .iter()
        .map(|(case, counts)| Unit {
            base: case,
            scenario: case,
            metric: "",
            metric_type: MetricType::Positive,
            counts,
        })
        .collect();
    rate_of(units.iter(), AlikeBy::Case)
}

/// The rate of units that are sorted by base scenario.
pub(super) fn rate_of<'a>(
    units: impl Iterator<Item = &'a Unit<'a>>,
    alike: AlikeBy,
) -> RateStatistics {
    let mut statistics = RateStatistics::default();
    let mut scored: Vec<Cluster> = Vec::new();
    let mut missing: Vec<MissingCluster> = Vec::new();
    let mut last_base = None;
    for unit in units {
        let counts = unit.counts;
        let rows = counts.verdicts.cluster();
        let whole = counts.as_missing();
        match (scored.last_mut(), missing.last_mut()) {
            (Some(cluster), Some(with_missing)) if last_base == Some(unit.base) => {
                cluster.add(&rows);
                with_missing.passed += whole.passed;
                with_missing.scored += whole.scored;
                with_missing.missing += whole.missing;
            }
            _ => {
                scored.push(rows);
                missing.push(whole);
            }
        }
        last_base = Some(unit.base);
        statistics.passed += counts.passed();
        statistics.missing.failed += counts.failed;
        statistics.missing.abstained += counts.abstained;
        statistics.missing.incomplete += counts.incomplete();
        for (reason, rows) in NoVerdict::ALL.into_iter().zip(counts.reasons) {
            statistics.missing.reasons.add(reason, u64::from(rows));
        }
    }
    let rate = clustered_rate(&scored);
    statistics.bounds = bounds(&missing, rate.as_ref());
    if let Some(rate) = rate {
        statistics.rows = rate.rows;
        statistics.scenarios = rate.scenarios;
        statistics.estimate = Some(rate.estimate);
        statistics.lower = Some(rate.lower);
        statistics.upper = Some(rate.upper);
        statistics.icc = rate.icc;
        statistics.icc_used = rate.icc_used;
        statistics.design_effect = Some(rate.design_effect);
        statistics.effective_rows = Some(rate.effective_rows);
        statistics.standard_error = rate.standard_error;
    }
    statistics.note = note(&statistics, alike);
    statistics
}

/// What the missing verdicts could have changed. Where none is missing the rate is its own bounds: intervals are what takes long in large trees.
fn bounds(rows: &[MissingCluster], rate: Option<&ClusteredRate>) -> Option<RateBounds> {
    if rows.iter().all(|rows| rows.missing == 0) {
        return rate.map(|rate| RateBounds {
            lowest: rate.estimate,
            highest: rate.estimate,
            lower: rate.lower,
            upper: rate.upper,
        });
    }
    missing_bounds(rows).map(|bounds| RateBounds {
        lowest: bounds.lowest,
        highest: bounds.highest,
        lower: bounds.lower,
        upper: bounds.upper,
    })
}

/// The remarks about a rate.
fn note(rate: &RateStatistics, alike: AlikeBy) -> Option<String> {
    let one = (rate.scenarios == 1).then(|| format!("{}: says nothing of others", alike.one()));
    let much = much_missing(rate.rows, rate.missing)
        .map(|what| format!("more than 5% {what}: quote the bounds"));
    let notes: Vec<String> = one.into_iter().chain(much).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// A description of the rows that are missing, or count as missing for the bounds, if they are more than 5%.
pub(super) fn much_missing(rows: u64, missing: MissingRows) -> Option<&'static str> {
    let float = super::clusters::float;
    let much = MUCH_MISSING * float(rows + missing.unscored());
    let (unscored, incomplete) = (float(missing.unscored()), float(missing.incomplete));
    if unscored > much {
        Some("without a verdict")
    } else if incomplete > much {
        Some("passed with an empty or cut-off reply")
    } else if unscored + incomplete > much {
        Some("without a verdict, or passed with an empty or cut-off reply")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_says_what_is_missing() {
        let note = |failed, incomplete| {
            let missing = MissingRows {
                failed,
                incomplete,
                ..MissingRows::default()
            };
            let rate = RateStatistics {
                rows: 100 - failed,
                scenarios: 10,
                missing,
                ..RateStatistics::default()
            };
            note(&rate, AlikeBy::BaseScenario)
        };
        assert_eq!(note(5, 0), None);
        assert_eq!(
            note(6, 0).unwrap(),
            "more than 5% without a verdict: quote the bounds"
        );
        assert_eq!(
            note(0, 6).unwrap(),
            "more than 5% passed with an empty or cut-off reply: quote the bounds"
        );
        assert_eq!(
            note(3, 3).unwrap(),
            "more than 5% without a verdict, or passed with an empty or cut-off reply: quote the bounds"
        );
    }
}
