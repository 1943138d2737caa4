//! Safety evaluations: rates over cases, groups, strategies and layers, and the results of the rules.

use schema::safety::{
    GateOutcome,
    results::{Details, RunParameters, SafetyRates},
};

use super::{Block, Section, SectionPart};
use crate::{
    html::summary::SafetyFileSummary,
    numbers::{compact_interval, percent},
    safety::{
        asides, bands,
        rates::{notes, shown},
        tables::counted,
    },
    sheet::{Axis, Cell, Column, Sheet, Strip},
    text::clean,
};

pub(super) fn section(place: &SectionPart<'_>) -> Option<Section> {
    let mut blocks = Vec::new();
    for file in &place.part.safety {
        blocks.extend(of_file(place, file));
    }
    place.section("safety", "Cases, groups and layers", blocks)
}

fn of_file(place: &SectionPart<'_>, file: &SafetyFileSummary) -> Vec<Block> {
    let name = clean(file.target.as_str());
    let mut blocks = Vec::new();
    let tally = file.results.tally();
    let scored = tally.passed.saturating_add(tally.failed);
    let rate = (scored > 0).then(|| tally.failure_rate());
    let mut lead = format!(
        "{name}: {} of {scored} attempts failed ({}), {} without a score.",
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
        let sheet = rates_sheet(place, file, rates);
        if !sheet.is_empty() {
            blocks.push(Block::Table(sheet));
        }
    }
    blocks.extend(tables(file, details).into_iter().map(Block::Table));
    blocks
}

fn sentence(line: &str) -> String {
    let mut letters = line.chars();
    match letters.next() {
        Some(first) => format!("{}{}", first.to_uppercase(), letters.as_str()),
        None => String::new(),
    }
}

/// The results of the run's own limits.
fn limits(file: &SafetyFileSummary) -> Option<String> {
    let run: &RunParameters = file.results.details()?.run.as_ref()?;
    let gate = &run.gate;
    let limits = [
        gate.fail_action_threshold.map(|share| {
            format!(
                "at most {} of attempts may fail",
                percent(Some(share.get()))
            )
        }),
        gate.max_errors
            .map(|errors| format!("at most {errors} may be without a score")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    if limits.is_empty() {
        return None;
    }
    let found = match gate.judge(file.results.tally()) {
        GateOutcome::Passed => "pass".to_owned(),
        GateOutcome::NothingScored { errors } => format!("fail: none scored, {errors} errors"),
        GateOutcome::TooManyErrors { errors, max } => {
            format!("fail: {errors} without a score, {max} allowed")
        }
        GateOutcome::TooManyFailures { rate, threshold } => format!(
            "fail: {} of attempts failed, {} allowed",
            percent(Some(rate)),
            percent(Some(threshold.get()))
        ),
    };
    Some(format!(
        "Limits of the run: {}. Found: {found}.",
        limits.join(", ")
    ))
}

/// The table of the rates over cases, with intervals.
fn rates_sheet(place: &SectionPart<'_>, file: &SafetyFileSummary, rates: &SafetyRates) -> Sheet {
    let columns = vec![
        Column::name("rate"),
        Column::chart(Axis::Rate),
        Column::number("share").drawn(),
        Column::number("95% interval").drawn(),
        Column::number("rows"),
        Column::number("cases"),
        Column::number("no verdict"),
    ];
    let title = format!("{}: rates over cases", clean(file.target.as_str()));
    let mut sheet = Sheet::new("safety-rates", title, columns);
    let all = shown(rates);
    for (name, rate) in &all {
        let ends = rate.lower.zip(rate.upper);
        let missing = rate.missing.unscored();
        let bounds = (missing > 0).then_some(rate.bounds).flatten();
        let strip = Strip {
            estimate: rate.estimate,
            interval: ends,
            bounds: bounds.map(|ends| (ends.lower, ends.upper)),
            series: place.series(&file.target),
            title: format!(
                "{}, {name}: {}, 95% interval {}",
                clean(file.target.as_str()),
                percent(rate.estimate),
                compact_interval(ends)
            ),
        };
        let link = place.link(Some(&file.target), None);
        sheet.row(vec![
            Cell::linked(*name, link.clone()),
            Cell::drawn(strip, Some(link)),
            percent(rate.estimate).into(),
            compact_interval(ends).into(),
            format!("{} of {}", rate.count, rate.rows).into(),
            rate.cases.into(),
            missing.into(),
        ]);
    }
    sheet
        .notes
        .extend(notes(&all).iter().map(|note| format!("{note}.")));
    let note = "These are failure rates: the lower the better.";
    sheet.notes.push(note.to_owned());
    sheet
}

/// The tables of groups, strategies and layers.
fn tables(file: &SafetyFileSummary, details: &Details) -> Vec<Sheet> {
    let mut sheets = Vec::new();
    for counts in counted(&file.results, details) {
        let header = counts.header();
        let names = header.iter().enumerate();
        let columns = names.map(|(at, &name)| match (at, name) {
            (0, name) => Column::name(name),
            (_, "rate") => Column::number("failure rate"),
            (_, name) => Column::number(name),
        });
        let title = format!("{}: by {}", clean(file.target.as_str()), counts.heading);
        let id = format!("by-{}", counts.heading.replace(' ', "-"));
        let mut sheet = Sheet::new(&id, title, columns.collect());
        for row in counts.rows() {
            sheet.row(row.into_iter().map(Cell::from).collect());
        }
        sheets.push(sheet);
    }
    sheets
}
