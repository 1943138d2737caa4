//! The calls, tokens and cost that a run would need.

use schema::text::counted;

use crate::{
    numbers::{dollars, grouped, short},
    table::Table,
    text::{clean, wrapped},
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
    let table = table(rows, rows.iter().any(of_several), &priced, &unpriced);
    let mut text = table.render(width);
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
        text.push_str(&wrapped(&note, "  ", width));
    }
    text
}

/// The rows and their total. Rows of `several` benchmarks have a column with the benchmark.
fn table(rows: &[PlanRow], several: bool, priced: &[&PlanRow], unpriced: &[&PlanRow]) -> Table {
    let mut header = vec!["phase", "model", "rows", "calls", "tokens", "dollars"];
    if several {
        header.insert(0, "benchmark");
    }
    let some_cached = rows.iter().any(|row| row.cached > 0);
    let numbers = header.len() - 4;
    if some_cached {
        header.insert(header.len() - 3, "cached");
    }
    let mut table = Table::new(numbers, &header);
    for row in rows {
        let mut cells = vec![
            row.phase.clone(),
            row.model.clone(),
            grouped(row.rows),
            counts(row.calls),
            counts(row.tokens),
            row.dollars.map_or_else(|| "unknown".to_owned(), money),
        ];
        if some_cached {
            cells.insert(3, grouped(row.cached));
        }
        if several {
            cells.insert(0, row.benchmark.clone());
        }
        table.row(cells);
    }
    let mut total = vec![String::new(); header.len() - 3];
    total.extend([
        counts(sum(rows.iter().map(|row| row.calls))),
        counts(sum(rows.iter().map(|row| row.tokens))),
        total_money(priced, !unpriced.is_empty()),
    ]);
    if let Some(first) = total.first_mut() {
        "total".clone_into(first);
    }
    table.row(total);
    table
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
