//! The calls, tokens and cost that a run would need.

use interop::sheet::{Cell, Column, Sheet};
use schema::{ProgramFlag, text::counted};

use crate::{
    brief::COLUMNS,
    numbers::{dollars, grouped, short},
    terminal::sheet_text,
    text::clean,
};

/// A range of expected values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span<T> {
    /// The least expected.
    pub low: T,
    /// The most expected.
    pub high: T,
}

/// One row of a plan: the calls of one phase to one model.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanRow {
    /// The called model and its role, and the target that it is called for: `judge gpt-4o for target llama`. Rows that differ in the target
    /// alone are one line.
    pub model: String,
    /// Whether the called model is a target.
    pub is_target: bool,
    /// Rows whose replies are all in the cache. A column shows them if there are any. The fields below count only the other rows.
    pub cached: u64,
    /// Calls to the model.
    pub calls: Span<u64>,
    /// Tokens sent.
    pub input: Span<u64>,
    /// Tokens received.
    pub output: Span<u64>,
    /// Dollars; `None` if the model's price is not known.
    pub dollars: Option<Span<f64>>,
    /// The same where providers read the beginnings of requests from their prompt caches.
    pub dollars_with_prompt_cache: Option<Span<f64>>,
    /// The same as `dollars` where all requests that can be are sent in batches.
    pub dollars_in_batches: Option<Span<f64>>,
}

/// With more targets than this, only the first ones have a line.
const MOST: usize = 12;
/// How many have one then.
const FIRST: usize = 8;
/// The most names in a note.
const NAMED: usize = 4;

/// A line for each model in its role, and one of totals, in 80 columns or in `width` if that is less. More than 12 targets are folded to the
/// first ones and the sum of the others, unless `is_whole`. Models without a known price are named below the table, and the total says that
/// they are left out.
#[must_use]
pub fn plan_table(rows: &[PlanRow], is_whole: bool, width: usize) -> String {
    if rows.is_empty() {
        return "  nothing to do\n".to_owned();
    }
    let width = width.min(COLUMNS);
    let models = by_model(rows);
    let folded = match is_whole {
        true => models.clone(),
        false => folded(models.clone()),
    };
    let mut sheet = sheet(&folded, rows);
    let unpriced: Vec<String> = models
        .iter()
        .filter(|line| line.is_unpriced)
        .map(|line| clean(&line.model))
        .collect();
    if !unpriced.is_empty() {
        let count = unpriced.len() as u64;
        let is_any_priced = models.iter().any(|line| line.dollars.is_some());
        sheet.note(format!(
            "No price for {}: {}.{}",
            counted(count, "model", "models"),
            first_names(&unpriced, is_whole),
            match (is_any_priced, count) {
                (false, _) => "",
                (true, 1) => " A total with + leaves out its cost.",
                (true, _) => " A total with + leaves out their cost.",
            },
        ));
    }
    for note in notes_on_savings(rows) {
        sheet.note(note);
    }
    sheet_text(&sheet, width)
}

/// The total with prompt caches and that with batches, where they are other ones.
fn notes_on_savings(rows: &[PlanRow]) -> Vec<String> {
    let priced = |dollars: fn(&PlanRow) -> Option<Span<f64>>| {
        let dollars: Vec<Span<f64>> = rows.iter().filter_map(dollars).collect();
        total_money(&dollars, dollars.len() < rows.len())
    };
    let without = priced(|row| row.dollars);
    let batched = format!(
        "with `{}`, which can take a day",
        ProgramFlag::new("batch").value("all")
    );
    let ways = [
        (
            priced(|row| row.dollars_with_prompt_cache),
            "where prompt caches of providers have what a conversation repeats",
        ),
        (priced(|row| row.dollars_in_batches), batched.as_str()),
    ];
    let others = ways.into_iter().filter(|(with, _)| *with != without);
    others
        .map(|(with, when)| format!("{with} instead of {without} {when}."))
        .collect()
}

/// The names, or the first ones and the number of the others.
fn first_names(names: &[String], is_whole: bool) -> String {
    match names.len().saturating_sub(NAMED) {
        more if more > 1 && !is_whole => {
            let first = names.get(..NAMED).unwrap_or_default();
            format!("{} and {} more", first.join(", "), grouped(more as u64))
        }
        _ => names.join(", "),
    }
}

/// The calls to one model in one role.
#[derive(Clone, Debug)]
struct ModelLine {
    model: String,
    is_target: bool,
    cached: u64,
    calls: Span<u64>,
    input: Span<u64>,
    output: Span<u64>,
    /// The dollars of the rows with a price.
    dollars: Option<Span<f64>>,
    /// Whether a row has no price.
    is_unpriced: bool,
}

