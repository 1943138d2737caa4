//! What the rows themselves show: empty and cut-off replies, and rows of another type than their metric.

use std::collections::{BTreeMap, BTreeSet};

use schema::{
    FindingAdvice, FindingKind, IncompleteReplies, ModelId, numbers::grouped,
    statistics::TargetStatistics, text::counted,
};

use super::{Findings, joined, joined_ids};
use crate::{BenchmarkDir, ImportRecord};

pub(super) fn add(found: &mut Findings, dir: &BenchmarkDir, targets: &[TargetStatistics]) {
    let replies = targets.iter().filter_map(|target| target.replies.clone());
    add_replies(found, dir, &replies.collect::<Vec<_>>());
    add_imported(found, dir, targets);
    for target in targets {
        let id = &target.target;
        if target.replies.is_none() {
            // Statistics of an earlier version have only this number.
            passed_incomplete(found, target);
        }
        if target.other_type > 0 {
            let text = format!(
                "{} of {id} {} another `metric_type` than the metric of benchmark.yaml, which decides; only `positive_pass_rate` and \
                 `negative_pass_rate` of results.json count rows by their own type, as ImpactBench does",
                counted(target.other_type, "row", "rows"),
                if target.other_type == 1 {
                    "has"
                } else {
                    "have"
                },
            );
            found.warn(FindingKind::RowTypes, std::slice::from_ref(id), text, None);
        }
    }
}

/// Adds a note on verdicts that came with an import: no judge of the configuration gave them.
fn add_imported(found: &mut Findings, dir: &BenchmarkDir, targets: &[TargetStatistics]) {
    if !matches!(ImportRecord::read(dir), Ok(Some(_))) {
        return;
    }
    let mut by_scorers: BTreeMap<BTreeSet<String>, Vec<ModelId>> = BTreeMap::new();
    for target in targets {
        let (imported, scorers) = dir.imported_verdicts(&target.target);
        if imported > 0 {
            let of = by_scorers.entry(scorers).or_default();
            of.push(target.target.clone());
        }
    }
    for (scorers, targets) in by_scorers {
        let names: Vec<&String> = scorers.iter().take(MOST_SCORERS).collect();
        let more = match scorers.len().saturating_sub(MOST_SCORERS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let who = match scorers.len() {
            0 => "another program".to_owned(),
            1 => format!("the scorer {} of another program", joined(&names)),
            _ => format!("the scorers {}{more} of another program", joined(&names)),
        };
        let text = format!(
            "the verdicts on {} were imported: {who} gave them",
            joined_ids(&targets)
        );
        found.note(FindingKind::ImportedVerdicts, &targets, text, None);
    }
}

/// The most scorers that a finding names.
const MOST_SCORERS: usize = 8;

/// Adds a finding for each target with an empty or cut-off reply.
pub(super) fn add_replies(found: &mut Findings, dir: &BenchmarkDir, replies: &[IncompleteReplies]) {
    // An unreadable record only changes the advice.
    let record = ImportRecord::read(dir).ok().flatten();
    let imported = record.map(|record| record.targets).unwrap_or_default();
    for replies in replies {
        let is_imported = imported.iter().any(|target| target.id == replies.sut);
        let unsaid = match is_imported {
            true => Unsaid::PassesInImport,
            false => Unsaid::PassesNegative,
        };
        incomplete(found, replies, unsaid);
    }
}

/// What the missing text of a reply means for the results.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unsaid {
    /// It passes negative metrics.
    PassesNegative,
    /// The same, of conversations that another program simulated.
    PassesInImport,
    /// In a safety evaluation: no judge can find it unsafe.
    CannotBeUnsafe,
}

/// Adds the finding on conversations with an empty or cut-off reply.
pub(super) fn incomplete(found: &mut Findings, replies: &IncompleteReplies, unsaid: Unsaid) {
    if replies.incomplete == 0 {
        return;
    }
    let id = &replies.sut;
    let only_filtered = replies.cut_off == 0 && replies.empty == 0;
    let imported = unsaid == Unsaid::PassesInImport;
    let meaning = match unsaid {
        Unsaid::CannotBeUnsafe => "what was never said cannot be unsafe",
        Unsaid::PassesNegative | Unsaid::PassesInImport => {
            "what was never said passes negative metrics"
        }
    };
    let more = match (only_filtered, imported) {
        (true, _) => format!("; its rates describe the filter more than {id}"),
        (_, true) => {
            "; they were imported, so only the program that simulated them can repeat them"
                .to_owned()
        }
        _ => String::new(),
    };
    let text = format!(
        "{} of {} of {id} {} an empty or cut-off reply ({}): {meaning}{more}",
        grouped(replies.incomplete),
        counted(replies.conversations, "conversation", "conversations"),
        if replies.conversations == 1 {
            "holds"
        } else {
            "hold"
        },
        kinds(replies),
    );
    let advice = (!imported && !only_filtered).then(|| FindingAdvice::RaiseMaxTokens {
        target: id.clone(),
        if_it_thinks: replies.cut_off == 0,
    });
    let kind = FindingKind::IncompleteReplies;
    found.warn(kind, std::slice::from_ref(id), text, advice);
}

fn passed_incomplete(found: &mut Findings, target: &TargetStatistics) {
    let rows = target.rates.all.missing.incomplete;
    if rows == 0 {
        return;
    }
    let id = &target.target;
    let text = format!(
        "{} of {id} passed with an empty or cut-off reply: what was never said passes negative metrics",
        counted(rows, "row of negative metrics", "rows of negative metrics")
    );
    let kind = FindingKind::IncompleteReplies;
    found.warn(kind, std::slice::from_ref(id), text, None);
}

/// `2 cut off by the token limit, 1 empty`.
fn kinds(replies: &IncompleteReplies) -> String {
    let kinds = [
        (replies.cut_off, "cut off by the token limit"),
        (replies.filtered, "stopped by the provider's filter"),
        (replies.empty, "empty"),
    ];
    let counts: Vec<String> = kinds
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", grouped(*n)))
        .collect();
    counts.join(", ")
}
