//! `baseline.json`.

use located::pointer;
use schema::{Baseline, notice};

use super::{BenchmarkFacts, wrong_values};
use crate::checker::Found;

/// Checks that each metric with counts has a definition, without which the meaning of the counts is unknown, and that the counts are those
/// of the scores, if these are in the tree.
pub(crate) fn baseline(baseline: &Baseline, facts: &BenchmarkFacts) -> Vec<Found> {
    let mut found = Vec::new();
    if let (Some(dir), Some(benchmark)) = (&facts.dir, &facts.benchmark) {
        let wrong = store::wrong_baseline(dir, benchmark, baseline, |_| true);
        let help = notice![
            dir.command("baseline"),
            " writes one from the scores in the tree"
        ];
        let wrong = wrong_values(&wrong).into_iter();
        found.extend(wrong.map(|found| found.with_help(Some(help.clone()))));
    }
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
