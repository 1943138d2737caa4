//! `statistics.json`.

use std::path::Path;

use aggregator::statistics::{ScenarioIndex, TargetRows, compare, corrected_comparisons};
use schema::{
    Benchmark, ModelId,
    statistics::{RateStatistics, Statistics, TargetStatistics},
};

use crate::{
    BenchmarkDir, RunError, count_replies, judge_statistics::set_people, people_statistics,
    read_target_rows, write_json,
};

/// The data of the benchmark's `scenarios.json` that statistics need. Without the file, base scenarios are taken from the ids alone, and
/// there are no variants.
///
/// # Errors
/// When the file cannot be read or is not a list of scenarios.
pub fn read_scenario_index(dir: &BenchmarkDir) -> Result<ScenarioIndex, RunError> {
    let path = dir.scenarios();
    let file = match files::open(&path) {
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
        level: Statistics::LEVEL,
        method: Statistics::METHOD.to_owned(),

        correction: Statistics::CORRECTION.to_owned(),
        targets: targets
            .iter()
            .map(|rows| rows.statistics(&index, &hazards))
            .collect(),
        comparisons: Vec::new(),
        corrected_differences: Vec::new(),
    };
    if targets.len() <= Statistics::MOST_COMPARED {
        let pairs = targets.iter().enumerate().flat_map(|(place, a)| {
            let others = targets.iter().skip(place + 1);
            others.map(move |b| (a, b))
        });
        let pairs: Vec<_> = pairs.map(|(a, b)| compare(a, b, &index)).collect();
        statistics.comparisons = corrected_comparisons(&pairs);
    }
    Ok(statistics)
}

/// The statistics of one target from the current rows and labels of the tree, as every run and `aggregate` write them. Conversations that
/// cannot be read are not an error: scores alone give everything but the incomplete rows. Labels that cannot be used are ignored.
///
/// # Errors
/// When `scores.json` cannot be read, or is not a list of score rows.
pub fn target_statistics(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    target: &ModelId,
    index: &ScenarioIndex,
) -> Result<TargetStatistics, RunError> {
    let replies = count_replies(&dir.target(target)?.conversations(), benchmark).ok();
    let rows = read_target_rows(dir, benchmark, target, replies.as_ref())?;
    let mut statistics = rows.statistics(index, &benchmark.scored_hazards());
    set_people(
        &mut statistics.judge,
        people_statistics(dir, &rows, index)?.people,
    );
    Ok(statistics)
}

/// Whether both cover the same rows: the counts of each rate are equal, and so are the intervals, which depend on the scenarios of the
/// rows.
#[must_use]
pub fn same_rows(a: &TargetStatistics, b: &TargetStatistics) -> bool {
    let rates = |of: &TargetStatistics| {
        let rates = &of.rates;
        let metrics = rates.metrics.values().cloned();
        let pooled = [&rates.all, &rates.positive, &rates.negative];
        pooled
            .into_iter()
            .cloned()
            .chain(metrics)
            .collect::<Vec<_>>()
    };
    let (one, other) = (rates(a), rates(b));
    a.rates.metrics.keys().eq(b.rates.metrics.keys())
        && one.iter().zip(&other).all(|(a, b)| same_rate(a, b))
}

fn same_rate(a: &RateStatistics, b: &RateStatistics) -> bool {
    let counts = |rate: &RateStatistics| (rate.passed, rate.rows, rate.scenarios, rate.missing);
    // Another version of the program may differ in the last digits.
    let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9,
        (a, b) => a == b,
    };
    counts(a) == counts(b) && near(a.lower, b.lower) && near(a.upper, b.upper)
}

/// Writes `statistics.json` of a benchmark.
pub fn write_statistics(dir: &BenchmarkDir, statistics: &Statistics) -> Result<(), RunError> {
    write_json(&dir.statistics(), statistics)
}

/// Reads a `statistics.json`. A file of format 1 is read as it is; [`Statistics::is_earlier`] tells it, and `aggregate` rewrites it.
///
/// # Errors
/// When the file cannot be read, is of a later format, or is not a statistics file.
pub fn read_statistics(path: &Path) -> Result<Statistics, RunError> {
    let text = files::read(path).map_err(|error| RunError::read(path, error))?;
    let bad = |what: String| RunError::input(format!("{}: {what}", path.display()));
    let mut statistics: Statistics = serde_json::from_slice(&text)
        .map_err(|error| bad(format!("not a statistics file: {error}")).with_source(error))?;
    if statistics.format.split('.').next() == Statistics::FORMAT.split('.').next() {
        return Ok(statistics);
    }
    if statistics.is_earlier() {
        statistics.name_families();
        return Ok(statistics);
    }
    Err(bad(format!(
        "format is {:?}, and this version of Probity reads {}",
        statistics.format,
        Statistics::FORMAT
    ))
    .with_help("aggregate the scores again: that rewrites the file"))
}
