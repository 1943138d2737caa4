//! Comparisons of targets.

use interop::sheet::{Axis, Cell, Column, RowsOf, Sheet, Strip, Value};
use schema::{
    numbers::{grouped, points, points_with_interval},
    statistics::{Comparison, DifferenceFamily, DifferenceStatistics},
    text::counted,
};

use crate::text::clean;

/// Tables of comparisons: one of all pairs over all rows, then one for each pair by metric. A single pair has one table. Notes say how many
/// comparisons were corrected together. `names` are the names of the two sides of a pair; `None` means their ids.
#[must_use]
pub fn comparison_sheets(comparisons: &[Comparison], names: Option<[&str; 2]>) -> Vec<Sheet> {
    let by_pair = Pairs::of(comparisons);
    let mut sheets = Vec::new();
    if by_pair.pooled.len() > 1 {
        sheets.push(overall_sheet(&by_pair.pooled, names));
    }
    let pairs = by_pair.pairs.iter();
    sheets.extend(pairs.filter_map(|pair| pair_sheet(pair, names)));
    sheets
}

/// All pairs over all rows.
pub(crate) fn overall_sheet(pooled: &[&Comparison], names: Option<[&str; 2]>) -> Sheet {
    let sides = match names {
        None => vec![Column::name("A"), Column::name("B")],
        Some(_) => vec![Column::name("target")],
    };
    let title = "Pairs over all rows, A less B";
    let mut sheet = Sheet::new("comparisons", title, columns(sides));
    for one in pooled {
        let mut row = vec![Cell::target(&one.a)];
        if names.is_none() {
            row.push(Cell::target(&one.b));
        }
        row.extend(cells(one, &pair_name(one, names)));
        sheet.row(row);
    }
    sheet.notes.extend(notes(pooled));
    sheet.so_far(is_so_far(pooled))
}

/// The comparisons of a pair; `None` without any.
pub(crate) fn pair_sheet(pair: &[&Comparison], names: Option<[&str; 2]>) -> Option<Sheet> {
    let title = title(pair.first()?, names);
    let mut sheet = Sheet::new("comparison", title, columns(vec![Column::name("metric")]));
    for one in pair {
        let mut row = vec![match metric(one) {
            Some(metric) => Cell::metric(metric, RowsOf::metric(metric)),
            None => Cell::new(&one.scope),
        }];
        row.extend(cells(one, &one.scope));
        sheet.row(row);
    }
    sheet.notes.extend(notes(pair));
    Some(sheet.so_far(is_so_far(pair)))
}

/// How the comparisons were corrected, and what could have been shown where no difference is.
pub(crate) fn notes(comparisons: &[&Comparison]) -> Vec<String> {
    let differences = || comparisons.iter().map(|one| &one.difference);
    let notes = [corrected_over(differences()), none_shown(differences())];
    notes.into_iter().flatten().collect()
}

fn is_so_far(comparisons: &[&Comparison]) -> bool {
    comparisons.iter().any(|one| one.difference.is_so_far())
}

/// The metric of a comparison by metric.
fn metric(one: &Comparison) -> Option<&str> {
    (one.difference.family == DifferenceFamily::Metric).then_some(one.scope.as_str())
}

fn columns(mut columns: Vec<Column>) -> Vec<Column> {
    columns.extend(difference_columns("rate A", "rate B"));
    columns
}

/// The columns of a difference of two rates.
pub(crate) fn difference_columns(rate: &str, other: &str) -> [Column; 8] {
    [
        Column::chart(Axis::Difference),
        Column::number(rate).wide(),
        Column::number(other).wide(),
        Column::number("points").drawn(),
        Column::number("95% interval").drawn(),
        Column::number("scenarios that differ")
            .short("differ")
            .wide(),
        Column::number("p (corrected)"),
        Column::remark("says"),
    ]
}

