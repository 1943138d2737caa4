//! The results of a safety evaluation for each target: totals, score bands, groups, strategies, layers, and the worst responses.

pub(crate) mod tables;
mod worst;

use std::fmt::Write as _;

use interop::figures::safety_rates_sheet;
use schema::{
    Role,
    reasoning::has_unopened_tag,
    safety::{
        Band,
        results::{Details, SafetyResults},
    },
    text::counted,
};

use crate::{
    numbers::{grouped, percent},
    terminal::sheet_text,
    text::{clean, wrapped},
};

/// The results in one target's file, as text: totals, the rates over cases with their intervals, how many responses fall into each band,
/// tables of groups, of strategies and (single-turn) of layers, and the `worst` responses, the lowest score first. `width` is the
/// terminal's width; texts are cut to it.
///
/// Of a file that another program wrote, only the totals are shown: the case of each row is under the key `probity`.
#[must_use]
pub fn safety_summary(target: &str, results: &SafetyResults, width: usize, worst: usize) -> String {
    let parts = parts(target, results, width, worst);
    let mut text = parts.totals;
    let more: Vec<String> = parts.more;
    for part in more {
        text.push_str(&part);
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The results of all targets in at most `room` lines: the totals of each; then, as far as there is room, rates, the worst response, and
/// tables of groups. The last line says how much is left out. `width` is the terminal's width.
#[must_use]
pub fn safety_brief(targets: &[(&str, &SafetyResults)], room: usize, width: usize) -> String {
    let lines = |text: &str| text.lines().count();
    let parts: Vec<SafetyBrief> = targets
        .iter()
        .map(|(target, results)| parts(target, results, width, 1))
        .collect();
    // The last line says what is left out.
    let mut left = room.saturating_sub(1);
    let mut open: Vec<String> = Vec::new();
    for part in &parts {
        // A blank line stands above each target but the first.
        let needed = lines(&part.totals) + usize::from(!open.is_empty());
        if needed > left {
            break;
        }
        left -= needed;
        open.push(part.totals.clone());
    }
    let is_whole = open.len() == parts.len();
    let mut left_out = 0;
    let most = parts
        .iter()
        .map(|part| part.more.len())
        .max()
        .unwrap_or_default();
    for at in 0..most {
        for (text, part) in open.iter_mut().zip(&parts) {
            let Some(more) = part.more.get(at) else {
                continue;
            };
            match left.checked_sub(lines(more)).filter(|_| is_whole) {
                Some(rest) => {
                    left = rest;
                    text.push_str(more);
                }
                None => left_out += 1,
            }
        }
    }
    let mut text = open.join("\n");
    if !is_whole {
        let more = counted((parts.len() - open.len()) as u64, "target", "targets");
        text.push_str(&format!("… and {more} more: see the report\n"));
    } else if left_out > 0 {
        let more = counted(left_out, "more table", "more tables");
        text.push_str(&format!(
            "  {more}, and all failed responses: see the report\n"
        ));
    }
    text
}

/// The parts of a target's results, in the order of their weight.
struct SafetyBrief {
    /// The target and its totals.
    totals: String,
    /// Rates, the worst responses, and tables of groups, strategies and layers.
    more: Vec<String>,
}

fn parts(target: &str, results: &SafetyResults, width: usize, worst: usize) -> SafetyBrief {
    let tally = results.tally();
    let mut text = format!("{}\n", clean(target));
    let scored = tally.passed.saturating_add(tally.failed);
    let rate = (scored > 0).then(|| tally.failure_rate());
    let mut line = format!(
        "all attempts: {} passed, {} failed ({} of those with a verdict), {} with no verdict",
        grouped(tally.passed),
        grouped(tally.failed),
        percent(rate),
        grouped(tally.errors),
    );
    let Some(details) = results.details() else {
        text.push_str(&wrapped(&line, "  ", width));
        return SafetyBrief {
            totals: text,
            more: Vec::new(),
        };
    };
    let controls = details
        .conversations
        .iter()
        .filter(|row| row.over_refusal.is_some())
        .count();
    if controls > 0 {
        let refused = details.over_refusals();
        let _ = write!(
            line,
            ", {} of {} refused",
            grouped(refused as u64),
            counted(controls as u64, "harmless case", "harmless cases")
        );
    }
    text.push_str(&wrapped(&line, "  ", width));
    for line in asides(results, details) {
        text.push_str(&wrapped(&line, "  ", width));
    }
    if scored > 0 {
        text.push_str(&wrapped(&bands(details), "  ", width));
    }
    let rates = details
        .rates
        .as_ref()
        .map(|rates| safety_rates_sheet("", None, rates))
        .filter(|sheet| !sheet.is_empty());
    let counts = tables::counted(results, details);
    let tables = counts.iter().map(|counts| counts.sheet(""));
    let mut more: Vec<String> = rates
        .into_iter()
        .chain(tables)
        .map(|sheet| sheet_text(&sheet, width))
        .collect();
    let worst = worst::worst(results, details, width, worst);
    more.extend((!worst.is_empty()).then_some(worst));
    SafetyBrief { totals: text, more }
}

/// Notes beside the totals.
pub(crate) fn asides(results: &SafetyResults, details: &Details) -> Vec<String> {
    let mut lines = reasoning(results, details);
    let refusals = details.attacker_refusals.len();
    if refusals > 0 {
        let retried = details
            .attacker_refusals
            .iter()
            .filter(|row| row.retried_with.is_some())
            .count();
        lines.push(format!(
            "the attacker declined {}; another strategy took over in {} of them",
            counted(refusals as u64, "time", "times"),
            grouped(retried as u64)
        ));
    }
    if details.dropped_duplicates > 0 {
        lines.push(format!(
            "{} dropped: same as an earlier prompt",
            counted(details.dropped_duplicates, "variation", "variations")
        ));
    }
    if details.not_run > 0 {
        lines.push(format!(
            "{} not run, because of the cap, the budget or a stop",
            counted(details.not_run, "case", "cases")
        ));
    }
    lines
}

/// Notes on reasoning in the replies.
fn reasoning(results: &SafetyResults, details: &Details) -> Vec<String> {
    let mut lines = Vec::new();
    let messages = details.conversations.iter().flat_map(|row| &row.messages);
    let thought = messages
        .filter(|message| message.reasoning.is_some())
        .count() as u64;
    if thought > 0 {
        lines.push(format!(
            "{} came with reasoning, which is kept beside the score and was not judged",
            counted(thought, "response", "responses")
        ));
    }
    let unopened: usize = match results {
        SafetyResults::SingleTurn(data) => {
            let rows = data.results_by_iteration.iter().flatten().flatten();
            rows.filter(|row| has_unopened_tag(&row.model_response))
                .count()
        }
        SafetyResults::MultiTurn(data) => {
            let rows = data.results.iter().flatten();
            let said = rows.flat_map(|row| &row.conversation);
            said.filter(|said| said.role == Role::Assistant && has_unopened_tag(&said.content))
                .count()
        }
    };
    if unopened > 0 {
        lines.push(format!(
            "{} a closing tag such as </think> without an opening tag, and was judged as a whole; if the target's chat template opens the \
             block, set `reasoning_opened_by: template` for it in the config",
            counted(unopened as u64, "response holds", "responses hold")
        ));
    }
    lines
}

/// How many scores fall into each band, from the worst to the best. What passed with a cut-off reply is in no band.
pub(crate) fn bands(details: &Details) -> String {
    let count = |band: Band| {
        let rows = details.conversations.iter();
        rows.filter(|row| !(row.passed && row.is_cut_off()))
            .filter(|row| row.safe_response_score.band() == band)
            .count()
    };
    let mut parts = Band::ALL
        .map(|band| format!("{} {}", grouped(count(band) as u64), band.label()))
        .to_vec();
    let cut_off = details.cut_off_passes();
    if cut_off > 0 {
        parts.push(format!(
            "{} passed with a cut-off reply",
            grouped(cut_off as u64)
        ));
    }
    format!("scores: {}", parts.join(", "))
}
