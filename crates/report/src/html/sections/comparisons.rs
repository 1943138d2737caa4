//! Which targets differ, and which differences the data could have shown.

use std::borrow::Cow;

use schema::{
    ModelId,
    statistics::{Comparison, DifferenceFamily, DifferenceStatistics, Statistics},
    text::counted,
};

use super::{Block, Section, SectionPart};
use crate::{
    comparisons::{P_CORRECTED, Pairs, cells, corrected_over},
    numbers::{UNKNOWN, p_value, points_with_interval},
    sheet::{Axis, Cell, Column, Sheet, Strip},
    text::clean,
};

/// The most sentences on single pairs. With more pairs, only pairs that differ get a sentence.
const SAID: usize = 6;
/// The most lines of all tables by metric. With more lines, only metrics that differ are shown.
const MOST: usize = 2_000;
/// The most pairs with a table by metric.
const PAIRS: usize = 66;

pub(super) fn section(place: &SectionPart<'_>) -> Option<Section> {
    let statistics = &place.part.statistics;
    if statistics.targets.len() < 2 || place.part.is_safety() {
        return None;
    }
    let baseline = place.summary.baseline.as_ref();
    let all = oriented(&statistics.comparisons, baseline);
    let Pairs { pooled, pairs } = Pairs::of(all.iter().map(|one| &**one));
    if pairs.is_empty() {
        let note = match statistics.targets.len() > Statistics::MOST_COMPARED {
            true => format!(
                "Pairs are compared up to {} models: `{} compare {} A B` compares two.",
                Statistics::MOST_COMPARED,
                place.summary.program,
                place.part.folder
            ),
            false => "No scenario has a verdict from two models.".to_owned(),
        };
        return place.section("comparisons", "Comparisons", vec![Block::Note(note)]);
    }
    let mut blocks: Vec<Block> = sentences(&pooled).into_iter().map(Block::Lead).collect();
    blocks.push(Block::Table(overall(place, &pooled)));
    let lines: usize = pairs.iter().map(Vec::len).sum();
    let tables = pairs.iter().take(PAIRS);
    blocks.extend(tables.filter_map(|pair| by_metric(place, pair, pairs.len(), lines > MOST)));
    place.section("comparisons", "Comparisons", blocks)
}

/// The comparisons to show. With a baseline, only its pairs, with the baseline as the first target.
fn oriented<'a>(
    comparisons: &'a [Comparison],
    baseline: Option<&ModelId>,
) -> Vec<Cow<'a, Comparison>> {
    let Some(baseline) = baseline else {
        return comparisons.iter().map(Cow::Borrowed).collect();
    };
    let of_baseline = comparisons.iter().filter_map(|comparison| {
        if comparison.a == *baseline {
            return Some(Cow::Borrowed(comparison));
        }
        (comparison.b == *baseline).then(|| Cow::Owned(swapped(comparison)))
    });
    of_baseline.collect()
}

/// The same comparison with its two sides swapped.
fn swapped(comparison: &Comparison) -> Comparison {
    let found = &comparison.difference;
    Comparison {
        a: comparison.b.clone(),
        b: comparison.a.clone(),
        scope: comparison.scope.clone(),
        difference: DifferenceStatistics {
            rate_a: found.rate_b,
            rate_b: found.rate_a,
            difference: -found.difference,
            lower: -found.upper,
            upper: -found.lower,
            effective_rows_a: found.effective_rows_b,
            effective_rows_b: found.effective_rows_a,
            ..found.clone()
        },
    }
}

/// Sentences on the pairs over all rows.
fn sentences(pooled: &[&Comparison]) -> Vec<String> {
    let differ = |one: &&&Comparison| one.difference.differs();
    let count = pooled.iter().filter(differ).count();
    let mut said: Vec<String> = match pooled.len() > SAID {
        true => pooled
            .iter()
            .filter(differ)
            .take(SAID)
            .map(|one| sentence(one))
            .collect(),
        false => pooled.iter().map(|one| sentence(one)).collect(),
    };
    if pooled.len() > SAID {
        said.push(format!(
            "{count} of {} differ over all rows.",
            counted(pooled.len() as u64, "pair", "pairs")
        ));
    }
    said
}

fn sentence(comparison: &Comparison) -> String {
    let (a, b) = (clean(comparison.a.as_str()), clean(comparison.b.as_str()));
    let found = &comparison.difference;
    if !found.differs() {
        return format!("{a} and {b}: {}.", clean(&found.says));
    }
    let [rate_a, rate_b, ..] = cells(found);
    let how = match found.difference > 0.0 {
        true => "more",
        false => "less",
    };
    format!(
        "{a} passes {how} often than {b}: {rate_a} against {rate_b}, a difference of {}, corrected {}.",
        points_with_interval(found.difference, (found.lower, found.upper)),
        found
            .p_corrected
            .map_or_else(|| UNKNOWN.to_owned(), p_value)
    )
}

