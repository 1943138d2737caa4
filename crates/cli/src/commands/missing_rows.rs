//! Rows that a table of results lacks.

use probity::{BenchmarkReport, Phase, imported_targets, provenance::Provenance};
use schema::{ModelId, text::counted};
use store::{plays, read_benchmark, read_scenarios, read_shard};

use super::{Context, command_hints::CommandHints};
use crate::config::Config;

/// The missing rows of the tree, by target. Targets that this run judged, unless it was `interrupted`, and targets with kept earlier
/// rows are left out: both are reported elsewhere.
pub fn missing_rows(
    context: &Context,
    report: &BenchmarkReport,
    config: &Config,
    hints: &CommandHints,
    interrupted: bool,
) -> Vec<String> {
    let name = &report.name;
    let scenarios = scenarios(context, name);
    // Imported conversations are judged, but never simulated again.
    let imported = imported_targets(&context.layout, name).unwrap_or_default();
    let mut lines = Vec::new();
    for summary in &report.summaries {
        let id = &summary.target_model;
        let judged = (Phase::Evaluate, Some(id.clone()));
        let is_kept = report.kept.iter().any(|rows| rows.target == *id);
        if is_kept || (!interrupted && report.counts.contains_key(&judged)) {
            continue;
        }
        let imported = imported.iter().any(|target| target.id == *id);
        if !imported && let Some(scenarios) = scenarios {
            // A stopped run may have had more samples than configured now.
            let configured = *config.settings.generation.num_samples;
            let samples =
                recorded_samples(context, name, id).map_or(configured, |n| n.max(configured));
            let rows = scenarios.saturating_mul(u64::from(samples));
            if summary.n_total < rows {
                let more = (samples > configured).then_some(samples);
                lines.push(format!(
                    "{name}: {id} has {} of {}; {} adds the rest",
                    summary.n_total,
                    counted(rows, "row", "rows"),
                    hints.run(name, id.as_str(), more)
                ));
            }
        }
    }
    lines.extend(without_scores(context, report, hints));
    lines
}

/// The number of scenarios of the existing metrics; `None` if they cannot be read, or are not all simulated because runs stop when rules are
/// decided.
fn scenarios(context: &Context, name: &str) -> Option<u64> {
    let dir = context.layout.benchmark(name).ok()?;
    if dir.sequence().exists() {
        return None;
    }
    let benchmark = read_benchmark(&dir).ok()?;
    let rows = read_scenarios(&dir).ok()?;
    let part = read_shard(&dir).ok()?.and_then(|file| file.shard());
    let of_metrics = rows
        .iter()
        .filter(|row| benchmark.metric(&row.metric_id).is_some() && plays(part, row));
    Some(of_metrics.count() as u64)
}

/// The samples of the run that wrote the target's conversations, if known.
fn recorded_samples(context: &Context, name: &str, id: &ModelId) -> Option<u32> {
    let dir = context.layout.benchmark(name).ok()?;
    Provenance::read(&dir).target(id).samples()
}

/// Targets with conversations but without scores.
fn without_scores(
    context: &Context,
    report: &BenchmarkReport,
    hints: &CommandHints,
) -> Vec<String> {
    let name = &report.name;
    let Ok(dir) = context.layout.benchmark(name) else {
        return Vec::new();
    };
    let mut ids: Vec<ModelId> = std::fs::read_dir(dir.runs())
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| ModelId::new(entry.file_name().into_string().ok()?).ok())
        .filter(|id| {
            let files = dir.target(id);
            files.is_ok_and(|files| files.conversations().exists() && !files.scores().exists())
        })
        .collect();
    ids.sort();
    let line = |id: &ModelId| {
        format!(
            "{name}: {id} has conversations but no scores; {} judges them",
            hints.evaluate(name, id.as_str(), false)
        )
    };
    ids.iter().map(line).collect()
}
