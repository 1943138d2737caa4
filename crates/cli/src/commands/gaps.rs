//! What a table of results does not show: rows that are missing, and rows of scripted models among real ones.

use std::collections::BTreeMap;

use probity::{BenchmarkReport, Phase, imported_targets};
use schema::ModelId;
use store::{read_benchmark, read_scenarios};

use super::{Context, again::Again, origins::Origins};
use crate::config::Config;

/// Rows of the tree that are missing, target by target. What this run did itself is left out: its failures are told already.
pub fn missing_rows(
    context: &Context,
    report: &BenchmarkReport,
    config: &Config,
    again: &Again,
) -> Vec<String> {
    let name = &report.name;
    let expected = expected_rows(context, name, config);
    // What was imported is judged, and nothing is played again.
    let imported = imported_targets(&context.layout, name).unwrap_or_default();
    let mut lines = Vec::new();
    for summary in &report.summaries {
        let id = &summary.target_model;
        if report
            .counts
            .contains_key(&(Phase::Evaluate, Some(id.clone())))
        {
            continue;
        }
        let imported = imported.iter().any(|target| target.id == *id);
        if !imported
            && let Some(missing) = expected.and_then(|n| n.checked_sub(summary.n_total))
            && missing > 0
        {
            lines.push(format!(
                "{name}: {id} has {} of {} rows; {} adds the rest",
                summary.n_total,
                summary.n_total + missing,
                again.run(name, id.as_str())
            ));
        }
    }
    lines.extend(without_scores(context, report, again));
    lines
}

/// Scenarios of the existing metrics, times the samples; `None` where that is not known.
fn expected_rows(context: &Context, name: &str, config: &Config) -> Option<u64> {
    let dir = context.layout.benchmark(name).ok()?;
    let benchmark = read_benchmark(&dir).ok()?;
    let rows = read_scenarios(&dir.scenarios()).ok()?;
    let rows = rows
        .iter()
        .filter(|row| benchmark.metric(&row.metric_id).is_some());
    let samples = u64::from(config.settings.generation.num_samples);
    Some((rows.count() as u64).saturating_mul(samples))
}

/// Targets that have conversations and no scores.
fn without_scores(context: &Context, report: &BenchmarkReport, again: &Again) -> Vec<String> {
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
            again.evaluate(name, id.as_str(), "")
        )
    };
    ids.iter().map(line).collect()
}

/// A word when rows of scripted models are beside those of real ones.
pub fn mixed_rows(context: &Context, report: &BenchmarkReport) -> Option<String> {
    if report.summaries.len() < 2 {
        return None;
    }
    let origins = Origins::read(&context.layout, &report.name);
    let mut by_kind: BTreeMap<bool, Vec<&str>> = BTreeMap::new();
    for summary in &report.summaries {
        let id = summary.target_model.as_str();
        by_kind.entry(origins.is_scripted(id)).or_default().push(id);
    }
    let scripted = by_kind.get(&true)?;
    by_kind.get(&false)?;
    Some(format!(
        "{}: {} of the table {} scripted, not measured: {}. Delete the folders under runs/ to leave {} out of results.json",
        report.name,
        scripted.len(),
        if scripted.len() == 1 { "is" } else { "are" },
        scripted.join(", "),
        if scripted.len() == 1 { "it" } else { "them" },
    ))
}
