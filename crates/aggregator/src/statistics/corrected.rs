//! The rate according to people, estimated from a judge's verdicts and labels of some rows.

use super::{
    clusters::Cluster,
    interval::{ClusteredRate, clustered_rate},
};

use crate::interval::rounded;

/// A row that a person labelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label<'a> {
    /// The row's base scenario.
    pub base: &'a str,
    /// Whether the judge passed the row.
    pub judge: bool,
    /// Whether the person passed it.
    pub person: bool,
}

/// The estimated rate according to people, with its 95% interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorrectedRate {
    /// The judge's rate.
    pub judge_rate: f64,
    /// Labelled rows that the judge passed.
    pub labels_passed: u64,
    /// Labelled rows that the judge failed.
    pub labels_failed: u64,
    /// The share of `labels_passed` where the person agrees; `None` without labels.
    pub right_when_passed: Option<f64>,
    /// The share of `labels_failed` where the person agrees; `None` without labels.
    pub right_when_failed: Option<f64>,
    /// The corrected rate and its bounds; `None` if a verdict that the judge used has no labels.
    pub estimate: Option<f64>,
    /// Lower bound, 0 to 1.
    pub lower: Option<f64>,
    /// Upper bound, 0 to 1.
    pub upper: Option<f64>,
}

/// The corrected rate. It combines the judge's rate over all rows, the share that people pass among rows that the
/// judge passed, and the share among rows that it failed, each with its interval; the distances to the bounds are
/// added as squares (the method of variance estimates recovery, Zou and Donner 2008). `None` without rows. The
/// labelled rows must be drawn at random among the rows that the judge passed and, separately, among those that it
/// failed.
#[must_use]
pub fn corrected_rate(clusters: &[Cluster], labels: &[Label<'_>]) -> Option<CorrectedRate> {
    let judge = clustered_rate(clusters)?;
    let passed = people_pass(labels, true);
    let failed = people_pass(labels, false);
    let q = judge.estimate;
    // A verdict that the judge never used has no weight: the share of the other verdict replaces it.
    let sides = match (passed, failed) {
        (Some(passed), _) if q >= 1.0 => Some((passed, passed)),
        (_, Some(failed)) if q <= 0.0 => Some((failed, failed)),
        (passed, failed) => passed.zip(failed),
    };
    let corrected = sides.map(|(passed, failed)| combined(&judge, &passed, &failed));
    Some(CorrectedRate {
        judge_rate: q,
        labels_passed: passed.map_or(0, |rate| rate.rows),
        labels_failed: failed.map_or(0, |rate| rate.rows),
        right_when_passed: passed.map(|rate| rate.estimate),
        right_when_failed: failed.map(|rate| 1.0 - rate.estimate),
        estimate: corrected.map(|(estimate, ..)| estimate),
        lower: corrected.map(|(_, lower, _)| lower),
        upper: corrected.map(|(.., upper)| upper),
    })
}

/// The share that people pass among the labelled rows that the judge passed, or failed.
fn people_pass(labels: &[Label<'_>], judge: bool) -> Option<ClusteredRate> {
    let mut bases = std::collections::BTreeMap::<&str, (u64, u64)>::new();
    for label in labels.iter().filter(|label| label.judge == judge) {
        let (passed, labelled) = bases.entry(label.base).or_default();
        *passed += u64::from(label.person);
        *labelled += 1;
    }
    let clusters: Vec<Cluster> = bases
        .values()
        .map(|(passed, labelled)| Cluster::of_verdicts(*passed, *labelled))
        .collect();
    clustered_rate(&clusters)
}

fn combined(judge: &ClusteredRate, a: &ClusteredRate, b: &ClusteredRate) -> (f64, f64, f64) {
    let q = judge.estimate;
    let below = |rate: &ClusteredRate| rate.estimate - rate.lower;
    let above = |rate: &ClusteredRate| rate.upper - rate.estimate;
    let rate = q * a.estimate + (1.0 - q) * b.estimate;
    // A higher judge's rate raises the corrected rate if people pass more of the rows that the judge passed, and
    // lowers it otherwise.
    let slope = a.estimate - b.estimate;
    let (down, up) = if slope >= 0.0 {
        (slope * below(judge), slope * above(judge))
    } else {
        (-slope * above(judge), -slope * below(judge))
    };
    let length = |x: f64, y: f64, z: f64| (x * x + y * y + z * z).sqrt();
    let lower = rate - length(down, q * below(a), (1.0 - q) * below(b));
    let upper = rate + length(up, q * above(a), (1.0 - q) * above(b));
    (
        rate,
        rounded(lower.clamp(0.0, 1.0)),
        rounded(upper.clamp(0.0, 1.0)),
    )
}
