//! `baseline.json`.

use located::pointer;
use schema::Baseline;

use crate::checker::Found;

/// Checks that each metric with counts has a definition: without it the meaning of the counts is unknown.
pub(crate) fn baseline(baseline: &Baseline) -> Vec<Found> {
    let mut found = Vec::new();
    for (target, counts) in &baseline.targets {
        for metric in counts.metrics.keys() {
            if !baseline.metrics.contains_key(metric) {
                let at = pointer::key("/targets", target.as_str());
                let at = pointer::key(&pointer::key(&at, "metrics"), metric);
                let reason =
                    format!("`metrics` does not describe {metric:?}, so these counts are not used");
                found.push(Found::problem(at, reason));
            }
        }
    }
    found
}
