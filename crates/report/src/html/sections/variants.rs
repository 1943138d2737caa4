//! The effects of variants, and how often all samples of a scenario pass.

use interop::sheet::{Axis, Cell, Column, ColumnKind, Line, RowsOf, Sheet, Strip};
use schema::{
    ModelId,
    statistics::{
        DifferenceFamily, DifferenceStatistics, ReliabilityStatistics, VariantEffectStatistics,
        VariantStatistics,
    },
};

use super::{Block, Section, SectionPart};
use crate::{
    comparisons::{corrected_over, difference_cells, difference_columns, none_shown},
    numbers::rate,
    overview::variant_leads,
    text::clean,
};

/// A table with more lines is folded.
const OPEN: usize = 30;

fn folded(sheet: Sheet) -> Block {
    match sheet.lines.len() > OPEN {
        true => Block::Folded(sheet),
        false => Block::Table(sheet),
    }
}

pub(super) fn section<'a>(place: &SectionPart<'a>) -> Option<Section<'a>> {
    let pooled = effects(place, DifferenceFamily::Pooled);
    let by_metric = effects(place, DifferenceFamily::Metric);
    let mut blocks: Vec<Block> = variant_leads(&place.part.statistics.targets)
        .into_iter()
        .map(Block::Lead)
        .collect();
    if !pooled.is_empty() {
        blocks.push(folded(with_fitted_axis(pooled)));
    }
    let rest = [by_metric, flips(place)].into_iter();
    blocks.extend(rest.filter(|sheet| !sheet.is_empty()).map(Block::Folded));
    place.section("variants", "Variants", blocks)
}

/// The table with an axis that is fitted to its differences.
fn with_fitted_axis(mut sheet: Sheet) -> Sheet {
    let cells = sheet.lines.iter().flat_map(|line| match line {
        Line::Row(cells) => cells.as_slice(),
        Line::Group(_) => &[],
    });
    let ends = cells.filter_map(|cell| cell.strip.as_ref()?.interval);
    let (lowest, highest) = ends.fold((0.0_f64, 0.0_f64), |(low, high), ends| {
        (low.min(ends.0), high.max(ends.1))
    });
    for column in &mut sheet.columns {
        if column.is_chart() {
            column.kind = ColumnKind::Chart(super::comparisons::tens(lowest, highest));
        }
    }
    sheet
}

/// The table that compares the values of each axis, over all rows or by metric.
fn effects(place: &SectionPart<'_>, family: DifferenceFamily) -> Sheet {
    let (id, of, metric) = match family {
        DifferenceFamily::Pooled => ("variants", "over all rows", None),
        DifferenceFamily::Metric => (
            "variants-by-metric",
            "by metric",
            Some(Column::name("metric")),
        ),
    };
    // An axis that is the only one stands in the title, not in each row.
    let axis = only_axis(place);
    let title = match axis {
        Some(axis) => format!("Each value of {} beside the others, {of}", clean(axis)),
        None => format!("Each value beside the others, {of}"),
    };
    let axes = axis.is_none().then(|| Column::name("axis"));
    let columns = metric
        .into_iter()
        .chain(axes)
        .chain([Column::name("value")])
        .chain(difference_columns("rate", "others"));
    let mut sheet = Sheet::new(id, title, columns.collect());
    let mut all = Vec::new();
    for target in &place.part.statistics.targets {
        let variants = target.variants.iter();
        let shown: Vec<_> = variants
            .flat_map(|variant| {
                let effects = variant.effects.iter();
                effects.map(move |effect| (variant, effect))
            })
            .filter(|(_, effect)| effect.difference.family == family)
            .collect();
        if shown.is_empty() {
            continue;
        }
        head(place, &mut sheet, &target.target);
        for (variant, effect) in &shown {
            sheet.row(effect_row(&target.target, variant, effect, axis.is_none()));
        }
        let differences = shown.into_iter().map(|(_, effect)| &effect.difference);
        all.push((&target.target, differences.collect()));
    }
    sheet.notes = notes(&all);
    sheet
}

/// How the effects were corrected, once if it is the same for all targets, and what could have been shown where none is.
fn notes(effects: &[(&ModelId, Vec<&DifferenceStatistics>)]) -> Vec<String> {
    // A single comparison needs no correction.
    let corrected: Vec<(&ModelId, String)> = effects
        .iter()
        .filter_map(|(target, found)| {
            let several = found.iter().copied().filter(|found| found.family_size > 1);
            Some((*target, corrected_over(several)?))
        })
        .collect();
    let mut notes: Vec<String> = match corrected.as_slice() {
        [] => Vec::new(),
        [(_, note)] if effects.len() == 1 => vec![note.clone()],
        [(_, first), others @ ..]
            if corrected.len() == effects.len() && others.iter().all(|(_, note)| note == first) =>
        {
            vec![format!("Of each model: {}", first.to_lowercase())]
        }
        several => several
            .iter()
            .map(|(target, note)| {
                let target = clean(target.as_str());
                format!("Effects of {target}: {}", note.to_lowercase())
            })
            .collect(),
    };
    notes.extend(none_shown(
        effects.iter().flat_map(|(_, found)| found.iter().copied()),
    ));
    notes
}