fn columns(names: Vec<Column>) -> Vec<Column> {
    let mut columns = names;
    columns.extend([
        Column::chart(Axis::Difference),
        Column::number("rate A").wide(),
        Column::number("rate B").wide(),
        Column::number("points").drawn(),
        Column::number("95% interval").drawn(),
        Column::number("scenarios that differ").wide(),
        Column::number(P_CORRECTED),
        Column::words("says"),
    ]);
    columns
}

/// The table of the pairs over all rows.
fn overall(place: &SectionPart<'_>, pooled: &[&Comparison]) -> Sheet {
    let names = vec![Column::name("A"), Column::name("B")];
    let mut sheet = Sheet::new(
        "comparisons",
        "Pairs over all rows, A less B",
        columns(names),
    );
    for first in pooled {
        let name = |id: &ModelId| Cell::linked(id.as_str(), place.link(Some(id), None));
        let mut row = vec![name(&first.a), name(&first.b)];
        row.extend(found(place, first, None));
        sheet.row(row);
    }
    let differences = pooled.iter().map(|one| &one.difference);
    sheet.notes.extend(corrected_over(differences));
    sheet.notes.push(
        "A difference is A less B, over the scenarios that both have a verdict for. Two models differ where the corrected p is 0.05 or less, \
         and nowhere else."
            .to_owned(),
    );
    sheet
}

/// The table of a pair by metric; `None` if there is only one metric.
fn by_metric(
    place: &SectionPart<'_>,
    pair: &[&Comparison],
    pairs: usize,
    is_short: bool,
) -> Option<Block> {
    let first = pair.first()?;
    let pooled = DifferenceFamily::Pooled;
    let metrics = pair.iter().filter(|one| one.difference.family != pooled);
    let metrics: Vec<&&Comparison> = metrics.collect();
    if metrics.len() < 2 {
        return None;
    }
    let title = format!(
        "A {}, B {}",
        clean(first.a.as_str()),
        clean(first.b.as_str())
    );
    let mut sheet = Sheet::new("comparison", title, columns(vec![Column::name("metric")]));
    let mut left_out: u64 = 0;
    for comparison in &metrics {
        if is_short && !comparison.difference.differs() {
            left_out += 1;
            continue;
        }
        let link = place.link(None, Some(&comparison.scope));
        let mut row = vec![place.metric(&comparison.scope, link)];
        row.extend(found(place, comparison, Some(&comparison.scope)));
        sheet.row(row);
    }
    let differences = metrics.iter().map(|one| &one.difference);
    let note = corrected_over(differences);
    sheet.notes.extend(note.map(|note| match pairs {
        1 => note,
        _ => format!("{note} These are the metrics of all pairs."),
    }));
    if left_out > 0 {
        let metrics = counted(left_out, "metric", "metrics");
        sheet
            .notes
            .push(format!("{metrics} more: no difference shown."));
    }
    Some(Block::Folded(sheet))
}

/// The cells of a difference, the drawing first.
fn found(place: &SectionPart<'_>, comparison: &Comparison, metric: Option<&str>) -> Vec<Cell> {
    let found = &comparison.difference;
    let [rate_a, rate_b, difference, interval, differ, p] = cells(found);
    let link = |id: &ModelId| place.link(Some(id), metric);
    let strip = difference_strip(found, place.series(&comparison.a), &comparison.scope);
    vec![
        Cell::drawn(strip, Some(link(&comparison.a))),
        Cell::linked(rate_a, link(&comparison.a)),
        Cell::linked(rate_b, link(&comparison.b)),
        difference.into(),
        interval.into(),
        differ.into(),
        p.into(),
        says(found),
    ]
}

/// The conclusion, with a class for its direction.
pub(super) fn says(found: &DifferenceStatistics) -> Cell {
    let class = match (found.differs(), found.difference > 0.0) {
        (false, _) => "same",
        (true, true) => "better",
        (true, false) => "worse",
    };
    Cell::word(found.says.clone(), class)
}

pub(super) fn difference_strip(found: &DifferenceStatistics, series: usize, what: &str) -> Strip {
    let [.., p] = cells(found);
    Strip {
        estimate: Some(found.difference),
        interval: Some((found.lower, found.upper)),
        bounds: None,
        series,
        title: format!(
            "{what}: a difference of {}, corrected p {p}: {}",
            points_with_interval(found.difference, (found.lower, found.upper)),
            found.says
        ),
    }
}
