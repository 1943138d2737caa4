//! Rows without a verdict: their number, and the command that requests a verdict again.

use std::collections::{BTreeMap, BTreeSet};

use probity::{BenchmarkReport, Phase, imported_targets};
use schema::{ModelId, Summary, numbers::grouped};
use store::{Unscored, read_benchmark};

use super::{Context, command_hints::CommandHints};

/// A message for each target with rows without a verdict. For the targets that this run judged, only abstentions of the judge are
/// reported: failed rows are reported elsewhere.
pub fn rows(context: &Context, report: &BenchmarkReport, hints: &CommandHints) -> Vec<String> {
    let judged: BTreeMap<&ModelId, u64> = report
        .counts
        .iter()
        .filter_map(|((phase, id), counts)| match phase {
            Phase::Evaluate => Some((id.as_ref()?, counts.abstained)),
            _ => None,
        })
        .collect();
    let mut all: BTreeSet<&ModelId> = BTreeSet::new();
    all.extend(judged.iter().filter(|(_, n)| **n > 0).map(|(id, _)| *id));
    // For the other targets, the summaries show whether rows lack a verdict.
    let others = report
        .summaries
        .iter()
        .filter(|summary| !judged.contains_key(&summary.target_model));
    let lacking = others.filter(|summary| scored(summary) < summary.n_total);
    all.extend(lacking.map(|summary| &summary.target_model));
    let mut lines = Vec::new();
    for id in all {
        let Some(unscored) = of_target(context, report, id) else {
            continue;
        };
        let target = TargetHints {
            context,
            report,
            hints,
            id,
            judged_now: judged.contains_key(id),
        };
        lines.extend(target.failed(&unscored));
        lines.extend(target.abstained(&unscored));
    }
    lines
}

/// Rows with a verdict.
fn scored(summary: &Summary) -> u64 {
    summary.by_metric.values().map(|rate| rate.n_total).sum()
}

fn of_target(context: &Context, report: &BenchmarkReport, id: &ModelId) -> Option<Unscored> {
    let dir = context.layout.benchmark(&report.name).ok()?;
    let benchmark = read_benchmark(&dir).ok()?;
    Some(dir.facts(&benchmark, id).ok()?.unscored.clone())
}

struct TargetHints<'a> {
    context: &'a Context,
    report: &'a BenchmarkReport,
    hints: &'a CommandHints,
    id: &'a ModelId,
    judged_now: bool,
}

impl TargetHints<'_> {
    fn failed(&self, unscored: &Unscored) -> Option<String> {
        if self.judged_now || unscored.failed == 0 {
            return None;
        }
        let (name, id) = (&self.report.name, self.id);
        let imported = imported_targets(&self.context.layout, name).unwrap_or_default();
        let command = match imported.iter().any(|target| target.id == *id) {
            // Imported conversations are judged, but never simulated again.
            true => self.hints.evaluate(name, id.as_str(), false),
            false => self.hints.run(name, id.as_str(), None),
        };
        Some(format!(
            "{name}: {} no verdict ({}); see `error` in runs/{id}/scores.json. {command} retries them",
            have(unscored.failed, id),
            unscored.reasons.words(unscored.failed)
        ))
    }

    fn abstained(&self, unscored: &Unscored) -> Option<String> {
        if unscored.abstained == 0 {
            return None;
        }
        let (name, id) = (&self.report.name, self.id);
        let more = unscored.abstained - unscored.examples.len() as u64;
        let more = match more {
            0 => String::new(),
            more => format!(" and {} more", grouped(more)),
        };
        Some(format!(
            "{name}: {} no usable verdict of the judge: {}{more}. See `justification` in runs/{id}/scores.json{}. The judge's replies \
             are cached, so the same command returns them again; {} calls the judge again for every row of {id}",
            have(unscored.abstained, id),
            unscored.examples.join(", "),
            self.how_to_see(unscored),
            self.hints.evaluate(name, id.as_str(), true)
        ))
    }

    /// The journal of this run contains the judge's replies if this run judged these rows.
    fn how_to_see(&self, unscored: &Unscored) -> String {
        let journal = self.report.journal.as_ref().filter(|_| self.judged_now);
        let (Some(journal), Some(first)) = (journal, unscored.examples.first()) else {
            return String::new();
        };
        format!(
            "; `{} journal show {} --prompt-id {first} --sut {}` shows the messages",
            self.hints.command(),
            journal.path.display(),
            self.id
        )
    }
}

fn have(rows: u64, id: &ModelId) -> String {
    match rows {
        1 => format!("1 row of {id} has"),
        rows => format!("{} rows of {id} have", grouped(rows)),
    }
}
