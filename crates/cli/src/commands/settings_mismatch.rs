//! Warnings about targets that were measured with different settings, and about files that a run replaced.

use probity::{
    BenchmarkReport, Phase,
    provenance::{Difference, ReplaceReason, ReplacedFile, TableProvenance, compare, label},
};
use schema::{ModelId, text::counted};

use super::{Context, command_hints::CommandHints};
use crate::config::Config;

/// The most differences that are shown one by one.
const MAX_SHOWN: usize = 6;

/// The settings behind the rates of a benchmark's table.
pub fn of_table(context: &Context, report: &BenchmarkReport) -> TableProvenance {
    let ids = report.summaries.iter().map(|summary| &summary.target_model);
    let ids: Vec<ModelId> = ids.cloned().collect();
    match context.layout.benchmark(&report.name) {
        Ok(dir) => compare(&context.layout, &dir, &ids),
        Err(_) => TableProvenance::default(),
    }
}

/// Warnings if results of targets are compared, or graded by references, that were measured with different settings.
pub fn unlike(
    context: &Context,
    report: &BenchmarkReport,
    config: &Config,
    hints: &CommandHints,
) -> Vec<String> {
    let table = of_table(context, report);
    let mut lines = Vec::new();
    lines.extend(targets(report, &table, config, hints));
    lines.extend(outdated(report, &table, hints));
    lines.extend(edited(report, &table));
    lines.extend(unknown(report, &table));
    lines.extend(references(report, &table));
    lines
}

fn targets(
    report: &BenchmarkReport,
    table: &TableProvenance,
    config: &Config,
    hints: &CommandHints,
) -> Option<String> {
    if table.differences.is_empty() {
        return None;
    }
    let all = &table.differences;
    let mut shown: Vec<String> = all
        .iter()
        .take(MAX_SHOWN)
        .map(ToString::to_string)
        .collect();
    if let Some(more) = all.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
        shown.push(format!("and {more} more"));
    }
    let name = &report.name;
    let generation = &config.settings.generation;
    let simulated = |difference: &Difference| difference.simulated;
    let command = match all.iter().any(simulated) {
        true => hints.run_alike(name, *generation.turns, *generation.num_samples),
        false => hints.evaluate_all(name),
    };
    Some(format!(
        "{name}: the targets of the table were measured with different settings, so their rates do not compare: {}. {command} measures \
         the configured targets with the same settings",
        shown.join("; "),
    ))
}

/// Reports scores whose conversations have been removed since.
fn outdated(
    report: &BenchmarkReport,
    table: &TableProvenance,
    hints: &CommandHints,
) -> Vec<String> {
    let line = |id: &ModelId| {
        format!(
            "{}: the scores of {id} are older than runs/{id}/conversations.json; {} judges the present conversations",
            report.name,
            hints.evaluate(&report.name, id.as_str(), "")
        )
    };
    table.outdated.iter().map(line).collect()
}

fn edited(report: &BenchmarkReport, table: &TableProvenance) -> Vec<String> {
    let line = |id: &ModelId| {
        format!(
            "{}: runs/{id}/scores.json was edited after judging, and the rates are those of the edited file. A run that judges {id} \
             keeps a copy of it",
            report.name
        )
    };
    table.edited.iter().map(line).collect()
}

fn unknown(report: &BenchmarkReport, table: &TableProvenance) -> Option<String> {
    if table.unknown.is_empty() {
        return None;
    }
    let ids: Vec<&str> = table.unknown.iter().map(ModelId::as_str).collect();
    Some(format!(
        "{}: .probity has no record of the settings and the judge with which {} measured, unlike the other targets of the table: the \
         rates may not compare",
        report.name,
        match ids.as_slice() {
            [one] => format!("{one} was"),
            ids => format!("{} were", ids.join(" and ")),
        }
    ))
}

/// A warning about grades by references that were simulated with another number of turns.
fn references(report: &BenchmarkReport, table: &TableProvenance) -> Option<String> {
    report.grades.as_ref()?.standards.as_ref()?;
    let other = |turns: u32| {
        let mut all = report.reference_turns.values();
        all.any(|of_reference| *of_reference != u64::from(turns))
    };
    let graded = table.turns.iter().filter(|(_, turns)| other(**turns));
    let graded: Vec<String> = graded
        .map(|(id, turns)| format!("{id} with {}", counted((*turns).into(), "turn", "turns")))
        .collect();
    if graded.is_empty() {
        return None;
    }
    let references = report.reference_turns.iter();
    let references: Vec<String> = references
        .map(|(id, turns)| format!("{id} with {}", counted(*turns, "turn", "turns")))
        .collect();
    Some(format!(
        "{}: the references of the grades were simulated with other turns ({}) than {}, so those grades say little. Simulate all with \
         the same turns, and calibrate again if the references change",
        report.name,
        references.join(", "),
        graded.join(", ")
    ))
}

/// The files that this run replaced, and the paths of their copies.
pub fn replaced(report: &BenchmarkReport) -> Vec<String> {
    let line = |file: &ReplacedFile| {
        let name = match file.phase {
            Phase::GenMetrics => "benchmark.yaml",
            Phase::GenScenarios => "scenarios.json",
            Phase::Evaluate => "scores.json",
            _ => "conversations.json",
        };
        let what = match &file.target {
            Some(target) => format!("runs/{target}/{name}"),
            None => name.to_owned(),
        };
        let why = match &file.reason {
            ReplaceReason::OtherEvaluator { run_id, changed } => {
                let changed: Vec<String> = changed.iter().map(|key| label(key)).collect();
                format!(
                    "held the verdicts of another evaluator, from {run_id} (changed since: {})",
                    changed.join(", ")
                )
            }
            ReplaceReason::Edited { run_id } => format!("was changed since {run_id} wrote it"),
            ReplaceReason::Unknown => "was not written by a recorded run".to_owned(),
        };
        format!(
            "{}: {what} {why}. This run replaced {}; the earlier file is kept as {}",
            report.name,
            match file.phase {
                Phase::GenMetrics => "its metrics",
                _ => "it",
            },
            file.copy.display()
        )
    };
    report.replaced.iter().map(line).collect()
}
