//! Comparisons of targets.

use std::fmt::Write as _;

use schema::{
    statistics::{Comparison, DifferenceFamily, DifferenceStatistics},
    text::counted,
};

use crate::{
    numbers::{UNKNOWN, grouped, p_digits, percent, point_digits, point_interval},
    table::Table,
    text::{clean, wrapped},
};

/// The header of the p-values of a family, which are corrected.
pub(crate) const P_CORRECTED: &str = "p (corrected)";
/// The header of the scenarios that differ. Tables for a terminal have no room for more.
const DIFFER: &str = "differ";

/// Tables of comparisons: one of all pairs over all rows, then one for each pair by metric. A single pair has one table. Below each table,
/// sentences state the conclusions and say how many comparisons were corrected together. `names` are the names of the two sides of a pair;
/// `None` means their ids.
#[must_use]
pub fn comparison_tables(
    comparisons: &[Comparison],
    names: Option<[&str; 2]>,
    width: usize,
) -> String {
    let mut text = String::new();
    let by_pair = Pairs::of(comparisons);
    if by_pair.pooled.len() > 1 {
        text.push_str("all metrics pooled\n");
        text.push_str(&pooled_table(&by_pair.pooled, names).render(width));
        let named = |one: &Comparison| pair_name(one, names);
        below(&mut text, &by_pair.pooled, named, width);
    }
    for pair in &by_pair.pairs {
        let Some(first) = pair.first() else { continue };
        if !text.is_empty() {
            text.push('\n');
        }
        // Writing to a String does not fail.
        let _ = writeln!(text, "{}", title(first, names));
        let header = [
            "metric",
            "A",
            "B",
            "points",
            "95% interval",
            DIFFER,
            P_CORRECTED,
        ];
        let mut table = Table::new(1, &header);
        for comparison in pair {
            let mut row = vec![comparison.scope.clone()];
            row.extend(cells(&comparison.difference));
            table.row(row);
        }
        text.push_str(&table.render(width));
        below(&mut text, pair, |one| clean(&one.scope), width);
    }
    text
}

/// All pairs over all rows.
fn pooled_table(pooled: &[&Comparison], names: Option<[&str; 2]>) -> Table {
    let sides: &[&str] = if names.is_some() {
        &["target"]
    } else {
        &["A", "B"]
    };
    let values = ["points", "95% interval", DIFFER, P_CORRECTED];
    let header: Vec<&str> = sides.iter().chain(&values).copied().collect();
    let mut table = Table::new(sides.len(), &header);
    for comparison in pooled {
        let ids = [&comparison.a, &comparison.b].into_iter();
        let mut row: Vec<String> = ids.take(sides.len()).map(ToString::to_string).collect();
        let [_, _, values @ ..] = cells(&comparison.difference);
        row.extend(values);
        table.row(row);
    }
    table
}

/// The conclusions of a table, and how many comparisons each family has.
fn below(
    text: &mut String,
    comparisons: &[&Comparison],
    name: impl Fn(&Comparison) -> String,
    width: usize,
) {
    for line in words(comparisons, name) {
        text.push_str(&wrapped(&line, "  ", width));
    }
    let differences = comparisons.iter().map(|one| &one.difference);
    if let Some(note) = corrected_over(differences) {
        text.push_str(&wrapped(&note, "  ", width));
    }
}

/// The sentence on the correction of differences: `Corrected over 6 comparisons.` `None` if none has a corrected p-value.
pub(crate) fn corrected_over<'d>(
    differences: impl IntoIterator<Item = &'d DifferenceStatistics>,
) -> Option<String> {
    let mut families: Vec<(DifferenceFamily, u64)> = Vec::new();
    for found in differences {
        let known = families.iter().any(|(family, _)| *family == found.family);
        if found.p_corrected.is_some() && found.family_size > 0 && !known {
            families.push((found.family, found.family_size));
        }
    }
    let size = |number: u64| counted(number, "comparison", "comparisons");
    match families.as_slice() {
        [] => None,
        [(_, number)] => Some(format!("Corrected over {}.", size(*number))),
        several => {
            let each = several.iter().map(|(family, number)| {
                let rows = match family {
                    DifferenceFamily::Pooled => "all rows",
                    DifferenceFamily::Metric => "metrics",
                };
                format!("{rows} over {}", size(*number))
            });
            Some(format!(
                "Corrected: {}.",
                each.collect::<Vec<_>>().join(", ")
            ))
        }
    }
}

/// Comparisons by pair, in the order of the pairs.
pub(crate) struct Pairs<'c> {
    /// The pooled comparison of each pair.
    pub(crate) pooled: Vec<&'c Comparison>,
    /// All comparisons of each pair, the pooled one first.
    pub(crate) pairs: Vec<Vec<&'c Comparison>>,
}

