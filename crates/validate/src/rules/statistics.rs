//! `statistics.json`.

use schema::{ModelId, Summary, numbers::grouped, statistics::Statistics, text::counted};
use store::{WrongNumber, current_statistics, wrong_statistics};

use super::{BenchmarkFacts, wrong_numbers};
use crate::checker::Found;

/// Checks that the statistics match the scores in the tree: the same targets, with the same number of rows, and the numbers that the
/// scores give.
pub(crate) fn statistics(statistics: &Statistics, facts: &BenchmarkFacts) -> Vec<Found> {
    let Some(summaries) = &facts.summaries else {
        return Vec::new();
    };
    let mut found = Vec::new();
    // Targets whose rows are others: all their numbers differ, which needs no further word.
    let mut of_other_rows = Vec::new();
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
                    of_other_rows.push(number);
                    found.push(Found::problem(
                        format!("/targets/{number}/rates/all"),
                        format!(
                            "{} of {} passed, and scores.json has {} of {}",
                            grouped(all.passed),
                            counted(rows, "row", "rows"),
                            grouped(passed(summary)),
                            grouped(summary.n_total)
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
            of_other_rows.push(number);
        }
    }
    found.extend(wrong(statistics, facts, &of_other_rows));
    let help = facts.aggregate("statistics.json");
    let with_help = |found: Found| found.with_help(help.clone());
    found.into_iter().map(with_help).collect()
}

/// The numbers that are not those of the scores, except of the targets at the places `left_out`.
fn wrong(statistics: &Statistics, facts: &BenchmarkFacts, left_out: &[usize]) -> Vec<Found> {
    let (Some(dir), Some(benchmark)) = (&facts.dir, &facts.benchmark) else {
        return Vec::new();
    };
    let targets = statistics.targets.iter();
    let order: Vec<ModelId> = targets.map(|of| of.target.clone()).collect();
    // Scores that cannot be read are reported where they are.
    let Ok(now) = current_statistics(dir, benchmark, &order) else {
        return Vec::new();
    };
    let is_left_out = |wrong: &WrongNumber| match left_out {
        [] => false,
        places => {
            let of_target =
                |place: &usize| wrong.pointer.starts_with(&format!("/targets/{place}/"));
            // Comparisons depend on all targets.
            !wrong.pointer.starts_with("/targets/") || places.iter().any(of_target)
        }
    };
    let mut wrong = wrong_statistics(statistics, &now);
    wrong.retain(|wrong| !is_left_out(wrong));
    wrong_numbers(&wrong)
}

fn passed(summary: &Summary) -> u64 {
    summary.by_metric.values().map(|rate| rate.n_passed).sum()
}
