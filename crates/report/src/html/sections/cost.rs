//! Cost and time: cost by phase and model, replies from the cache, retries, durations of calls.

use indexmap::IndexMap;
use interop::sheet::{Cell, Column, Sheet, Value};
use schema::{CostSum, PhaseCost, text::counted};

use super::{Block, Section, SectionPart, facts::known_cost};
use crate::{
    html::summary::{CallFigure, CallFigures},
    numbers::{dollars, short},
    prompt_caches,
    text::clean,
};

/// With more models than this, the line of the cost does not name each.
const NAMED: usize = 8;
/// Shown for an unknown number.
const UNKNOWN: &str = "unknown";

pub(super) fn section<'a>(place: &SectionPart<'a>) -> Option<Section<'a>> {
    let lead = sentence(place).filter(|line| *line != dollars(0.0));
    let mut blocks: Vec<Block> = lead.map(Block::Lead).into_iter().collect();
    let phases = phases(place);
    if !phases.is_empty() {
        blocks.push(Block::Table(phases));
    }
    match &place.part.calls {
        Some(figures) if !figures.calls.is_empty() => {
            blocks.push(Block::Table(calls(figures)));
            blocks.push(Block::Table(times(figures)));
            blocks.extend(retries(figures));
        }
        _ => blocks.push(Block::Note(
            "Calls, retries and times are unknown: no journal of these rows is there.".to_owned(),
        )),
    }
    blocks.retain(|block| !matches!(block, Block::Table(sheet) if sheet.is_empty()));
    place.section("cost-and-time", "Cost and time", blocks)
}

/// The cost in one line: all of it, by phase, by model where there are few, and of a row. `None` if the files of a target have no cost, as
/// those of a run that goes on.
pub(super) fn sentence(place: &SectionPart<'_>) -> Option<String> {
    let part = place.part;
    if part.costs.values().any(IndexMap::is_empty) {
        return None;
    }
    let mut by_phase: IndexMap<&str, CostSum> = IndexMap::new();
    let of_targets = part.costs.values().flatten();
    for (phase, cost) in of_targets.chain(&part.shared_costs) {
        by_phase.entry(phase).or_default().add(cost);
    }
    let all = total(
        by_phase
            .values()
            .map(CostSum::total)
            .collect::<Vec<_>>()
            .iter(),
    );
    if by_phase.is_empty() {
        return None;
    }
    // Where nothing costs anything, the parts of it say no more.
    if all.cost == Some(0.0) {
        return Some(known_cost(&all));
    }
    let phases: Vec<String> = by_phase
        .iter()
        .map(|(phase, sum)| match known_cost(&sum.total()) {
            cost if cost == UNKNOWN => format!("{} {UNKNOWN}", activity(phase)),
            cost => format!("{cost} {}", activity(phase)),
        })
        .collect();
    let mut parts = vec![match phases.as_slice() {
        [_] => known_cost(&all),
        _ => format!("{}: {}", known_cost(&all), phases.join(", ")),
    }];
    if (2..=NAMED).contains(&part.costs.len()) {
        parts.extend(part.costs.iter().map(|(target, phases)| {
            format!(
                "{} {}",
                clean(target.as_str()),
                known_cost(&total(phases.values()))
            )
        }));
    }
    let rows: u64 = part
        .statistics
        .targets
        .iter()
        .map(|target| target.rates.all.rows + target.rates.all.missing.unscored())
        .sum();
    if let Some(cost) = all.cost.filter(|cost| *cost > 0.0 && rows > 0) {
        #[expect(clippy::cast_precision_loss, reason = "no tree has 2^52 rows")]
        parts.push(format!("{} a row", dollars(cost / rows as f64)));
    }
    Some(parts.join(" · "))
}

/// What a phase does, as a noun.
fn activity(phase: &str) -> &str {
    match phase {
        "simulate" => "conversations",
        "evaluate" => "judging",
        "gen_metrics" => "metrics",
        "gen_scenarios" => "scenarios",
        other => other,
    }
}

/// The sum of all costs.
pub(super) fn total<'c>(costs: impl IntoIterator<Item = &'c PhaseCost>) -> PhaseCost {
    let mut sum = CostSum::default();
    costs.into_iter().for_each(|cost| sum.add(cost));
    sum.total()
}

/// Dollars and tokens of the results in the tree.
fn phases(place: &SectionPart<'_>) -> Sheet {
    let part = place.part;
    let [read, written] = prompt_caches::COLUMNS.map(Column::number);
    let columns = vec![
        Column::name("phase"),
        Column::name("model"),
        Column::number("cost"),
        Column::number("tokens sent"),
        read,
        written,
        Column::number("tokens received"),
        Column::number("calls without a price"),
    ];
    let mut sheet = Sheet::new("phases", "What the results cost", columns);
    let mut row = |phase: &str, model: Cell, cost: &PhaseCost| {
        let unpriced = match cost.unpriced_calls {
            0 => Cell::default(),
            n => n.into(),
        };
        let [read, written] =
            prompt_caches::cells(cost.cached_input_tokens, cost.cache_write_tokens);
        sheet.row(vec![
            phase.into(),
            model,
            known_cost(cost).into(),
            tokens(cost, cost.input_tokens).into(),
            read,
            written,
            tokens(cost, cost.output_tokens).into(),
            unpriced,
        ]);
    };
    let mut all = Vec::new();
    for (phase, cost) in &part.shared_costs {
        row(phase, Cell::new("all models"), cost);
        all.push(cost);
    }
    for (target, phases) in &part.costs {
        for (phase, cost) in phases {
            row(phase, Cell::target(target), cost);
            all.push(cost);
        }
    }
    if all.len() > 1 {
        row("all phases", Cell::default(), &total(all.iter().copied()));
    }
    if all.iter().any(|cost| cost.cost.is_none()) {
        let note = "A call without a price makes a cost unknown; a cost with + is that of the calls with a price.";
        sheet.notes.push(note.to_owned());
    }
    sheet.without_empty_columns()
}

