//! Comparisons of targets.

use std::fmt::Write as _;

use schema::{
    ModelId,
    statistics::{Comparison, DifferenceStatistics},
};

use crate::{
    numbers::percent,
    table::Table,
    text::{clean, wrapped},
};

/// The widest that a note is wrapped, in columns, where the output is wider.
const NOTE: usize = 80;

/// A table for each pair: both rates, their difference with its 95% interval, and the corrected p-value, over all rows and by metric.
/// Below the table, sentences state the conclusions. `names` are the names of the two sides of a pair; `None` means their ids.
#[must_use]
pub fn comparison_tables(
    comparisons: &[Comparison],
    names: Option<[&str; 2]>,
    width: usize,
) -> String {
    let mut text = String::new();
    for pair in pairs(comparisons, |one| (&one.a, &one.b)) {
        let Some(first) = pair.first() else { continue };
        if !text.is_empty() {
            text.push('\n');
        }
        // Writing to a String does not fail.
        let _ = writeln!(text, "{}", title(first, names));
        let mut table = Table::new(1, &["metric", "A", "B", "difference", "95% interval", "p"]);
        for comparison in pair {
            let mut row = vec![comparison.scope.clone()];
            row.extend(cells(&comparison.difference));
            table.row(row);
        }
        text.push_str(&table.render(width));
        for line in words(pair) {
            text.push_str(&wrapped(&line, "  ", width));
        }
        if let Some(note) = disagreement(pair.iter().map(|one| &one.difference)) {
            text.push_str(&wrapped(note, "  ", width.min(NOTE)));
        }
    }
    text
}

/// The conclusion of a comparison between two targets that differ.
pub(crate) const DIFFER: &str = "differ";

/// A note that explains why an interval can exclude 0 although no difference is shown. `None` if this applies to no difference.
pub(crate) fn disagreement<'d>(
    differences: impl IntoIterator<Item = &'d DifferenceStatistics>,
) -> Option<&'static str> {
    let disagrees = |found: &DifferenceStatistics| {
        found.says != DIFFER && (found.lower > 0.0 || found.upper < 0.0)
    };
    let note = "Where an interval leaves 0 out and no difference is shown, p decides: the interval is approximate and looks at one comparison alone, \
                while p is exact where scenarios are few, and is corrected for all comparisons that are made at once.";
    differences.into_iter().any(disagrees).then_some(note)
}

/// The same tables as [`comparison_tables`], in Markdown.
#[must_use]
pub fn comparison_markdown(comparisons: &[Comparison], names: Option<[&str; 2]>) -> String {
    let mut text = String::new();
    for pair in pairs(comparisons, |one| (&one.a, &one.b)) {
        let Some(first) = pair.first() else { continue };
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "**{}**\n", escaped(&title(first, names)));
        text.push_str("| metric | A | B | difference | 95% interval | p (Holm) | says |\n");
        text.push_str("|---|--:|--:|--:|---|--:|---|\n");
        for comparison in pair {
            let _ = writeln!(
                text,
                "| {} | {} | {} |",
                escaped(&comparison.scope),
                cells(&comparison.difference).join(" | "),
                comparison.difference.says
            );
        }
        if let Some(note) = disagreement(pair.iter().map(|one| &one.difference)) {
            let _ = writeln!(text, "\n*{note}*");
        }
    }
    text
}

/// Groups adjacent comparisons of the same pair.
pub(crate) fn pairs<C>(
    comparisons: &[C],
    names: fn(&C) -> (&ModelId, &ModelId),
) -> impl Iterator<Item = &[C]> {
    // A pair begins with the comparison of all rows. The same pair can occur again, from another tree.
    comparisons.chunk_by(move |one, next| names(one) == names(next))
}

fn title(first: &Comparison, names: Option<[&str; 2]>) -> String {
    let (a, b) = (clean(first.a.as_str()), clean(first.b.as_str()));
    match names {
        None => format!("A {a}, B {b}"),
        Some([here, there]) => format!("{a}: A {}, B {}", clean(here), clean(there)),
    }
}

/// Both rates, the difference, its interval and the p-value after Holm's correction.
pub(crate) fn cells(difference: &DifferenceStatistics) -> [String; 5] {
    [
        percent(Some(difference.rate_a)),
        percent(Some(difference.rate_b)),
        signed(difference.difference),
        format!(
            "{} to {}",
            signed(difference.lower),
            signed(difference.upper)
        ),
        match difference.p_holm {
            p if p < 0.001 => "<0.001".to_owned(),
            p => format!("{p:.3}"),
        },
    ]
}

/// A difference with its sign. A value that only rounds to 0, 1 or -1 is shown as a bound: `<+0.01`, `>+0.99`.
pub(crate) fn signed(difference: f64) -> String {
    match format!("{difference:+.2}").as_str() {
        "+0.00" | "-0.00" if difference > 0.0 => "<+0.01".to_owned(),
        "+0.00" | "-0.00" if difference < 0.0 => ">-0.01".to_owned(),
        "-0.00" => "+0.00".to_owned(),
        "+1.00" if difference < 1.0 => ">+0.99".to_owned(),
        "-1.00" if difference > -1.0 => "<-0.99".to_owned(),
        text => text.to_owned(),
    }
}

/// The conclusions, each once, with the scopes that they hold for.
fn words(pair: &[Comparison]) -> Vec<String> {
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for comparison in pair {
        let says = comparison.difference.says.as_str();
        let scope = clean(&comparison.scope);
        match found.iter_mut().find(|(known, _)| *known == says) {
            Some((_, scopes)) => scopes.push(scope),
            None => found.push((says, vec![scope])),
        }
    }
    let lines = found.into_iter();
    lines
        .map(|(says, scopes)| format!("{}: {says}.", scopes.join(", ")))
        .collect()
}

/// Text escaped for a cell of a Markdown table.
pub(crate) fn escaped(text: &str) -> String {
    clean(text)
        .replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('<', "&lt;")
}