impl<'c> Pairs<'c> {
    /// Groups comparisons, which are in any order. `all` is the scope of pooled ones.
    pub(crate) fn of(comparisons: impl IntoIterator<Item = &'c Comparison>) -> Self {
        let mut pairs: Vec<Vec<&Comparison>> = Vec::new();
        let same = |one: &Comparison, other: &Comparison| one.a == other.a && one.b == other.b;
        for comparison in comparisons {
            let of_pair = |pair: &&mut Vec<&Comparison>| {
                pair.first().is_some_and(|first| same(first, comparison))
            };
            match pairs.iter_mut().find(of_pair) {
                Some(pair) => pair.push(comparison),
                None => pairs.push(vec![comparison]),
            }
        }
        let pooled = pairs.iter().flatten().copied();
        let pooled = pooled.filter(|one| one.difference.family == DifferenceFamily::Pooled);
        let pooled = pooled.collect();
        for pair in &mut pairs {
            pair.sort_by_key(|one| one.difference.family != DifferenceFamily::Pooled);
        }
        Self { pooled, pairs }
    }
}

/// The same tables as [`comparison_tables`], in Markdown.
#[must_use]
pub fn comparison_markdown(comparisons: &[Comparison], names: Option<[&str; 2]>) -> String {
    let mut text = String::new();
    let by_pair = Pairs::of(comparisons);
    let values = "points | 95% interval | scenarios that differ | p (corrected) | says |";
    let lines = "--:|--:|--:|---|--:|--:|---|";
    if by_pair.pooled.len() > 1 {
        let _ = writeln!(
            text,
            "**all metrics pooled**\n\n| pair | A | B | {values}\n|---|{lines}"
        );
        for one in &by_pair.pooled {
            markdown_row(&mut text, &escaped(&pair_name(one, names)), one);
        }
        markdown_note(&mut text, &by_pair.pooled);
    }
    for pair in &by_pair.pairs {
        let Some(first) = pair.first() else { continue };
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "**{}**\n", escaped(&title(first, names)));
        let _ = writeln!(text, "| metric | A | B | {values}\n|---|{lines}");
        for comparison in pair {
            markdown_row(&mut text, &escaped(&comparison.scope), comparison);
        }
        markdown_note(&mut text, pair);
    }
    text
}

fn markdown_row(text: &mut String, name: &str, comparison: &Comparison) {
    let found = &comparison.difference;
    let cells = cells(found).join(" | ");
    let _ = writeln!(text, "| {name} | {cells} | {} |", escaped(&found.says));
}

fn markdown_note(text: &mut String, comparisons: &[&Comparison]) {
    let differences = comparisons.iter().map(|one| &one.difference);
    if let Some(note) = corrected_over(differences) {
        let _ = writeln!(text, "\n*{note}*");
    }
}

fn title(first: &Comparison, names: Option<[&str; 2]>) -> String {
    let (a, b) = (clean(first.a.as_str()), clean(first.b.as_str()));
    match names {
        None => format!("A {a}, B {b}"),
        Some([here, there]) => format!("{a}: A {}, B {}", clean(here), clean(there)),
    }
}

/// A pair in a sentence. Two trees have the same target on both sides.
fn pair_name(one: &Comparison, names: Option<[&str; 2]>) -> String {
    let (a, b) = (clean(one.a.as_str()), clean(one.b.as_str()));
    match names {
        None => format!("{a} and {b}"),
        Some(_) => a,
    }
}

/// Both rates, the difference, its interval, the scenarios that differ, and the corrected p-value.
pub(crate) fn cells(difference: &DifferenceStatistics) -> [String; 6] {
    [
        percent(Some(difference.rate_a)),
        percent(Some(difference.rate_b)),
        point_digits(difference.difference),
        point_interval((difference.lower, difference.upper)),
        match difference.scenarios_that_differ {
            Some(number) => format!("{} of {}", grouped(number), grouped(difference.scenarios)),
            None => UNKNOWN.to_owned(),
        },
        match difference.p_corrected {
            None => UNKNOWN.to_owned(),
            Some(p) => p_digits(p),
        },
    ]
}

/// The conclusions, each once, with the names that they hold for.
fn words(comparisons: &[&Comparison], name: impl Fn(&Comparison) -> String) -> Vec<String> {
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for comparison in comparisons {
        let says = comparison.difference.says.as_str();
        let name = name(comparison);
        match found.iter_mut().find(|(known, _)| *known == says) {
            Some((_, names)) => names.push(name),
            None => found.push((says, vec![name])),
        }
    }
    let lines = found.into_iter();
    lines
        .map(|(says, names)| format!("{}: {says}.", names.join(", ")))
        .collect()
}

/// Text escaped for a cell of a Markdown table.
pub(crate) fn escaped(text: &str) -> String {
    clean(text)
        .replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('<', "&lt;")
}
