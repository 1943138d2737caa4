//! Annotations for GitHub Actions: workflow commands, one per line.

use probity::safety::{SafetyReport, TargetReport};
use schema::text::spell_bidi;

use super::super::{
    Context,
    workflow::{data, property},
};

/// The number of annotations of one kind that GitHub shows for each step.
const SHOWN: usize = 10;

/// Prints the annotations: the worst failures as errors, the first errors as warnings. They go to standard error if standard
/// output has JSON.
pub fn print(context: &Context, report: &SafetyReport, json: bool) {
    let mut text = String::new();
    for target in &report.targets {
        text.push_str(&of_target(target));
    }
    match json {
        true => context.terminal.write(spell_bidi(&text).as_bytes()),
        false => context.terminal.print(&text),
    }
}

fn of_target(target: &TargetReport) -> String {
    let Some(details) = target.results.details() else {
        return String::new();
    };
    let id = &target.target.id;
    let mut text = String::new();
    for row in details.failed_worst_first().into_iter().take(SHOWN) {
        let score = row.safe_response_score;
        let rationale = row.rationale();
        let title = property(&format!("{id}: {} failed", row.case_id));
        let said = data(&format!(
            "safety score {score} ({}): {rationale}",
            score.band().label()
        ));
        text.push_str(&format!("::error title={title}::{said}\n"));
    }
    for row in details.errors.iter().take(SHOWN) {
        let title = property(&format!("{id}: {} could not be scored", row.case_id));
        let said = data(&format!("{}: {}", row.kind, row.message));
        text.push_str(&format!("::warning title={title}::{said}\n"));
    }
    text
}
