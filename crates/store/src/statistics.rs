//! `statistics.json`.

use std::{path::Path, sync::Arc};

use aggregator::{
    sort_summaries,
    statistics::{ScenarioIndex, TargetRows, compare, corrected_comparisons},
};
use schema::{
    Benchmark, ModelId, Summary,
    sequence::Sequence,
    statistics::{Statistics, TargetStatistics},
};
use serde_json::json;

use crate::{
    BenchmarkDir, RunError, TargetFacts, WrongValue, add_judge_statistics,
    judge_statistics::set_people, people_statistics, proof::wrong_values, read_benchmark,
    read_scenarios, read_sequence, scenario_sequence, scored_targets, write_json,
};

/// The data of the benchmark's `scenarios.json` that statistics need. Without the file, base scenarios are taken from the ids alone, and
/// there are no variants. With a `sequence.json` the index has the order of the scenarios.
///
/// # Errors
/// When a file cannot be read or is not a list of scenarios.
pub fn read_scenario_index(dir: &BenchmarkDir) -> Result<Arc<ScenarioIndex>, RunError> {
    let sequence = dir.sequence();
    if !sequence.exists() {
        return read_index(dir);
    }
    let read = || {
        let index = ScenarioIndex::clone(&*read_index(dir)?);
        let Some(sequence) = read_sequence(dir)? else {
            return Ok(Arc::new(index));
        };
        let (benchmark, scenarios) = (read_benchmark(dir)?, read_scenarios(dir)?);
        let sequence = scenario_sequence(&sequence, &benchmark, &scenarios);
        Ok(Arc::new(index.in_sequence(sequence)))
    };
    let memory = dir.memory();
    memory.scenario_indexes.get_or_read(&sequence, read)
}

fn read_index(dir: &BenchmarkDir) -> Result<Arc<ScenarioIndex>, RunError> {
    let (path, memory) = (dir.scenarios(), dir.memory());
    let read = || {
        if let Some(scenarios) = memory.scenarios.get(&path) {
            return Ok(Arc::new(ScenarioIndex::of(&scenarios)));
        }
        let file = match files::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Arc::default());
            }
            Err(error) => return Err(RunError::read(&path, error)),
        };
        let index = ScenarioIndex::read(file).map_err(|error| {
            RunError::input(format!("{}: {error}", path.display())).with_source(error)
        })?;
        Ok(Arc::new(index))
    };
    memory.scenario_indexes.get_or_read(&path, read)
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
    let (format, method) = match index.sequence() {
        Some(of) if of.width.is_some() => (Statistics::SEQUENTIAL_FORMAT, Statistics::METHOD),
        Some(_) => (Statistics::SEQUENTIAL_FORMAT, Sequence::METHOD),
        None => (Statistics::FORMAT, Statistics::METHOD),
    };
    let mut statistics = Statistics {
        format: format.to_owned(),
        level: Statistics::LEVEL,
        method: method.to_owned(),
        correction: Statistics::CORRECTION.to_owned(),
        targets: targets
            .iter()
            .map(|rows| rows.statistics(&index, &hazards))
            .collect(),
        comparisons: Vec::new(),
        corrected_differences: Vec::new(),
    };
    if targets.len() <= Statistics::MOST_COMPARED {
        let sides = targets.iter().enumerate().flat_map(|(place, a)| {
            let others = targets.iter().skip(place + 1);
            others.map(move |b| (a, b))
        });
        let pairs: Vec<_> = sides.map(|(a, b)| compare(a, b, &index)).collect();
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
    let facts = dir.facts(benchmark, target)?;
    let mut statistics = facts.rows.statistics(index, &benchmark.scored_hazards());
    set_people(
        &mut statistics.judge,
        people_statistics(dir, &facts.rows, index)?,
    );
    Ok(statistics)
}

/// The content of `statistics.json` as the rows and labels in the tree give it now. Targets come in the order of `first`; others follow
/// in the order of `results.json`.
///
/// # Errors
/// When the rows of a target or `scenarios.json` cannot be read.
pub fn current_statistics(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    first: &[ModelId],
) -> Result<Statistics, RunError> {
    let targets = scored_targets(dir)?;
    let read = targets.iter().map(|id| dir.facts(benchmark, id));
    let facts: Vec<Arc<TargetFacts>> = read.collect::<Result<_, _>>()?;
    let mut summaries: Vec<Summary> = facts.iter().map(|of| of.summary.clone()).collect();
    sort_summaries(&mut summaries);
    let mut rows: Vec<TargetRows> = facts.iter().map(|of| of.rows.clone()).collect();
    rows.sort_by_key(|rows| {
        let is_it = |id: &ModelId| id == rows.target();
        let given = first.iter().position(is_it).unwrap_or(usize::MAX);
        let place = summaries.iter().position(|of| is_it(&of.target_model));
        (given, place)
    });
    let mut statistics = summarise_statistics(dir, benchmark, &rows)?;
    // Labels that cannot be used are reported by `aggregate`.
    add_judge_statistics(dir, &rows, &mut statistics)?;
    Ok(statistics)
}

