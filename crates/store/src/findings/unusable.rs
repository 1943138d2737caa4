//! Rows whose judge gave no usable verdict, with what it gave.

use std::ops::ControlFlow;

use schema::{
    FindingKind, ModelId, NoVerdict, Score,
    safety::{
        ErrorKind, Stage,
        results::{CaseError, Details},
    },
    statistics::TargetStatistics,
    text::counted,
};

use super::Findings;
use crate::{BenchmarkDir, each_json_row};

/// The most characters of a reason.
const LONGEST: usize = 300;

pub(super) fn add(found: &mut Findings, dir: &BenchmarkDir, targets: &[TargetStatistics]) {
    for target in targets {
        let rows = target.rates.all.missing.reasons.judge_unusable;
        if rows == 0 {
            continue;
        }
        let id = &target.target;
        let example = first(dir, id).map_or_else(String::new, |row| {
            format!("; {}: {}", row.conv_id, reason(&row.justification))
        });
        let text = format!(
            "{} of {id} {} no usable verdict{example}",
            counted(rows, "row", "rows"),
            if rows == 1 { "has" } else { "have" },
        );
        let about = std::slice::from_ref(id);
        found.warn(FindingKind::UnusableVerdicts, about, text, None);
    }
}

/// Of the cases of a safety evaluation.
pub(super) fn add_safety(found: &mut Findings, target: &ModelId, details: &Details) {
    let is_unusable =
        |row: &&CaseError| row.stage == Stage::Judge && row.kind == ErrorKind::InvalidResponse;
    let mut unusable = details.errors.iter().filter(is_unusable);
    let number = unusable.clone().count() as u64;
    let Some(first) = unusable.next() else {
        return;
    };
    let text = format!(
        "{} of {target} {} no usable score; {}: {}",
        counted(number, "case", "cases"),
        if number == 1 { "has" } else { "have" },
        first.case_id,
        reason(&first.message)
    );
    let about = std::slice::from_ref(target);
    found.warn(FindingKind::UnusableVerdicts, about, text, None);
}

/// The first such row; `None` also if the scores cannot be read, which their reader reports.
fn first(dir: &BenchmarkDir, target: &ModelId) -> Option<Score> {
    let path = dir.target(target).ok()?.scores();
    let mut first = None;
    let read = each_json_row(&path, |row| {
        let row: Score = row.parse()?;
        if row.outcome().reason() != Some(NoVerdict::JudgeUnusable) {
            return Ok(ControlFlow::Continue(()));
        }
        first = Some(row);
        Ok(ControlFlow::Break(()))
    });
    read.ok()?;
    first
}

/// The reason without its full stop, and not longer than a finding can be.
fn reason(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.trim_end_matches('.').to_owned(),
    }
}