/// The cells of a comparison. `about` stands before its conclusion, where that stands below the table.
fn cells(one: &Comparison, about: &str) -> [Cell; 8] {
    let rows = [&one.a, &one.b].map(|target| RowsOf::both(target, metric(one)));
    difference_cells(&one.difference, &one.scope, about, rows)
}

/// A drawing, both rates, the difference, its interval, the scenarios that differ, the corrected p-value, and the conclusion. `rows` are
/// those of the two rates.
pub(crate) fn difference_cells(
    found: &DifferenceStatistics,
    what: &str,
    about: &str,
    [rows_a, rows_b]: [RowsOf; 2],
) -> [Cell; 8] {
    let ends = (found.lower, found.upper);
    let p = Cell::known(found.p_corrected, Value::P);
    let strip = Strip {
        estimate: Some(found.difference),
        interval: Some(ends),
        bounds: None,
        title: format!(
            "{what}: a difference of {}, corrected p {}: {}",
            points_with_interval(found.difference, ends),
            p.text(),
            found.says
        ),
    };
    let class = match (found.differs(), found.difference > 0.0) {
        (false, _) => "same",
        (true, true) => "better",
        (true, false) => "worse",
    };
    [
        Cell::drawn(strip, rows_a.clone()),
        Cell::rate(Some(found.rate_a)).of_rows(rows_a),
        Cell::rate(Some(found.rate_b)).of_rows(rows_b),
        Cell::of(Value::Points(found.difference)),
        Cell::of(Value::PointInterval(ends)),
        found
            .scenarios_that_differ
            .map(|number| format!("{} of {}", grouped(number), grouped(found.scenarios)))
            .into(),
        p,
        Cell {
            about: Some(about.to_owned()),
            ..Cell::word(conclusion(found), class)
        },
    ]
}

/// The conclusion alone: what could have been shown is said once for a table, see [`none_shown`].
fn conclusion(found: &DifferenceStatistics) -> &str {
    found
        .says
        .split_once("; ")
        .map_or(found.says.as_str(), |(conclusion, _)| conclusion)
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

/// What could have been shown where no difference is: `Where none is shown: 8 scenarios show 9 points or more over all rows four times in five,
/// 2 scenarios could not have shown any in a single metric.` `None` if all differ.
pub(crate) fn none_shown<'d>(
    differences: impl IntoIterator<Item = &'d DifferenceStatistics>,
) -> Option<String> {
    let not_shown: Vec<&DifferenceStatistics> = differences
        .into_iter()
        .filter(|found| !found.differs() && found.p_corrected.is_some())
        .collect();
    let families = [
        (DifferenceFamily::Pooled, "over all rows"),
        (DifferenceFamily::Metric, "in a single metric"),
    ];
    let parts: Vec<String> = families
        .into_iter()
        .filter_map(|(family, rows)| {
            let of = || not_shown.iter().filter(|found| found.family == family);
            let scenarios = of().map(|found| found.scenarios).min()?;
            // The largest, so that it holds for each pair.
            let could = of()
                .map(|found| found.could_have_shown)
                .try_fold(0.0_f64, |most, could| could.map(|could| most.max(could)));
            let scenarios = counted(scenarios, "scenario", "scenarios");
            Some(match could {
                Some(least) if least > 0.0 => {
                    let least = points(least);
                    format!("{scenarios} show {least} or more {rows} four times in five")
                }
                _ => format!("{scenarios} could not have shown any {rows}"),
            })
        })
        .collect();
    (!parts.is_empty()).then(|| format!("Where none is shown: {}.", parts.join(", ")))
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
        let pooled = pairs
            .iter()
            .flatten()
            .copied()
            .filter(|one| one.difference.family == DifferenceFamily::Pooled)
            .collect();
        for pair in &mut pairs {
            pair.sort_by_key(|one| one.difference.family != DifferenceFamily::Pooled);
        }
        Self { pooled, pairs }
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
