//! `statistics.json`.

use schema::{ModelId, Summary, numbers::grouped, statistics::Statistics, text::counted};
use store::{WrongValue, current_statistics, wrong_statistics};

use super::{BenchmarkFacts, wrong_values};
use crate::checker::Found;

/// Checks that the statistics match the scores in the tree: the same targets, with the same number of rows, and the values that the
/// scores give.
pub(crate) fn statistics(statistics: &Statistics, facts: &BenchmarkFacts) -> Vec<Found> {
    let Some(summaries) = &facts.summaries else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut left_out = LeftOut::default();
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
                let beyond = all.sequential.map_or(0, |so_far| so_far.rows_beyond);
                let is_whole =
                    beyond == 0 && (all.passed, rows) == (passed(summary), summary.n_total);
                if !is_whole && rows + beyond != summary.n_total {
                    left_out.of_other_rows.push(number);
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
            left_out.of_other_labels.push(number);
        }
    }
    let is_listed = |id: &&String| {
        statistics
            .targets
            .iter()
            .any(|of| of.target.as_str() == id.as_str())
    };
    let unlisted = summaries.keys().filter(|id| !is_listed(id));
    found.extend(unlisted.map(|id| {
        Found::problem(
            "/targets",
            format!("{id:?} has scores and no statistics here"),
        )
    }));
    found.extend(wrong(statistics, facts, &left_out));
    let help = facts.aggregate("statistics.json");
    let with_help = |found: Found| found.with_help(help.clone());
    found.into_iter().map(with_help).collect()
}

/// Targets, by their places, of which one line says more than every value that differs.
#[derive(Default)]
struct LeftOut {
    /// Their rows are others: all values differ, and so do the comparisons.
    of_other_rows: Vec<usize>,
    /// Their labels are others: what is compared with people differs.
    of_other_labels: Vec<usize>,
}

impl LeftOut {
    fn holds(&self, wrong: &WrongValue) -> bool {
        let pointer = wrong.pointer.as_str();
        // Targets that are missing have a line each.
        if pointer == "/targets" {
            return true;
        }
        let below = |places: &[usize], part: &str| {
            let mut places = places.iter();
            places.any(|place| pointer.starts_with(&format!("/targets/{place}/{part}")))
        };
        if pointer.starts_with("/corrected_differences") {
            return !self.of_other_rows.is_empty() || !self.of_other_labels.is_empty();
        }
        if pointer.starts_with("/comparisons") {
            return !self.of_other_rows.is_empty();
        }
        below(&self.of_other_rows, "") || below(&self.of_other_labels, "judge/people")
    }
}

/// The values that are not those of the scores, without those that are left out.
fn wrong(statistics: &Statistics, facts: &BenchmarkFacts, left_out: &LeftOut) -> Vec<Found> {
    let (Some(dir), Some(benchmark)) = (&facts.dir, &facts.benchmark) else {
        return Vec::new();
    };
    let targets = statistics.targets.iter();
    let order: Vec<ModelId> = targets.map(|of| of.target.clone()).collect();
    // Scores that cannot be read are reported where they are.
    let Ok(now) = current_statistics(dir, benchmark, &order) else {
        return Vec::new();
    };
    let mut wrong = wrong_statistics(statistics, &now);
    wrong.retain(|wrong| !left_out.holds(wrong));
    wrong_values(&wrong)
}

fn passed(summary: &Summary) -> u64 {
    summary.by_metric.values().map(|rate| rate.n_passed).sum()
}
