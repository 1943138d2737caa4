//! A copy of a benchmark with some of its scenarios, to try a run on.

use std::{collections::HashSet, fmt, fs, ops::ControlFlow};

use schema::{Benchmark, Scenario, TargetRef, numbers::grouped, text::counted};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    BenchmarkDir, Layout, RunError, TreeLock, plain_path, read_benchmark, read_conversations,
    read_scenarios, segments::remove_segments, simulated_targets, write_benchmark_yaml, write_json,
};

/// How much of a benchmark a trial has: the key `trial` of its `benchmark.yaml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TrialScope {
    /// Its scenarios.
    scenarios: u64,
    /// Those of the benchmark.
    of: u64,
}

impl TrialScope {
    /// The scope of a trial; `None` if the benchmark is not one.
    pub(crate) fn of(benchmark: &Benchmark) -> Option<Self> {
        Self::deserialize(benchmark.extra.get(KEY)?).ok()
    }
}

impl fmt::Display for TrialScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = counted(self.of, "scenario", "scenarios");
        write!(f, "a trial on {} of {all}", grouped(self.scenarios))
    }
}

const KEY: &str = "trial";

/// The benchmark with what `rows` need of it: metrics without rows and hazards without metrics are left out.
fn with_rows(benchmark: Benchmark, rows: &[&Scenario], scope: TrialScope) -> Benchmark {
    let mut benchmark = benchmark;
    let has_rows = |id: &str| rows.iter().any(|row| row.metric_id == id);
    benchmark.metrics.retain(|metric| has_rows(&metric.id));
    for hazard in &mut benchmark.hazards {
        hazard.metrics.retain(|id| has_rows(id));
    }
    benchmark
        .hazards
        .retain(|hazard| !hazard.metrics.is_empty());
    benchmark.name = format!("{} ({scope})", benchmark.name);
    benchmark.extra.insert(KEY.to_owned(), json!(scope));
    benchmark
}

/// Writes the benchmark of `from` into the folder of benchmarks of `trial`, with the scenarios whose ids are in `kept`, and without results.
/// What an earlier trial of this name left is removed. The name for people says that it is a trial.
///
/// # Errors
/// When a file cannot be read or written, or another process works on the trial.
pub fn write_trial(
    from: &BenchmarkDir,
    trial: &Layout,
    kept: &HashSet<&str>,
) -> Result<(), RunError> {
    let dir = trial.benchmark(from.name())?;
    let benchmark = read_benchmark(from)?;
    let scenarios = read_scenarios(from)?;
    let rows: Vec<&Scenario> = scenarios
        .iter()
        .filter(|row| kept.contains(row.id.as_str()))
        .collect();
    let _lock = TreeLock::take(&dir)?;
    let root = dir.root();
    let failed = |error| RunError::write(root, error);
    match fs::remove_dir_all(root) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    for record in [dir.provenance(), dir.gaps()] {
        // They are of the results that were removed. Without them nothing is lost.
        let _ = fs::remove_file(record);
    }
    fs::create_dir_all(root).map_err(failed)?;
    let scope = TrialScope {
        scenarios: rows.len() as u64,
        of: scenarios.len() as u64,
    };
    let benchmark = with_rows(benchmark, &rows, scope);
    let head = "# A trial of a benchmark, which the next trial replaces.\n";
    write_benchmark_yaml(&dir.yaml(), head, &benchmark)?;
    write_json(&dir.scenarios(), &rows)?;
    copy_prompts(from, &dir)
}

/// Copies the conversations of the scenarios in `kept` to the trial that [`write_trial`] made, so that they can be judged there. Returns how many
/// there are.
///
/// # Errors
/// When a file cannot be read or written.
pub fn copy_conversations(
    from: &BenchmarkDir,
    trial: &Layout,
    kept: &HashSet<&str>,
) -> Result<u64, RunError> {
    let dir = trial.benchmark(from.name())?;
    let _lock = TreeLock::take(&dir)?;
    let benchmark = read_benchmark(from)?;
    let scenarios = read_scenarios(from)?;
    let mut copied = 0;
    for id in simulated_targets(from)? {
        let (source, copy) = (from.target(&id)?.conversations(), dir.target(&id)?);
        let target = TargetRef {
            model: String::new(),
            id,
        };
        let mut rows = Vec::new();
        read_conversations(&source, &target, &benchmark, &scenarios, |row| {
            if kept.contains(row.scenario.id.as_str()) {
                rows.push(row);
            }
            ControlFlow::Continue(())
        })?;
        if rows.is_empty() {
            continue;
        }
        copied += rows.len() as u64;
        write_json(&plain_path(&copy.conversations()), &rows)?;
        remove_segments(&plain_path(&copy.conversations()))?;
    }
    // With what made them: versions of prompts, and the models behind each target.
    if from.provenance().is_file() {
        let record = dir.provenance();
        let folder = record.parent().unwrap_or(record);
        fs::create_dir_all(folder)
            .and_then(|()| fs::copy(from.provenance(), record))
            .map_err(|error| RunError::write(record, error))?;
    }
    Ok(copied)
}

fn copy_prompts(from: &BenchmarkDir, to: &BenchmarkDir) -> Result<(), RunError> {
    let folder = from.prompts();
    let Ok(entries) = fs::read_dir(&folder) else {
        return Ok(());
    };
    let target = to.prompts();
    fs::create_dir_all(&target).map_err(|error| RunError::write(&target, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| RunError::read(&folder, error))?;
        let path = target.join(entry.file_name());
        if entry.path().is_file() {
            fs::copy(entry.path(), &path).map_err(|error| RunError::write(&path, error))?;
        }
    }
    Ok(())
}