/// A number of tokens. It is unknown, not 0, if neither cost nor use is known.
fn tokens(cost: &PhaseCost, tokens: u64) -> String {
    match (cost.cost, cost.input_tokens + cost.output_tokens) {
        (None, 0) => UNKNOWN.to_owned(),
        _ => short(tokens),
    }
}

/// A role in words.
fn role(call: &CallFigure) -> &'static str {
    match call.role {
        "sut" => "target",
        "annotator" => "judge",
        "user" => "simulated user",
        "tool" => "simulated tools",
        other => other,
    }
}

fn names(call: &CallFigure) -> [Cell; 2] {
    let model = match clean(&call.model).as_str() {
        "" => UNKNOWN.to_owned(),
        model => model.to_owned(),
    };
    [role(call).into(), model.into()]
}

fn known<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), text)
}

fn calls(figures: &CallFigures) -> Sheet {
    let [read, written] = prompt_caches::COLUMNS.map(Column::number);
    let columns = vec![
        Column::name("role"),
        Column::name("model"),
        Column::number("new replies"),
        Column::number("from the cache"),
        Column::number("cache hits"),
        Column::number("failed"),
        Column::number("tokens sent"),
        read,
        written,
        Column::number("tokens received"),
        Column::number("cost"),
    ];
    let mut sheet = Sheet::new("calls", "Calls", columns);
    for call in &figures.calls {
        let [role, model] = names(call);
        let cost = Cell::cost(call.cost, call.priced_cost);
        // Replies from the cache cost nothing in this run.
        let cost = match (call.fetched + call.failed, &cost.value) {
            (0, _) => Cell::default(),
            (_, Value::Missing) => UNKNOWN.into(),
            _ => cost,
        };
        let tokens = |n: Option<u64>| match call.fetched + call.failed {
            0 => String::new(),
            _ => known(n, short),
        };
        let [read, written] =
            prompt_caches::cells(call.cached_input_tokens, call.cache_write_tokens);
        sheet.row(vec![
            role,
            model,
            call.fetched.into(),
            call.cached.into(),
            call.hit_rate
                .map_or_else(|| UNKNOWN.into(), |share| Cell::rate(Some(share))),
            call.failed.into(),
            tokens(call.input_tokens).into(),
            read,
            written,
            tokens(call.output_tokens).into(),
            cost,
        ]);
    }
    let runs: Vec<String> = figures.runs.iter().map(|run| clean(run)).collect();
    if !runs.is_empty() {
        sheet.notes.push(format!(
            "By the {} of {}.",
            match runs.len() {
                1 => "journal",
                _ => "journals",
            },
            runs.join(", ")
        ));
    }
    let has_caches = |call: &CallFigure| call.cached_input_tokens + call.cache_write_tokens > 0;
    prompt_caches::only_if(figures.calls.iter().any(has_caches), sheet)
}

/// The durations of calls to endpoints.
fn times(figures: &CallFigures) -> Sheet {
    let columns = vec![
        Column::name("role"),
        Column::name("model"),
        Column::number("p50"),
        Column::number("p90"),
        Column::number("p99"),
        Column::number("max"),
    ];
    let mut sheet = Sheet::new("latency", "How long new replies took", columns);
    for call in &figures.calls {
        let Some(latency) = call.latency else {
            continue;
        };
        let mut row = Vec::from(names(call));
        row.extend(latency.map(|time| Cell::of(Value::Seconds(time))));
        sheet.row(row);
    }
    sheet
}

/// A table of failed attempts, or a line that says that none failed.
fn retries(figures: &CallFigures) -> Option<Block> {
    let calls: u64 = figures.calls.iter().map(|call| call.fetched).sum();
    if figures.retries.is_empty() {
        let none = format!("none in {}", counted(calls, "call", "calls"));
        return (calls > 0).then(|| Block::Facts(vec![("retries", none)]));
    }
    let columns = vec![
        Column::name("cause"),
        Column::number("status"),
        Column::number("retried"),
        Column::number("waited"),
        Column::number("given up"),
    ];
    let mut sheet = Sheet::new("retries", "Retries", columns);
    for cause in &figures.retries {
        let kind = match cause.kind.as_str() {
            "" => UNKNOWN.to_owned(),
            kind => kind.replace('_', " "),
        };
        sheet.row(vec![
            kind.into(),
            cause
                .status
                .map_or_else(String::new, |status| status.to_string())
                .into(),
            cause.retried.into(),
            Cell::of(Value::Seconds(cause.waited)),
            cause.given_up.into(),
        ]);
    }
    Some(Block::Table(sheet))
}
