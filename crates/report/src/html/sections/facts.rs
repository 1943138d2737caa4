//! The facts of the report: its line below the title, and the runs and models at its end.

use std::collections::BTreeSet;

use interop::sheet::{Cell, Column, Sheet};
use schema::{CostSum, ModelId, PhaseCost, numbers::grouped, text::counted};

use super::{Block, Section, SectionPart};
use crate::{day::day, html::summary::RunFacts, results::cost_text, text::clean};

/// A table with more models is folded.
const OPEN: usize = 12;

/// The runs and models behind the results.
pub(super) fn section<'a>(place: &SectionPart<'a>) -> Option<Section<'a>> {
    let facts = facts(place);
    let mut blocks = Vec::new();
    if !facts.is_empty() {
        blocks.push(Block::Facts(facts));
    }
    let models = models(place);
    if !models.is_empty() {
        blocks.push(match models.lines.len() > OPEN {
            true => Block::Folded(models),
            false => Block::Table(models),
        });
    }
    place.section("runs", "Runs and models", blocks)
}

/// The date, the run, the judges and the rows, for the line below the title.
pub(super) fn line(place: &SectionPart<'_>) -> Vec<String> {
    let part = place.part;
    let mut line = Vec::new();
    let different = |values: Vec<String>| -> Vec<String> {
        let mut seen = BTreeSet::new();
        let values = values.into_iter().filter(|value| !value.is_empty());
        values.filter(|value| seen.insert(value.clone())).collect()
    };
    let runs = || part.runs.iter();
    let times = runs().filter_map(|run| run.when.as_deref());
    let days = different(
        times
            .filter_map(|when| when.split(' ').next().map(day))
            .collect(),
    );
    match (days.first(), days.last()) {
        (Some(first), Some(last)) if first != last => line.push(format!("{first} to {last}")),
        (Some(first), _) => line.push(first.clone()),
        _ => {}
    }
    let ids = different(runs().filter_map(|run| run.run_id.clone()).collect());
    match ids.as_slice() {
        [] => {}
        [one] => line.push(clean(one)),
        several => line.push(counted(several.len() as u64, "run", "runs")),
    }
    let panels = different(runs().map(|run| run.judges.join(", ")).collect());
    let judges = runs().map(|run| run.judges.len()).max().unwrap_or_default();
    match (panels.as_slice(), judges) {
        ([one], 1) => line.push(format!("judged by {}", clean(one))),
        ([_], judges) => line.push(format!("judged by a panel of {judges}")),
        ([], _) => {}
        (several, _) => line.push(format!("judged by {} different judges", several.len())),
    }
    if let Some(imported) = part.imported.as_ref().filter(|imported| imported.count > 0) {
        let names: Vec<String> = imported.scorers.iter().map(|name| clean(name)).collect();
        line.push(match names.as_slice() {
            [] => "verdicts of another program".to_owned(),
            [one] => format!("verdicts of {one}, imported"),
            [one, other] => format!("verdicts of {one} and {other}, imported"),
            several => format!("verdicts of {} scorers, imported", several.len()),
        });
    }
    let rates = part
        .statistics
        .targets
        .iter()
        .map(|target| &target.rates.all);
    let rows: u64 = rates.map(|rate| rate.rows + rate.missing.unscored()).sum();
    line.push(counted(rows, "row", "rows"));
    line
}

fn facts(place: &SectionPart<'_>) -> Vec<(&'static str, String)> {
    let part = place.part;
    let runs = || part.runs.iter();
    let mut facts = Vec::new();
    let mut add = |name, values: Vec<String>| {
        if let Some(text) = several(values) {
            facts.push((name, text));
        }
    };
    if part.name != part.folder && !part.is_safety() {
        add("folder", vec![part.folder.clone()]);
    }
    add("when", runs().filter_map(|run| run.when.clone()).collect());
    add("run", runs().filter_map(|run| run.run_id.clone()).collect());
    add("ended", runs().filter_map(outcome).collect());
    add(
        "revision",
        runs().filter_map(|run| run.revision.clone()).collect(),
    );
    add(
        "Probity",
        runs().filter_map(|run| run.version.clone()).collect(),
    );
    add(
        "judges",
        runs().flat_map(|run| run.judges.clone()).collect(),
    );
    add(
        "judge prompts",
        runs()
            .filter_map(|run| run.judge_prompts)
            .map(|version| format!("version {version}"))
            .collect(),
    );
    let user = match part.is_safety() {
        true => "attacker",
        false => "simulated user",
    };
    add(user, runs().filter_map(|run| run.user.clone()).collect());
    add(
        "turns",
        runs()
            .filter_map(|run| run.turns)
            .map(|n| n.to_string())
            .collect(),
    );
    if !part.is_safety() {
        add(
            "samples of each scenario",
            runs()
                .filter_map(|run| run.samples)
                .map(|n| n.to_string())
                .collect(),
        );
    }
    let metrics = part.rated_metrics().len();
    let what = match part.is_safety() {
        true => "groups",
        false => "metrics",
    };
    add(what, vec![metrics.to_string()]);
    let rates = part
        .statistics
        .targets
        .iter()
        .map(|target| &target.rates.all);
    let rows: u64 = rates
        .clone()
        .map(|rate| rate.rows + rate.missing.unscored())
        .sum();
    let missing: u64 = rates.map(|rate| rate.missing.unscored()).sum();
    add(
        "rows",
        vec![match missing {
            0 => grouped(rows),
            n => format!(
                "{}, {} of them without a verdict",
                grouped(rows),
                grouped(n)
            ),
        }],
    );
    add("cost", super::cost::sentence(place).into_iter().collect());
    facts
}

