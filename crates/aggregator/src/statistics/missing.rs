//! The possible effect of rows without a verdict.

use super::clusters::Cluster;
use crate::interval::clustered::clustered_rate;

/// The rows of one base scenario, including those without a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissingCluster {
    /// Rows that passed.
    pub passed: u64,
    /// Rows with a verdict.
    pub scored: u64,
    /// Rows without a verdict.
    pub missing: u64,
}

/// The possible range of the rate, whatever the missing verdicts would have been.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// All rows, with a verdict or without.
    pub rows: u64,
    /// Rows without a verdict.
    pub missing: u64,
    /// The rate if all missing rows had failed.
    pub lowest: f64,
    /// The rate if all missing rows had passed.
    pub highest: f64,
    /// The lower end of the 95% interval if they had failed.
    pub lower: f64,
    /// The upper end of the 95% interval if they had passed.
    pub upper: f64,
}

/// Worst-case bounds (Manski's) of the rate and of its interval; `None` without rows.
#[must_use]
pub fn missing_bounds(clusters: &[MissingCluster]) -> Option<Bounds> {
    let with = |passed: fn(&MissingCluster) -> u64| {
        let clusters: Vec<Cluster> = clusters
            .iter()
            .map(|cluster| Cluster::of_verdicts(passed(cluster), cluster.scored + cluster.missing))
            .collect();
        clustered_rate(&clusters)
    };
    let failed = with(|cluster| cluster.passed)?;
    let passed = with(|cluster| cluster.passed + cluster.missing)?;
    let missing = clusters.iter().map(|cluster| cluster.missing).sum();
    Some(Bounds {
        rows: failed.rows,
        missing,
        lowest: failed.estimate,
        highest: passed.estimate,
        lower: failed.lower,
        upper: passed.upper,
    })
}
