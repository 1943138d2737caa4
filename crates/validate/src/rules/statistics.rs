//! `statistics.json`.

use schema::{Summary, statistics::Statistics, text::counted};

use super::BenchmarkFacts;
use crate::checker::Found;

/// Checks that the statistics match the scores in the tree: the same targets, with the same number
/// of rows.
pub(crate) fn statistics(statistics: &Statistics, facts: &BenchmarkFacts) -> Vec<Found> {
    let Some(summaries) = &facts.summaries else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (number, target) in statistics.targets.iter().enumerate() {
        let id = target.target.as_str();
        if facts.unread.contains(id) {
            continue;
        }
        match summaries.get(id) {
            None => found.push(Found::problem(
                format!("/targets/{number}/target"),
                format!("no scores of {id:?} under runs/"),
            )),
            Some(summary) => {
                let all = &target.rates.all;
                let rows = all.rows + all.missing.unscored();
                if (all.passed, rows) != (passed(summary), summary.n_total) {
                    found.push(Found::problem(
                        format!("/targets/{number}/rates/all"),
                        format!(
                            "{} of {rows} rows passed, and scores.json has {} of {}",
                            all.passed,
                            passed(summary),
                            summary.n_total
                        ),
                    ));
                }
            }
        }
        let people = target.judge.as_ref().and_then(|of| of.people.as_ref());
        let labelled = people.map_or(0, |people| people.labelled);
        let there = facts.labelled.get(id).copied();
        if let Some(there) = there.filter(|there| *there != labelled) {
            let rows = counted(labelled, "labelled row", "labelled rows");
            found.push(Found::note(
                format!("/targets/{number}"),
                format!("the judge beside people is of {rows}, and labels.json has {there}"),
            ));
        }
    }
    let help = facts.aggregate("statistics.json");
    let with_help = |found: Found| found.with_help(help.clone());
    found.into_iter().map(with_help).collect()
}

fn passed(summary: &Summary) -> u64 {
    summary.by_metric.values().map(|rate| rate.n_passed).sum()
}