/// The statistics of a benchmark that its rows prove, and what in its `statistics.json` differs from them.
#[derive(Clone, Debug)]
pub struct ProvenStatistics {
    /// The statistics to show.
    pub statistics: Statistics,
    /// The values of the file that the rows do not give; these are not shown.
    pub wrong: Vec<WrongValue>,
}

/// The content of the `statistics.json` of `dir` if the rows of the tree give it, otherwise what they give. Without scores to compute it from,
/// and where these cannot be read, the file is all there is. `None` if there is neither.
#[must_use]
pub fn proven_statistics(dir: &BenchmarkDir, benchmark: &Benchmark) -> Option<ProvenStatistics> {
    let written = read_statistics(&dir.statistics()).ok();
    let order: Vec<ModelId> = written
        .iter()
        .flat_map(|of| &of.targets)
        .map(|of| of.target.clone())
        .collect();
    let now = current_statistics(dir, benchmark, &order).ok();
    let (written, now) = match (written, now) {
        (Some(written), Some(now)) if !now.targets.is_empty() => (written, now),
        (written, now) => {
            return written.or(now).map(|statistics| ProvenStatistics {
                statistics,
                wrong: Vec::new(),
            });
        }
    };
    let wrong = wrong_statistics(&written, &now);
    Some(ProvenStatistics {
        statistics: if wrong.is_empty() { written } else { now },
        wrong,
    })
}

/// The values of a `statistics.json` that differ from those that the rows give `now`. Targets without scores are left out. Of a file of
/// format 1, whose tests and corrections are others, only the rates are compared. Its list of targets is wrong if one with scores is missing.
#[must_use]
pub fn wrong_statistics(written: &Statistics, now: &Statistics) -> Vec<WrongValue> {
    let mut found = Vec::new();
    let all = written.format == now.format;
    if all {
        let method = |of: &Statistics| json!({"level": of.level, "method": of.method, "correction": of.correction});
        found = wrong_values(&method(written), &method(now), all);
    }
    for (number, target) in written.targets.iter().enumerate() {
        let Some(now) = now.target(&target.target) else {
            continue;
        };
        let place = format!("/targets/{number}");
        let wrong = wrong_of_target(written, target, now).into_iter();
        found.extend(wrong.map(|wrong| wrong.below(&place)));
    }
    let targets = |of: &Statistics| -> Vec<ModelId> {
        of.targets.iter().map(|of| of.target.clone()).collect()
    };
    let (listed, scored) = (targets(written), targets(now));
    if !scored.iter().all(|id| listed.contains(id)) {
        found.push(WrongValue {
            pointer: "/targets".to_owned(),
            written: json!(listed),
            computed: json!(scored),
        });
    }
    if !written.is_earlier() && listed == scored {
        let compared = |of: &Statistics| json!({"comparisons": of.comparisons, "corrected_differences": of.corrected_differences});
        found.extend(wrong_values(&compared(written), &compared(now), all));
    }
    found
}

/// The values of `target`, an entry of `file`, that differ from those that its rows give `now`, with pointers into the entry. The digest of
/// the scores is the last one: numbers say more.
#[must_use]
pub fn wrong_of_target(
    file: &Statistics,
    target: &TargetStatistics,
    now: &TargetStatistics,
) -> Vec<WrongValue> {
    let all = file.is_present();
    let mut wrong = match file.is_earlier() {
        true => wrong_values(
            &json!({"rates": target.rates}),
            &json!({"rates": now.rates}),
            all,
        ),
        false => wrong_values(target, now, all),
    };
    wrong.sort_by_key(|wrong| wrong.pointer == "/scores_sha256");
    wrong
}

/// Whether a value is about the agreement of judges with people, which depends on labels besides rows.
#[must_use]
pub fn is_about_people(wrong: &WrongValue) -> bool {
    wrong.pointer.starts_with("/judge/people")
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
