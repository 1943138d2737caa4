//! Results of scenarios that were simulated in an order until rules or differences were decided.

use indexmap::IndexMap;
use schema::{
    FindingKind, ModelId,
    numbers::points,
    sequence::{Sequence, SequenceStop},
    statistics::{SequentialRate, TargetStatistics},
    text::counted,
};

use super::{Findings, joined_ids};
use crate::{BenchmarkDir, read_sequence};

pub(super) fn add(found: &mut Findings, dir: &BenchmarkDir, targets: &[TargetStatistics]) {
    // A file that cannot be read is an error of the statistics.
    let Ok(Some(sequence)) = read_sequence(dir) else {
        return;
    };
    let mut by_text: IndexMap<String, Vec<ModelId>> = IndexMap::new();
    for target in targets {
        if let Some(so_far) = target.rates.all.sequential {
            let of_text = by_text.entry(so_far_words(so_far)).or_default();
            of_text.push(target.target.clone());
        }
    }
    for (text, targets) in by_text {
        let text = format!("{}: {text}", joined_ids(&targets));
        found.warn(FindingKind::StoppedWhenDecided, &targets, text, None);
    }
    for text in warnings(&sequence) {
        found.warn(FindingKind::StoppedWhenDecided, &[], text, None);
    }
}

/// How far the scenarios of a target were simulated, and what its numbers are.
fn so_far_words(so_far: SequentialRate) -> String {
    let beyond = match so_far.rows_beyond {
        0 => String::new(),
        rows => format!(
            " {} of later scenarios, in no rate of all metrics.",
            counted(rows, "row is", "rows are")
        ),
    };
    let meaning = match so_far.width {
        Some(width) => format!(
            "Scenarios end when the interval of a rate is at most {} wide, and not by where it lies",
            points(width)
        ),
        None => {
            "Rates are rates so far; their intervals hold at every look, and those of pass^k, variants and rates corrected by \
             people do not"
                .to_owned()
        }
    };
    let scenarios = match so_far.stopped {
        // A run without a question may have simulated what an earlier one left.
        Some(_) if so_far.scenarios == so_far.of => {
            let all = counted(so_far.of, "scenario", "scenarios");
            format!("all {all} simulated")
        }
        // Some metrics ended earlier than others.
        Some(SequenceStop::UsedUp) => format!("{} simulated in all metrics", so_far.words()),
        why => {
            let why = why.map_or("not finished", SequenceStop::words);
            format!("{} simulated, {why}", so_far.words())
        }
    };
    format!("{scenarios}.{beyond} {meaning}")
}

/// What makes the answers say less than they seem to.
fn warnings(sequence: &Sequence) -> Vec<String> {
    let mut warnings = Vec::new();
    let starts = sequence.starts.len();
    if let Some(last) = sequence.starts.last().filter(|_| starts > 1) {
        warnings.push(format!(
            "start {starts} of the order: an earlier start saw {}. Of several starts, the best one passes falsely more often than one",
            counted(last.seen_before, "scenario", "scenarios")
        ));
    }
    for change in &sequence.rules_changed {
        warnings.push(format!(
            "the rules of the gate changed after {}: answers hold for all rules at once, but who changes them may choose the rule that is met",
            counted(change.after, "scenario", "scenarios")
        ));
    }
    if sequence.looked_before {
        warnings.push(
            "rows were there before the order was fixed: answers may be wrong in up to 5% of cases a side, not in 2.5%"
                .to_owned(),
        );
    }
    warnings
}
