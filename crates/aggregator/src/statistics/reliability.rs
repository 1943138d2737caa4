//! How often all samples of a scenario pass.

use super::clusters::Cluster;
use crate::interval::clustered::{ClusteredRate, clustered_rate};

/// The verdicts of one scenario and metric over its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScenarioCounts<'a> {
    /// The base scenario. Scenarios of one base are adjacent.
    pub base: &'a str,
    /// Samples that passed.
    pub passed: u64,
    /// Samples with a verdict.
    pub scored: u64,
}

/// pass^k: the probability that `k` samples of one scenario all pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reliability {
    /// The number of samples.
    pub k: u64,
    /// Scenarios with at least `k` verdicts.
    pub units: u64,
    /// Scenarios with fewer than `k` verdicts.
    pub left_out: u64,
    /// The mean over scenarios, with its interval; `None` if no scenario has `k` verdicts.
    pub rate: Option<ClusteredRate>,
}

/// The unbiased estimate of pass^k (Yao et al., tau-bench, 2024): the mean over scenarios of C(passed, k) / C(scored, k).
#[must_use]
pub fn pass_hat_k(k: u64, scenarios: &[ScenarioCounts<'_>]) -> Reliability {
    let mut clusters: Vec<(&str, Cluster)> = Vec::new();
    let (mut units, mut left_out) = (0, 0);
    for scenario in scenarios {
        if scenario.scored < k {
            left_out += 1;
            continue;
        }
        units += 1;
        let value = all_of(k, scenario.passed, scenario.scored);
        match clusters.last_mut() {
            Some((base, cluster)) if *base == scenario.base => cluster.add_value(value),
            _ => {
                let mut cluster = Cluster::default();
                cluster.add_value(value);
                clusters.push((scenario.base, cluster));
            }
        }
    }
    let clusters: Vec<Cluster> = clusters.into_iter().map(|(_, cluster)| cluster).collect();
    Reliability {
        k,
        units,
        left_out,
        rate: clustered_rate(&clusters),
    }
}

/// C(passed, k) / C(scored, k): the probability that `k` of the `scored` samples, drawn without replacement, all passed.
fn all_of(k: u64, passed: u64, scored: u64) -> f64 {
    if passed < k {
        return 0.0;
    }
    (0..k)
        .map(|drawn| {
            super::clusters::float(passed - drawn) / super::clusters::float(scored - drawn)
        })
        .product()
}
