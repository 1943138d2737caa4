//! Targets side by side whose conversations were played with different settings.

use std::collections::BTreeMap;

use pipeline::{BenchmarkReport, PlayedWith, played_with};
use schema::ModelId;

use super::{Context, again::Again};
use crate::config::Config;

/// A word where the results of targets stand side by side, or are graded by references, that were played with other settings.
pub fn unlike(
    context: &Context,
    report: &BenchmarkReport,
    config: &Config,
    again: &Again,
) -> Vec<String> {
    let played = played_with(&context.layout, &report.name);
    let ids = report.summaries.iter().map(|summary| &summary.target_model);
    let played: BTreeMap<&ModelId, PlayedWith> =
        ids.filter_map(|id| Some((id, *played.get(id)?))).collect();
    let mut lines = Vec::new();
    lines.extend(targets(report, &played, config, again));
    lines.extend(references(report, &played));
    lines
}

fn targets(
    report: &BenchmarkReport,
    played: &BTreeMap<&ModelId, PlayedWith>,
    config: &Config,
    again: &Again,
) -> Option<String> {
    let mut groups: BTreeMap<PlayedWith, Vec<&str>> = BTreeMap::new();
    for (id, settings) in played {
        groups.entry(*settings).or_default().push(id.as_str());
    }
    if groups.len() < 2 {
        return None;
    }
    let groups: Vec<String> = groups
        .iter()
        .map(|(settings, ids)| format!("{} with {}", ids.join(", "), words(*settings)))
        .collect();
    let generation = &config.settings.generation;
    let name = &report.name;
    Some(format!(
        "{name}: the targets of the table were played with different settings, and their rates do not compare: {}. {} plays those of \
         the config alike",
        groups.join("; "),
        again.run_alike(name, generation.turns, generation.num_samples)
    ))
}

/// Grades by references that were played with other turns.
fn references(report: &BenchmarkReport, played: &BTreeMap<&ModelId, PlayedWith>) -> Option<String> {
    report.grades.as_ref()?.standards.as_ref()?;
    let other = |turns: u32| {
        let mut all = report.reference_turns.values();
        all.any(|of_reference| *of_reference != u64::from(turns))
    };
    let graded: Vec<String> = played
        .iter()
        .filter_map(|(id, settings)| Some((id, settings.turns.filter(|turns| other(*turns))?)))
        .map(|(id, turns)| format!("{id} with {}", counted(turns.into(), "turn")))
        .collect();
    if graded.is_empty() {
        return None;
    }
    let references = report.reference_turns.iter();
    let references: Vec<String> = references
        .map(|(id, turns)| format!("{id} with {}", counted(*turns, "turn")))
        .collect();
    Some(format!(
        "{}: grades compare with references that were played with other turns ({}) than {}, and say little there. Play all alike, and calibrate anew if the \
         references change",
        report.name,
        references.join(", "),
        graded.join(", ")
    ))
}

fn words(settings: PlayedWith) -> String {
    let turns = settings.turns.map(|n| counted(n.into(), "turn"));
    let samples = settings.samples.map(|n| counted(n.into(), "sample"));
    let known: Vec<String> = turns.into_iter().chain(samples).collect();
    match known.is_empty() {
        true => "settings that no record tells".to_owned(),
        false => known.join(" and "),
    }
}

fn counted(n: u64, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}
