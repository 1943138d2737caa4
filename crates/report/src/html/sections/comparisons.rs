//! Which targets differ: a ranking, one table of pairs, and the metrics of each pair.

use std::{borrow::Cow, collections::BTreeMap};

use interop::sheet::{Axis, Cell, Column, Line, RowsOf, Sheet, Strip, Value};
use schema::{
    ModelId, ProgramCommand,
    numbers::{percent, points_with_interval},
    statistics::{Comparison, DifferenceFamily, Statistics, TargetStatistics},
    text::counted,
};

use super::{Block, Section, SectionPart};
use crate::{
    comparisons::{Pairs, corrected_over, none_shown, notes, pair_sheet},
    overview::{is_ahead, ranked, swapped},
    text::clean,
};

/// With more models than this, the open table has the neighbours in the ranking, and each model beside the best one.
const ALL_PAIRS: usize = 6;
/// The most lines of the table by metric. With more lines, only metrics that differ are shown.
const MOST: usize = 2_000;
/// The most names of metrics in a cell.
const NAMED: usize = 2;

pub(super) fn section<'a>(place: &SectionPart<'a>) -> Option<Section<'a>> {
    let statistics = &place.part.statistics;
    if statistics.targets.len() < 2 || place.part.is_safety() {
        return None;
    }
    let ranks = Ranks::of(statistics);
    let all = oriented(statistics, &ranks, place.summary.baseline.as_ref());
    let Pairs { pooled, pairs } = Pairs::of(all.iter().map(|one| &**one));
    if pairs.is_empty() {
        let note = match statistics.targets.len() > Statistics::MOST_COMPARED {
            true => {
                let compare = ProgramCommand::new("compare").on(&place.part.folder);
                format!(
                    "Pairs are compared up to {} models: `{}` compares two.",
                    Statistics::MOST_COMPARED,
                    compare.on("A").on("B").text(&place.summary.program)
                )
            }
            false => "No scenario has a verdict from two models.".to_owned(),
        };
        return place.section("comparisons", "Comparisons", vec![Block::Note(note)]);
    }
    let mut blocks = Vec::new();
    if place.summary.baseline.is_none() {
        blocks.push(Block::Lead(ranking(statistics)));
    }
    let (open, rest): (Vec<&Comparison>, Vec<&Comparison>) =
        pooled.iter().copied().partition(|one| {
            statistics.targets.len() <= ALL_PAIRS
                || place.summary.baseline.is_some()
                || ranks.are_near(one)
        });
    if !open.is_empty() {
        blocks.push(Block::Table(pair_table(
            place,
            "comparisons",
            "",
            &open,
            &pairs,
        )));
    }
    if !rest.is_empty() {
        let title = "All other pairs";
        blocks.push(Block::Folded(pair_table(
            place,
            "other-pairs",
            title,
            &rest,
            &pairs,
        )));
    }
    blocks.extend(by_metric(&pairs));
    place.section("comparisons", "Comparisons", blocks)
}

/// The places of the targets in the ranking.
struct Ranks(BTreeMap<ModelId, usize>);

impl Ranks {
    fn of(statistics: &Statistics) -> Self {
        let ranked = ranked(statistics).into_iter().enumerate();
        Self(
            ranked
                .map(|(at, target)| (target.target.clone(), at))
                .collect(),
        )
    }

    fn place(&self, id: &ModelId) -> usize {
        self.0.get(id).copied().unwrap_or(usize::MAX)
    }

    /// Whether a pair are neighbours, or one of them is the best.
    fn are_near(&self, pair: &Comparison) -> bool {
        let (a, b) = (self.place(&pair.a), self.place(&pair.b));
        a.abs_diff(b) == 1 || a == 0 || b == 0
    }
}

/// The comparisons with the better target first, in the order of the ranking: neighbours before others. With a baseline, only its pairs,
/// with the baseline as the first target.
fn oriented<'s>(
    statistics: &'s Statistics,
    ranks: &Ranks,
    baseline: Option<&ModelId>,
) -> Vec<Cow<'s, Comparison>> {
    let is_first = |one: &Comparison| match baseline {
        Some(baseline) => one.a == *baseline,
        None => ranks.place(&one.a) <= ranks.place(&one.b),
    };
    let shown = statistics
        .comparisons
        .iter()
        .filter(|one| baseline.is_none_or(|baseline| one.a == *baseline || one.b == *baseline));
    let mut all: Vec<Cow<'s, Comparison>> = shown
        .map(|one| match is_first(one) {
            true => Cow::Borrowed(one),
            false => Cow::Owned(swapped(one)),
        })
        .collect();
    all.sort_by_key(|one| {
        let (a, b) = (ranks.place(&one.a), ranks.place(&one.b));
        (b.abs_diff(a), a.min(b))
    });
    all
}

