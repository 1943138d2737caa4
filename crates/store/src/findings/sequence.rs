//! Results of scenarios that were simulated in an order until rules or differences were decided.

use indexmap::IndexMap;
use schema::{
    FindingKind, ModelId,
    numbers::{grouped, points},
    safety::results::SafetyRates,
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
    let so_far = targets
        .iter()
        .filter_map(|target| Some((&target.target, target.rates.all.sequential?)));
    add_targets(found, so_far, &OF_BENCHMARK);
    for text in warnings(&sequence) {
        found.warn(FindingKind::StoppedWhenDecided, &[], text, None);
    }
}

/// Of a result file of a safety evaluation.
pub(super) fn add_safety(found: &mut Findings, target: &ModelId, rates: &SafetyRates) {
    // Rates of controls alone have no seeds.
    let all = [&rates.seed, &rates.broken, &rates.controls_refused];
    let mut so_far = all.into_iter().filter_map(|rate| rate.sequential);
    if let Some(so_far) = so_far.find(|so_far| so_far.of > 0) {
        add_targets(found, [(target, so_far)], &OF_SAFETY);
    }
}

/// What is counted, and what the intervals are not of.
struct Words {
    one: &'static str,
    several: &'static str,
    done: &'static str,
    in_all: &'static str,
    of_all: &'static str,
    of_fixed_lists: &'static str,
}

const OF_BENCHMARK: Words = Words {
    one: "scenario",
    several: "scenarios",
    done: "simulated",
    in_all: "in all metrics",
    of_all: "all metrics",
    of_fixed_lists: ", and those of pass^k, variants and rates corrected by people do not",
};

const OF_SAFETY: Words = Words {
    one: "case",
    several: "cases",
    done: "run",
    in_all: "in all groups",
    of_all: "all groups",
    of_fixed_lists: "",
};

fn add_targets<'t>(
    found: &mut Findings,
    targets: impl IntoIterator<Item = (&'t ModelId, SequentialRate)>,
    words: &Words,
) {
    let mut by_text: IndexMap<String, Vec<ModelId>> = IndexMap::new();
    for (target, so_far) in targets {
        let of_text = by_text.entry(so_far_words(so_far, words)).or_default();
        of_text.push(target.clone());
    }
    for (text, targets) in by_text {
        let text = format!("{}: {text}", joined_ids(&targets));
        found.warn(FindingKind::StoppedWhenDecided, &targets, text, None);
    }
}

/// How far the scenarios of a target were simulated, and what its numbers are.
fn so_far_words(so_far: SequentialRate, words: &Words) -> String {
    let Words {
        one,
        several,
        done,
        in_all,
        of_all,
        of_fixed_lists,
    } = words;
    let beyond = match so_far.rows_beyond {
        0 => String::new(),
        rows => format!(
            " {} of later {several}, in no rate of {of_all}.",
            counted(rows, "row is", "rows are")
        ),
    };
    let meaning = match so_far.width {
        Some(width) => format!(
            "They end when the interval of a rate is at most {} wide, and not by where it lies",
            points(width)
        ),
        None => {
            format!("Rates are rates so far; their intervals hold at every look{of_fixed_lists}")
        }
    };
    let all = counted(so_far.of, one, several);
    let number = grouped(so_far.scenarios);
    let scenarios = match so_far.stopped {
        // A run without a question may have simulated what an earlier one left.
        Some(_) if so_far.scenarios == so_far.of => format!("all {all} {done}"),
        // Some metrics ended earlier than others.
        Some(SequenceStop::UsedUp) => format!("{number} of {all} {done} {in_all}"),
        why => {
            let why = why.map_or("not finished", SequenceStop::words);
            format!("{number} of {all} {done}, {why}")
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
    // By its width, scenarios end wherever a rate lies.
    if sequence.looked_before && sequence.width.is_none() {
        warnings.push(
            "rows were there before the order was fixed: answers may be wrong in up to 5% of cases a side, not in 2.5%"
                .to_owned(),
        );
    }
    warnings
}
