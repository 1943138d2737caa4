//! The agreement of judges with each other and with people, and the rates that people would give.

use interop::figures::{corrected_differences_sheet, people_sheet};
use schema::{ModelId, statistics::CorrectedDifference};

use super::{Block, Section, SectionPart};
use crate::{
    judges::judges_sheet,
    overview::{TrustLink, trust},
    text::sentence,
};

/// A table with more lines is folded.
const OPEN: usize = 6;

pub(super) fn section<'a>(place: &SectionPart<'a>) -> Option<Section<'a>> {
    let statistics = &place.part.statistics;
    let leads = trust(statistics, &[])
        .into_iter()
        .filter(|part| matches!(part.link, TrustLink::Judges | TrustLink::PeopleDiffer))
        .map(|part| Block::Lead(format!("{}.", sentence(&part.text))));
    let mut sheets = vec![judges_sheet("Judges one by one", statistics, false)];
    for target in &statistics.targets {
        let judge = target.judge.as_ref();
        sheets.extend(judge.and_then(|judge| judge.people.as_ref()).map(|people| {
            let title = format!("{}: judge against people", target.target);
            people_sheet(&title, Some(&target.target), people, true)
        }));
    }
    let baseline = place.summary.baseline.as_ref();
    let differences = oriented(&statistics.corrected_differences, baseline);
    sheets.push(corrected_differences_sheet(&differences, None));
    let sheets = sheets.into_iter().filter(|sheet| !sheet.is_blank());
    let blocks = sheets.map(|sheet| match sheet.lines.len() > OPEN {
        true => Block::Folded(sheet),
        false => Block::Table(sheet),
    });
    place.section("judges", "Judges and people", leads.chain(blocks).collect())
}

/// The differences to show. With a baseline, only its pairs, with the baseline as the first target.
fn oriented(
    differences: &[CorrectedDifference],
    baseline: Option<&ModelId>,
) -> Vec<CorrectedDifference> {
    let shown = differences.iter().filter_map(|pair| match baseline {
        Some(baseline) if pair.b == *baseline => Some(swapped(pair)),
        Some(baseline) if pair.a != *baseline => None,
        _ => Some(pair.clone()),
    });
    shown.collect()
}

fn swapped(pair: &CorrectedDifference) -> CorrectedDifference {
    CorrectedDifference {
        a: pair.b.clone(),
        b: pair.a.clone(),
        difference: -pair.difference,
        lower: -pair.upper,
        upper: -pair.lower,
    }
}
