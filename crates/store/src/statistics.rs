//! `statistics.json`.

use std::{
    fs::{self, File},
    path::Path,
};

use aggregator::statistics::{ScenarioIndex, TargetRows, compare};
use schema::{Benchmark, statistics::Statistics};

use crate::{BenchmarkDir, RunError, write_json};

/// What statistics need of the benchmark's `scenarios.json`. Without the file base scenarios come from the ids alone, and
/// there are no variants.
///
/// # Errors
/// When the file cannot be read or is not a list of scenarios.
pub fn read_scenario_index(dir: &BenchmarkDir) -> Result<ScenarioIndex, RunError> {
    let path = dir.scenarios();
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(ScenarioIndex::default());
        }
        Err(error) => return Err(RunError::read(&path, error)),
    };
    ScenarioIndex::read(file)
        .map_err(|error| RunError::input(format!("{}: {error}", path.display())).with_source(error))
}

/// The statistics of a benchmark. `targets` are in the order of `results.json`.
///
/// # Errors
/// As [`read_scenario_index`].
pub fn summarise_statistics(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    targets: &[TargetRows],
) -> Result<Statistics, RunError> {
    let index = read_scenario_index(dir)?;
    let hazards = benchmark.scored_hazards();
    let mut statistics = Statistics {
        format: Statistics::FORMAT.to_owned(),
        level: 0.95,
        method: Statistics::METHOD.to_owned(),
        targets: targets
            .iter()
            .map(|rows| rows.statistics(&index, &hazards))
            .collect(),
        comparisons: Vec::new(),
    };
    if targets.len() <= Statistics::MOST_COMPARED {
        for (place, a) in targets.iter().enumerate() {
            for b in targets.iter().skip(place + 1) {
                statistics.comparisons.extend(compare(a, b, &index));
            }
        }
    }
    Ok(statistics)
}

/// Writes `statistics.json` of a benchmark.
pub fn write_statistics(dir: &BenchmarkDir, statistics: &Statistics) -> Result<(), RunError> {
    write_json(&dir.statistics(), statistics)
}

/// Reads a `statistics.json`.
///
/// # Errors
/// When the file cannot be read, is of another format, or is not a statistics file.
pub fn read_statistics(path: &Path) -> Result<Statistics, RunError> {
    let text = fs::read(path).map_err(|error| RunError::read(path, error))?;
    let bad = |what: String| RunError::input(format!("{}: {what}", path.display()));
    let statistics: Statistics = serde_json::from_slice(&text)
        .map_err(|error| bad(format!("not a statistics file: {error}")).with_source(error))?;
    if statistics.format.split('.').next() == Statistics::FORMAT.split('.').next() {
        return Ok(statistics);
    }
    Err(bad(format!(
        "format is {:?}, and this version of Probity reads {}",
        statistics.format,
        Statistics::FORMAT
    ))
    .with_help("aggregate the scores again: that rewrites the file"))
}