/// `a 75% > b 60% ≥ c 58%`: the models from the best, with the step to the next one; those without a verdict after them.
fn ranking(statistics: &Statistics) -> String {
    let all = ranked(statistics);
    let (rated, unrated): (Vec<&TargetStatistics>, Vec<&TargetStatistics>) = all
        .into_iter()
        .partition(|target| target.rates.all.estimate.is_some());
    let mut text = String::new();
    let mut before: Option<&ModelId> = None;
    let mut open = 0;
    for target in &rated {
        if let Some(before) = before {
            let is_shown = is_ahead(statistics, before, &target.target);
            open += usize::from(!is_shown);
            text.push_str(if is_shown { " > " } else { " ≥ " });
        }
        text.push_str(&clean(target.target.as_str()));
        if let Some(share) = target.rates.all.estimate {
            text.push(' ');
            text.push_str(&percent(share));
        }
        before = Some(&target.target);
    }
    text.push_str(match (rated.len(), open) {
        (0, _) => "",
        (1, _) => ".",
        (2, 0) => ". The step is shown by the corrected test.",
        (_, 0) => ". Each step is shown by the corrected test.",
        (steps, open) if open + 1 == steps => ". No step is shown by the corrected test.",
        _ => ". > is shown by the corrected test, ≥ is not.",
    });
    let names: Vec<String> = unrated
        .iter()
        .map(|target| clean(target.target.as_str()))
        .collect();
    match names.is_empty() {
        true => text,
        false => format!("{text} Without a verdict: {}.", names.join(", ")),
    }
}

/// The pairs over all rows, with the metrics in which each differs.
fn pair_table(
    place: &SectionPart<'_>,
    id: &str,
    title: &str,
    shown: &[&Comparison],
    pairs: &[Vec<&Comparison>],
) -> Sheet {
    let columns = vec![
        Column::name("A"),
        Column::name("B"),
        Column::chart(fitted(shown)),
        Column::number("points ahead").drawn(),
        Column::number("95% interval").drawn(),
        Column::number("p"),
        Column::number("metrics ahead–behind").wide(),
        Column::words("shown in").wide(),
    ];
    let mut sheet = Sheet::new(id, title, columns);
    for one in shown {
        let metrics: Vec<&Comparison> = pairs
            .iter()
            .flatten()
            .copied()
            .filter(|other| {
                other.a == one.a
                    && other.b == one.b
                    && other.difference.family == DifferenceFamily::Metric
            })
            .collect();
        sheet.row(pair_row(place, one, &metrics));
    }
    sheet
        .notes
        .extend(corrected_over(shown.iter().map(|one| &one.difference)));
    sheet
        .notes
        .extend(none_shown(shown.iter().map(|one| &one.difference)));
    sheet.note(
        "A less B, over the scenarios that both have a verdict for; p is two-sided and corrected. Two models differ where it is 0.05 or less, and nowhere else.",
    );
    sheet.so_far(place.part.is_so_far())
}

fn pair_row(place: &SectionPart<'_>, one: &Comparison, metrics: &[&Comparison]) -> Vec<Cell> {
    let found = &one.difference;
    let ends = (found.lower, found.upper);
    let strip = Strip {
        estimate: Some(found.difference),
        interval: Some(ends),
        bounds: None,
        title: format!(
            "{} less {}: {}",
            one.a,
            one.b,
            points_with_interval(found.difference, ends)
        ),
    };
    let count = |is_in: fn(f64) -> bool| {
        metrics
            .iter()
            .filter(|one| is_in(one.difference.difference))
            .count()
    };
    let [ahead, behind] = [count(|found| found > 0.0), count(|found| found < 0.0)];
    vec![
        Cell::target(&one.a),
        Cell::target(&one.b),
        Cell::drawn(strip, RowsOf::target(&one.a)),
        Cell::of(Value::Points(found.difference)),
        Cell::of(Value::PointInterval(ends)),
        Cell::known(found.p_corrected, Value::P),
        match metrics.len() > 1 {
            true => Cell::new(format!("{ahead}–{behind}")),
            false => Cell::default(),
        },
        Cell::new(shown_in(place, metrics)),
    ]
}