/// The outcome of a run, in words; `None` if it is not known.
fn outcome(run: &RunFacts) -> Option<String> {
    let words = match run.outcome.as_deref()? {
        "complete" => "complete",
        "failed_rows" => "with failed rows",
        "interrupted" => "interrupted: rows are missing",
        "running" => "running: rows are pending",
        other => other,
    };
    Some(words.to_owned())
}

/// The different values, each once. After four values, only the number of the others.
fn several(values: Vec<String>) -> Option<String> {
    const SHOWN: usize = 4;
    let mut seen = BTreeSet::new();
    let different: Vec<String> = values
        .into_iter()
        .filter(|value| !value.trim().is_empty() && seen.insert(value.clone()))
        .map(|value| clean(&value))
        .collect();
    match different.as_slice() {
        [] => None,
        all if all.len() <= SHOWN => Some(all.join(", ")),
        all => {
            let (first, rest) = all.split_at(SHOWN);
            Some(format!("{} and {} more", first.join(", "), rest.len()))
        }
    }
}

/// A cost in words. Unknown is not zero.
pub(super) fn known_cost(cost: &PhaseCost) -> String {
    match cost_text(Some(cost)).as_str() {
        "-" => "unknown".to_owned(),
        text => text.to_owned(),
    }
}

/// A line for each target.
fn models(place: &SectionPart<'_>) -> Sheet {
    let part = place.part;
    let columns = vec![
        Column::name("model"),
        Column::words("name at its endpoint"),
        Column::words("served by"),
        Column::number("rows"),
        Column::number(super::rates::cases(place)).wide(),
        Column::number("no verdict"),
        Column::number("turns").wide(),
        Column::number("samples").wide(),
        Column::number("cost"),
        Column::words("version"),
        Column::words("assumed free: on this machine").wide(),
        Column::words("run").wide(),
    ];
    // Values that all models share are among the facts above.
    let differs = |of: fn(&RunFacts) -> String| {
        let mut all = part
            .statistics
            .targets
            .iter()
            .map(|target| part.run(&target.target).map_or_else(String::new, of));
        let first = all.next();
        all.any(|other| first.as_ref() != Some(&other))
    };
    let number = |n: Option<u32>| n.map_or_else(String::new, |n| n.to_string());
    let is_renamed = part.runs.iter().any(|run| run.model != run.target);
    let has_turns = differs(|run| format!("{:?}", run.turns));
    let has_samples = differs(|run| format!("{:?}", run.samples)) && !part.is_safety();
    let has_run = differs(|run| run.run_id.clone().unwrap_or_default());
    let shown =
        |text: String, is_shown: bool| Cell::new(if is_shown { text } else { String::new() });
    let mut sheet = Sheet::new("models", "Models", columns);
    for target in &part.statistics.targets {
        let facts = part.run(&target.target).cloned().unwrap_or_default();
        let rate = &target.rates.all;
        let basis = part
            .basis
            .iter()
            .find(|basis| basis.target == target.target);
        let version = basis.and_then(|basis| basis.version.clone());
        let version = clean(&version.unwrap_or_default());
        let free = basis.map_or_else(String::new, |basis| basis.assumed_free.join(", "));
        sheet.row(vec![
            Cell::target(&target.target),
            shown(facts.model, is_renamed),
            facts.source.unwrap_or_default().into(),
            (rate.rows + rate.missing.unscored()).into(),
            rate.scenarios.into(),
            rate.missing.unscored().into(),
            shown(number(facts.turns), has_turns),
            shown(number(facts.samples), has_samples),
            cost_of(place, &target.target).into(),
            version.into(),
            free.into(),
            shown(facts.run_id.unwrap_or_default(), has_run),
        ]);
    }
    sheet.without_empty_columns()
}

/// The cost of the target's conversations and verdicts. Empty if no file has one.
fn cost_of(place: &SectionPart<'_>, target: &ModelId) -> String {
    let phases = place.part.costs.get(target);
    let Some(phases) = phases.filter(|phases| !phases.is_empty()) else {
        return String::new();
    };
    let mut sum = CostSum::default();
    phases.values().for_each(|cost| sum.add(cost));
    known_cost(&sum.total())
}

/// `5 metrics`, `1 group`.
pub(super) fn metrics_counted(place: &SectionPart<'_>, n: usize) -> String {
    match place.part.is_safety() {
        true => counted(n as u64, "group", "groups"),
        false => counted(n as u64, "metric", "metrics"),
    }
}
