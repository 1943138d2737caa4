//! The rule between a journal and `results.json`.

use std::{fs, path::Path, time::SystemTime};

use journal::check::{Failure, Row};
use schema::{ModelId, Summary, numbers::grouped, text::counted};

use super::{
    exclusions::Exclusions,
    record::{JournalRecord, SutSums},
};
use crate::BenchmarkDir;

/// The rule for a tree that has other parts of a split run too.
pub(super) fn of_part() -> (Row, Option<String>) {
    let rule = rule_row();
    let why = "the tree has other parts of the run besides the journal's";
    (rule.not_applicable(why), None)
}

fn rule_row() -> Row {
    Row::new(
        "ResultsCountItems",
        "the counts of results.json are those of the items that were measured",
    )
}

/// Checks that `results.json` counts the measured items. Returns the rule's row. Also returns a note if the file is older than the
/// scores of a run that did not summarise them, so that it cannot include them yet.
pub(super) fn rule(
    record: &JournalRecord,
    dir: &BenchmarkDir,
    excluded: &Exclusions,
) -> (Row, Option<String>) {
    let mut rule = rule_row();
    let suts: Vec<(&String, &SutSums)> = record
        .suts
        .iter()
        .filter(|(sut, sums)| {
            record.wrote_scores(sut, sums) && !excluded.holds(Some(sut), "evaluate")
        })
        .collect();
    if suts.is_empty() {
        return (rule.not_applicable("the run made no scores"), None);
    }
    let Ok(text) = files::read(dir.results()) else {
        return (rule.not_applicable("there is no results.json"), None);
    };
    let summaries: Vec<Summary> = match serde_json::from_slice(&text) {
        Ok(summaries) => summaries,
        Err(error) => {
            let what = format!("results.json cannot be read: {error}");
            rule.fail(Failure::new(what));
            return (rule, None);
        }
    };
    let mut older: Vec<&str> = Vec::new();
    for (sut, sums) in suts {
        let mut checked = rule.clone();
        let mut rows = summaries.iter();
        match rows.find(|row| row.target_model.as_str() == sut) {
            Some(summary) => counts(&mut checked, sut, sums, summary),
            None => checked.fail(Failure::new("results.json has no row of it").sut(sut)),
        }
        if checked.failed > rule.failed && !record.summed_up && is_older(dir, sut) {
            older.push(sut);
        } else {
            rule = checked;
        }
    }
    if older.is_empty() {
        return (rule, None);
    }
    let note = format!(
        "not checkable: results.json is older than this run's scores of {}; `aggregate` writes it again",
        older.join(", ")
    );
    (rule.not_applicable(note.clone()), Some(note))
}

fn counts(rule: &mut Row, sut: &str, sums: &SutSums, summary: &Summary) {
    if summary.n_total != sums.scores {
        let what = format!(
            "n_total is {}, the journal has {}",
            grouped(summary.n_total),
            counted(sums.scores, "score", "scores")
        );
        rule.fail(Failure::new(what).sut(sut));
    }
    for (metric, rate) in &summary.by_metric {
        rule.looked_at(1);
        let (measured, safe) = sums.measured.get(metric).copied().unwrap_or_default();
        if (rate.n_total, rate.n_passed) != (measured, safe) {
            let what = format!(
                "{} of {} passed, in the journal {} of {}",
                grouped(rate.n_passed),
                grouped(rate.n_total),
                grouped(safe),
                grouped(measured)
            );
            rule.fail(Failure::new(what).sut(sut).test(metric));
        }
    }
}

/// Whether `results.json` was written before the scores of `sut`. False if the times are unknown.
fn is_older(dir: &BenchmarkDir, sut: &str) -> bool {
    let target = ModelId::new(sut).ok().and_then(|id| dir.target(&id).ok());
    let scores = target.and_then(|target| written(&target.scores()));
    match (written(&dir.results()), scores) {
        (Some(results), Some(scores)) => results < scores,
        _ => false,
    }
}

fn written(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}