/// The axis, if there is one only.
fn only_axis<'a>(place: &SectionPart<'a>) -> Option<&'a str> {
    let targets = place.part.statistics.targets.iter();
    let mut axes = targets.flat_map(|target| target.variants.iter().map(|of| of.axis.as_str()));
    let first = axes.next()?;
    axes.all(|axis| axis == first).then_some(first)
}

fn effect_row(
    target: &ModelId,
    variant: &VariantStatistics,
    effect: &VariantEffectStatistics,
    with_axis: bool,
) -> Vec<Cell> {
    let found = &effect.difference;
    let is_pooled = found.family == DifferenceFamily::Pooled;
    let metric = (!is_pooled).then_some(variant.scope.as_str());
    let rows = RowsOf::both(target, metric);
    let what = format!("{} {}", variant.axis, effect.value);
    let mut cells: Vec<Cell> = Vec::new();
    cells.extend(metric.map(|metric| Cell::metric(metric, rows.clone())));
    cells.extend(with_axis.then(|| Cell::from(variant.axis.as_str())));
    cells.push(effect.value.as_str().into());
    let values = difference_cells(found, &what, &what, [rows, RowsOf::default()]);
    // The rates have no links: those of the other values are of no single set of rows.
    cells.extend(values.map(|cell| match cell.strip {
        Some(_) => cell,
        None => Cell { rows: None, ..cell },
    }));
    cells
}

/// Adds a heading before the rows of a target if there are several targets.
fn head(place: &SectionPart<'_>, sheet: &mut Sheet, target: &ModelId) {
    if place.part.statistics.targets.len() > 1 {
        sheet.group(Cell::target(target));
    }
}

/// How often verdicts differ between variants, compared with chance alone.
fn flips(place: &SectionPart<'_>) -> Sheet {
    let columns = vec![
        Column::name("metric"),
        Column::name("axis"),
        Column::number("differ between variants"),
        Column::number("differ between samples"),
    ];
    let mut sheet = Sheet::new("flips", "Verdicts that differ", columns);
    for target in &place.part.statistics.targets {
        // Flips are by metric: those of different metrics are not mixed.
        let is_known = |variant: &&VariantStatistics| variant.differ_between_variants.is_some();
        let known: Vec<_> = target.variants.iter().filter(is_known).collect();
        if !known.is_empty() {
            head(place, &mut sheet, &target.target);
        }
        for variant in known {
            let rows = RowsOf::both(&target.target, Some(&variant.scope));
            sheet.row(vec![
                Cell::metric(&variant.scope, rows),
                variant.axis.as_str().into(),
                Cell::rate(variant.differ_between_variants),
                Cell::rate(variant.differ_between_samples),
            ]);
        }
    }
    let note = "Two rows of one scenario can get different verdicts by chance alone, which is what samples show: only the excess is due to the variant.";
    sheet.notes.push(note.to_owned());
    sheet
}

/// How often several samples of one scenario all pass.
pub(super) fn reliability<'a>(place: &SectionPart<'a>) -> Option<Section<'a>> {
    let columns = vec![
        Column::name("rows of"),
        Column::number("in a row"),
        Column::chart(Axis::Rate),
        Column::number("all pass").drawn(),
        Column::number("95% interval").drawn(),
        Column::number("scenarios"),
        Column::number("with fewer").wide(),
    ];
    let title = "All samples of a scenario pass";
    let mut sheet = Sheet::new("reliability", title, columns);
    for target in &place.part.statistics.targets {
        let repeated: Vec<&ReliabilityStatistics> = target
            .reliability
            .iter()
            .filter(|found| found.k >= 2)
            .collect();
        // Without a verdict, there is nothing to draw.
        let (known, unknown): (Vec<_>, Vec<_>) = repeated
            .into_iter()
            .partition(|found| found.estimate.is_some());
        if known.is_empty() {
            let samples = unknown.first().map(|found| found.k);
            sheet.notes.extend(samples.map(|samples| {
                let id = clean(target.target.as_str());
                format!("{id}: no scenario has a verdict of {samples} samples.")
            }));
            continue;
        }
        head(place, &mut sheet, &target.target);
        for found in known {
            sheet.row(passing(&target.target, found));
        }
    }
    if sheet.is_empty() {
        return None;
    }
    if place.part.has_negative() {
        let note = "Of negative metrics: so many conversations in a row without the behaviour.";
        sheet.notes.push(note.to_owned());
    }
    place.section("reliability", "Reliability", vec![folded(sheet)])
}

fn passing(target: &ModelId, found: &ReliabilityStatistics) -> Vec<Cell> {
    let pooled = ["all", "positive", "negative"].contains(&found.scope.as_str());
    let rows = RowsOf::both(target, (!pooled).then_some(&found.scope));
    let ends = found.lower.zip(found.upper);
    let strip = Strip {
        estimate: found.estimate,
        interval: ends,
        bounds: None,
        title: format!(
            "{target}, {}: {} samples in a row pass in {}",
            found.scope,
            found.k,
            rate(found.estimate, ends)
        ),
    };
    vec![
        match pooled {
            true => Cell::about(&found.scope, rows.clone()),
            false => Cell::metric(&found.scope, rows.clone()),
        },
        found.k.into(),
        Cell::drawn(strip, rows),
        Cell::rate(found.estimate),
        Cell::interval(ends),
        found.units.into(),
        found.left_out.into(),
    ]
}
