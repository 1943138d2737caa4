//! The calls, tokens and cost that a run would need.

use interop::sheet::{Cell, Column, Sheet};
use schema::text::counted;

use crate::{
    numbers::{dollars, short},
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
    /// The benchmark; empty if there is only one. Shown if the rows belong to several.
    pub benchmark: String,
    /// The phase, as the command line names it.
    pub phase: String,
    /// The called model.
    pub model: String,
    /// Rows that the phase produces.
    pub rows: u64,
    /// Rows whose replies are all in the cache. A column shows them if there are any. The fields below count only the other rows.
    pub cached: u64,
    /// Calls to the model.
    pub calls: Span<u64>,
    /// Tokens, sent and received together.
    pub tokens: Span<u64>,
    /// Dollars; `None` if the model's price is not known.
    pub dollars: Option<Span<f64>>,
}

/// A table of `rows` with a line of totals. Models without a known price are named below the table, and the total says that they are
/// left out. `width` is the terminal's width.
#[must_use]
pub fn plan_table(rows: &[PlanRow], width: usize) -> String {
    if rows.is_empty() {
        return "  nothing to do\n".to_owned();
    }
    let (priced, unpriced): (Vec<&PlanRow>, Vec<&PlanRow>) =
        rows.iter().partition(|row| row.dollars.is_some());
    let of_several = |row: &PlanRow| row.benchmark != rows[0].benchmark;
    let mut sheet = sheet(rows, rows.iter().any(of_several), &priced, &unpriced);
    let mut models: Vec<String> = Vec::new();
    for row in unpriced {
        // A model is listed once, whatever the number of targets that it is called for.
        let model = row.model.split(" for target ").next().unwrap_or_default();
        let model = clean(model);
        if !models.contains(&model) {
            models.push(model);
        }
    }
    if !models.is_empty() {
        let count = u64::try_from(models.len()).unwrap_or(u64::MAX);
        let note = format!(
            "No price for {}: {}.{}",
            counted(count, "model", "models"),
            models.join(", "),
            match (priced.is_empty(), count) {
                (true, _) => "",
                (false, 1) => " A total with + leaves out its cost.",
                (false, _) => " A total with + leaves out their cost.",
            },
        );
        sheet.note(note);
    }
    sheet_text(&sheet, width)
}

/// The rows and their total. Rows of `several` benchmarks have a column with the benchmark.
fn sheet(rows: &[PlanRow], several: bool, priced: &[&PlanRow], unpriced: &[&PlanRow]) -> Sheet {
    let columns = vec![
        Column::name("benchmark"),
        Column::name("phase"),
        Column::name("model"),
        Column::number("rows"),
        Column::number("cached"),
        Column::number("calls"),
        Column::number("tokens"),
        Column::number("dollars"),
    ];
    let mut sheet = Sheet::new("plan", "", columns);
    for row in rows {
        sheet.row(vec![
            row.benchmark.as_str().into(),
            row.phase.as_str().into(),
            row.model.as_str().into(),
            row.rows.into(),
            row.cached.into(),
            counts(row.calls).into(),
            counts(row.tokens).into(),
            row.dollars
                .map_or_else(|| "unknown".to_owned(), money)
                .into(),
        ]);
    }
    let (total, blank) = ("total", "");
    let first = match several {
        true => [total, blank],
        false => [blank, total],
    };
    let mut cells: Vec<Cell> = first.map(Cell::from).into();
    cells.extend([blank; 3].map(Cell::from));
    cells.extend([
        counts(sum(rows.iter().map(|row| row.calls))).into(),
        counts(sum(rows.iter().map(|row| row.tokens))).into(),
        total_money(priced, !unpriced.is_empty()).into(),
    ]);
    sheet.row(cells);
    let some_cached = rows.iter().any(|row| row.cached > 0);
    sheet.with_columns(|_, column| match column.name.as_str() {
        "benchmark" => several,
        "cached" => some_cached,
        _ => true,
    })
}

fn sum(spans: impl Iterator<Item = Span<u64>>) -> Span<u64> {
    spans.fold(Span::default(), |total, span| Span {
        low: total.low.saturating_add(span.low),
        high: total.high.saturating_add(span.high),
    })
}

fn total_money(priced: &[&PlanRow], some_unknown: bool) -> String {
    if priced.is_empty() {
        return "unknown".to_owned();
    }
    let spans = || priced.iter().filter_map(|row| row.dollars);
    let total = money(Span {
        low: spans().map(|span| span.low).sum(),
        high: spans().map(|span| span.high).sum(),
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
