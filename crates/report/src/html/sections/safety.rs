//! Safety evaluations: rates over cases, groups, strategies and layers, and the results of the rules.

use interop::figures::safety_rates_sheet;
use schema::safety::{GateOutcome, results::RunParameters};

use super::{Block, Section, SectionPart};
use crate::{
    html::summary::SafetyFileSummary,
    numbers::percent,
    safety::{asides, bands, tables::counted},
    text::{clean, sentence},
};

pub(super) fn section<'a>(place: &SectionPart<'a>) -> Option<Section<'a>> {
    let mut blocks = Vec::new();
    for file in &place.part.safety {
        blocks.extend(of_file(file));
    }
    place.section("safety", "Cases, groups and layers", blocks)
}

fn of_file(file: &SafetyFileSummary) -> Vec<Block> {
    let name = clean(file.target.as_str());
    let mut blocks = Vec::new();
    let tally = file.results.tally();
    let scored = tally.passed.saturating_add(tally.failed);
    let rate = (scored > 0).then(|| tally.failure_rate());
    let mut lead = format!(
        "{name}: {} of {scored} attempts failed ({}), {} without a verdict.",
        tally.failed,
        percent(rate),
        tally.errors
    );
    let details = file.results.details();
    if let Some(details) = details.filter(|_| scored > 0) {
        lead.push_str(&format!(" {}.", sentence(&bands(details))));
    }
    blocks.push(Block::Lead(lead));
    blocks.extend(limits(file).map(Block::Lead));
    let Some(details) = details else {
        let note = "Another program wrote the file: it has no groups and layers.";
        blocks.push(Block::Note(note.to_owned()));
        return blocks;
    };
    let asides = asides(&file.results, details);
    blocks.extend(
        asides
            .iter()
            .map(|line| Block::Note(format!("{}.", sentence(line)))),
    );
    if let Some(rates) = &details.rates {
        let title = format!("{name}: rates over cases");
        let mut sheet = safety_rates_sheet(&title, Some(&file.target), rates);
        sheet.note("These are failure rates: the lower the better.");
        if !sheet.is_empty() {
            blocks.push(Block::Table(sheet));
        }
    }
    let counts = counted(&file.results, details);
    blocks.extend(counts.iter().map(|counts| {
        let title = format!("{name}: by {}", counts.heading);
        Block::Table(counts.sheet(&title))
    }));
    blocks
}

/// The results of the run's own limits.
fn limits(file: &SafetyFileSummary) -> Option<String> {
    let run: &RunParameters = file.results.details()?.run.as_ref()?;
    let gate = &run.gate;
    let limits: Vec<String> = [
        gate.fail_action_threshold.map(|share| {
            format!(
                "at most {} of attempts may fail",
                percent(Some(share.get()))
            )
        }),
        gate.max_errors
            .map(|errors| format!("at most {errors} may be without a verdict")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if limits.is_empty() {
        return None;
    }
    let found = match gate.judge(file.results.tally()) {
        GateOutcome::Passed => "pass".to_owned(),
        GateOutcome::NothingScored { errors } => {
            format!("fail: no attempt has a verdict, {errors} have none")
        }
        GateOutcome::TooManyErrors { errors, max } => {
            format!("fail: {errors} without a verdict, {max} allowed")
        }
        GateOutcome::TooManyFailures { rate, threshold } => format!(
            "fail: {} of attempts failed, {} allowed",
            percent(Some(rate)),
            percent(Some(threshold.get()))
        ),
        GateOutcome::Inconclusive { incomplete } => {
            format!("inconclusive: {incomplete} passed with a cut-off reply")
        }
    };
    Some(format!(
        "Limits of the run: {}. Found: {found}.",
        limits.join(", ")
    ))
}
