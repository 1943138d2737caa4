//! Files that a run replaced after keeping a copy.

use probity::{
    BenchmarkReport, Phase,
    provenance::{ReplaceReason, ReplacedFile, label},
};

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
