//! Which targets differ, and which differences the data could have shown.

use std::borrow::Cow;

use schema::{
    ModelId, ProgramCommand,
    statistics::{Comparison, DifferenceFamily, DifferenceStatistics, Statistics},
    text::counted,
};

use super::{Block, Section, SectionPart};
use crate::{
    comparisons::{Pairs, overall_sheet, pair_sheet},
    numbers::{UNKNOWN, p_value, percent, points_with_interval},
    text::clean,
};

/// The most sentences on single pairs. With more pairs, only pairs that differ get a sentence.
const SAID: usize = 6;
/// The most lines of all tables by metric. With more lines, only metrics that differ are shown.
const MOST: usize = 2_000;
/// The most pairs with a table by metric.
const PAIRS: usize = 66;

pub(super) fn section<'a>(place: &SectionPart<'a>) -> Option<Section<'a>> {
    let statistics = &place.part.statistics;
    if statistics.targets.len() < 2 || place.part.is_safety() {
        return None;
    }
    let baseline = place.summary.baseline.as_ref();
    let all = oriented(&statistics.comparisons, baseline);
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
    let mut blocks: Vec<Block> = sentences(&pooled).into_iter().map(Block::Lead).collect();
    let mut overall = overall_sheet(&pooled, None);
    overall.note(
        "A difference is A less B, over the scenarios that both have a verdict for. Two models differ where the corrected p is 0.05 or less, \
         and nowhere else.",
    );
    blocks.push(Block::Table(overall));
    let lines: usize = pairs.iter().map(Vec::len).sum();
    let tables = pairs.iter().take(PAIRS);
    blocks.extend(tables.filter_map(|pair| by_metric(pair, pairs.len(), lines > MOST)));
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
    let [rate_a, rate_b] = [found.rate_a, found.rate_b].map(|rate| percent(Some(rate)));
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

/// The table of a pair by metric; `None` if there is only one metric.
fn by_metric(pair: &[&Comparison], pairs: usize, is_short: bool) -> Option<Block> {
    let metrics: Vec<&Comparison> = pair
        .iter()
        .copied()
        .filter(|one| one.difference.family == DifferenceFamily::Metric)
        .collect();
    if metrics.len() < 2 {
        return None;
    }
    let shown: Vec<&Comparison> = metrics
        .iter()
        .copied()
        .filter(|one| !is_short || one.difference.differs())
        .collect();
    let left_out = metrics.len() - shown.len();
    let mut sheet = pair_sheet(&shown, None)?;
    if pairs > 1 {
        for note in &mut sheet.notes {
            note.push_str(" These are the metrics of all pairs.");
        }
    }
    if left_out > 0 {
        let metrics = counted(left_out as u64, "metric", "metrics");
        sheet.note(format!("{metrics} more: no difference shown."));
    }
    Some(Block::Folded(sheet))
}