impl ModelLine {
    fn add(&mut self, other: &Self) {
        self.cached = self.cached.saturating_add(other.cached);
        self.calls = sum([self.calls, other.calls].into_iter());
        self.input = sum([self.input, other.input].into_iter());
        self.output = sum([self.output, other.output].into_iter());
        self.dollars = match (self.dollars, other.dollars) {
            (Some(one), Some(other)) => Some(Span {
                low: one.low + other.low,
                high: one.high + other.high,
            }),
            (one, other) => one.or(other),
        };
        self.is_unpriced |= other.is_unpriced;
    }
}

/// One line for each model in its role, in the order of the first rows, but all targets together.
fn by_model(rows: &[PlanRow]) -> Vec<ModelLine> {
    let mut lines: Vec<ModelLine> = Vec::new();
    for row in rows {
        let model = row.model.split(" for target ").next().unwrap_or_default();
        let line = ModelLine {
            model: model.to_owned(),
            is_target: row.is_target,
            cached: row.cached,
            calls: row.calls,
            input: row.input,
            output: row.output,
            dollars: row.dollars,
            is_unpriced: row.dollars.is_none(),
        };
        match lines.iter_mut().find(|known| known.model == model) {
            Some(known) => known.add(&line),
            None => lines.push(line),
        }
    }
    // All targets stand together, after what is called before them.
    let first = lines
        .iter()
        .position(|line| line.is_target)
        .unwrap_or_default();
    let after = lines.split_off(first);
    let (targets, others): (Vec<_>, Vec<_>) = after.into_iter().partition(|line| line.is_target);
    lines.extend(targets);
    lines.extend(others);
    lines
}

/// The lines with the sum of most targets, if there are many.
fn folded(lines: Vec<ModelLine>) -> Vec<ModelLine> {
    let targets = lines.iter().filter(|line| line.is_target).count();
    if targets <= MOST {
        return lines;
    }
    let mut shown: Vec<ModelLine> = Vec::new();
    let mut place = None;
    let mut seen = 0;
    for line in lines {
        seen += usize::from(line.is_target);
        match (line.is_target && seen > FIRST, place) {
            (false, _) => shown.push(line),
            (true, None) => {
                place = Some(shown.len());
                let model = format!("… and {} more targets", targets - FIRST);
                shown.push(ModelLine { model, ..line });
            }
            (true, Some(at)) => {
                if let Some(rest) = shown.get_mut(at) {
                    rest.add(&line);
                }
            }
        }
    }
    shown
}

/// The lines and their total.
fn sheet(lines: &[ModelLine], rows: &[PlanRow]) -> Sheet {
    let columns = vec![
        Column::name(""),
        Column::number("cached rows"),
        Column::number("calls"),
        Column::number("tokens in"),
        Column::number("tokens out"),
        Column::number("dollars"),
    ];
    let mut sheet = Sheet::new("plan", "", columns);
    for line in lines {
        sheet.row(vec![
            line.model.as_str().into(),
            line.cached.into(),
            counts(line.calls).into(),
            counts(line.input).into(),
            counts(line.output).into(),
            match (line.dollars, line.is_unpriced) {
                (None, _) => "unknown".to_owned(),
                (Some(dollars), false) => money(dollars),
                (Some(dollars), true) => format!("{}+", money(dollars)),
            }
            .into(),
        ]);
    }
    let priced: Vec<Span<f64>> = rows.iter().filter_map(|row| row.dollars).collect();
    sheet.row(vec![
        "all".into(),
        Cell::default(),
        counts(sum(rows.iter().map(|row| row.calls))).into(),
        counts(sum(rows.iter().map(|row| row.input))).into(),
        counts(sum(rows.iter().map(|row| row.output))).into(),
        total_money(&priced, priced.len() < rows.len()).into(),
    ]);
    let some_cached = rows.iter().any(|row| row.cached > 0);
    sheet.with_columns(|_, column| some_cached || column.name != "cached rows")
}

fn sum(spans: impl Iterator<Item = Span<u64>>) -> Span<u64> {
    spans.fold(Span::default(), |total, span| Span {
        low: total.low.saturating_add(span.low),
        high: total.high.saturating_add(span.high),
    })
}

fn total_money(priced: &[Span<f64>], some_unknown: bool) -> String {
    if priced.is_empty() {
        return "unknown".to_owned();
    }
    let total = money(Span {
        low: priced.iter().map(|span| span.low).sum(),
        high: priced.iter().map(|span| span.high).sum(),
    });
    if some_unknown {
        format!("{total}+")
    } else {
        total
    }
}

fn counts(span: Span<u64>) -> String {
    range(&short(span.low), &short(span.high))
}

fn money(span: Span<f64>) -> String {
    range(&dollars(span.low), &dollars(span.high))
}

fn range(low: &str, high: &str) -> String {
    if low == high {
        low.to_owned()
    } else {
        format!("{low}–{high}")
    }
}