/// The metrics in which a pair differs, by name, or how many they are.
fn shown_in(place: &SectionPart<'_>, metrics: &[&Comparison]) -> String {
    let differ: Vec<&&Comparison> = metrics
        .iter()
        .filter(|one| one.difference.differs())
        .collect();
    let name = |one: &&&Comparison| {
        let labels = &place.part.metrics;
        let label = labels.iter().find(|label| label.id == one.scope);
        label.map_or_else(|| clean(&one.scope), |label| clean(&label.name))
    };
    match differ.len() {
        0 if metrics.len() < 2 => String::new(),
        0 => "no single metric".to_owned(),
        n if n <= NAMED => differ.iter().map(name).collect::<Vec<_>>().join(", "),
        n => format!(
            "{n} of {}",
            counted(metrics.len() as u64, "metric", "metrics")
        ),
    }
}

/// An axis in tens of points that holds 0 and every interval.
pub(super) fn fitted(shown: &[&Comparison]) -> Axis {
    let found = shown.iter().map(|one| &one.difference);
    let (lowest, highest) = found.fold((0.0_f64, 0.0_f64), |(low, high), found| {
        (low.min(found.lower), high.max(found.upper))
    });
    tens(lowest, highest)
}

/// The axis from `lowest` to `highest`, rounded to tens of points.
pub(super) fn tens(lowest: f64, highest: f64) -> Axis {
    #[expect(clippy::cast_possible_truncation, reason = "between -10 and 10")]
    let whole = |value: f64| value.clamp(-10.0, 10.0) as i8;
    let (from, to) = (
        whole((lowest * 10.0).floor()),
        whole((highest * 10.0).ceil()),
    );
    Axis::Tens(from, to.max(from + 1))
}

/// The metrics of all pairs in one closed table; `None` if there is only one metric.
fn by_metric(pairs: &[Vec<&Comparison>]) -> Option<Block> {
    let metrics = |pair: &[&Comparison]| -> usize {
        let of = pair
            .iter()
            .filter(|one| one.difference.family == DifferenceFamily::Metric);
        of.count()
    };
    if pairs.iter().all(|pair| metrics(pair) < 2) {
        return None;
    }
    let is_short = pairs.iter().map(Vec::len).sum::<usize>() > MOST;
    let mut all: Option<Sheet> = None;
    let mut all_shown = Vec::new();
    let mut left_out = 0;
    for pair in pairs {
        let (shown, hidden): (Vec<&Comparison>, Vec<&Comparison>) = pair
            .iter()
            .copied()
            .filter(|one| one.difference.family == DifferenceFamily::Metric)
            .partition(|one| !is_short || one.difference.differs());
        left_out += hidden.len();
        let Some(sheet) = pair_sheet(&shown, None) else {
            continue;
        };
        all_shown.extend(shown);
        let lines = std::iter::once(Line::Group(Box::new(Cell::new(&sheet.title))))
            .chain(sheet.lines.clone());
        match &mut all {
            Some(all) => all.lines.extend(lines),
            None => {
                let lines = lines.collect();
                all = Some(Sheet {
                    id: "pairs-by-metric".to_owned(),
                    title: "Pairs in single metrics, A less B".to_owned(),
                    lines,
                    ..sheet
                });
            }
        }
    }
    let mut sheet = all?;
    sheet.notes = notes(&all_shown);
    if left_out > 0 {
        let lines = counted(left_out as u64, "comparison", "comparisons");
        sheet.note(format!("{lines} more: no difference shown."));
    }
    Some(Block::Folded(sheet))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_holds_zero_and_all_intervals() {
        assert_eq!(tens(0.0, 0.56), Axis::Tens(0, 6));
        assert_eq!(tens(-0.04, 0.21), Axis::Tens(-1, 3));
        assert_eq!(tens(0.0, 0.0), Axis::Tens(0, 1));
        assert_eq!(tens(-1.0, 1.0), Axis::Tens(-10, 10));
    }
}
