//! The part `judge` of `statistics.json`.

use std::{
    thread,
    time::{Duration, Instant},
};

use aggregator::statistics::{
    ScenarioIndex, TargetRows, corrected_differences, judge_against_people,
};
use schema::{
    Benchmark, ModelId,
    statistics::{JudgeAgainstPeople, JudgeStatistics, Statistics, TargetStatistics},
};

use crate::{
    BenchmarkDir, RunError, RunErrorKind, TreeLock, is_about_people, read_labels,
    read_scenario_index, read_statistics, write_statistics, wrong_of_target,
};

/// Adds the agreement between the judge and the `labels.json` of each target that has one. Labels that cannot be used cost only this
/// part, and are a [finding](crate::findings::label_findings).
///
/// # Errors
/// As [`read_scenario_index`].
pub fn add_judge_statistics(
    dir: &BenchmarkDir,
    targets: &[TargetRows],
    statistics: &mut Statistics,
) -> Result<(), RunError> {
    let mut index = None;
    for (rows, of_target) in targets.iter().zip(&mut statistics.targets) {
        if !dir.target(rows.target())?.labels().exists() {
            continue;
        }
        let index = match &index {
            Some(index) => index,
            None => index.insert(read_scenario_index(dir)?),
        };
        let people = people_statistics(dir, rows, index)?;
        set_people(&mut of_target.judge, people);
    }
    statistics.corrected_differences = corrected_differences(statistics.people());
    Ok(())
}

/// The longest wait for the lock of the tree. Another labeller holds it while it reads one target's rows.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The agreement between the judge of `rows` and the `labels.json` of their target; `None` if no label counts.
///
/// # Errors
/// When the target's id cannot be a folder name. Labels that cannot be used are left out.
pub fn people_statistics(
    dir: &BenchmarkDir,
    rows: &TargetRows,
    index: &ScenarioIndex,
) -> Result<Option<JudgeAgainstPeople>, RunError> {
    // An error of the target's name, not of its labels.
    dir.target(rows.target())?;
    let Ok(Some(labels)) = read_labels(dir, rows.target()) else {
        return Ok(None);
    };
    let people = judge_against_people(rows, index, &labels.rows);
    Ok(people.map(|people| JudgeAgainstPeople {
        of_earlier_run: labels.of_earlier_run,
        ..people
    }))
}

/// Sets the part `people`. If `judge` is then empty, it is removed, as `aggregate` does.
pub fn set_people(judge: &mut Option<JudgeStatistics>, people: Option<JudgeAgainstPeople>) {
    if people.is_some() || judge.is_some() {
        judge.get_or_insert_default().people = people;
    }
    if *judge == Some(JudgeStatistics::default()) {
        *judge = None;
    }
}

/// The effect of new labels on `statistics.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct RefreshedPeople {
    /// The agreement of the judge with the labels of the target now.
    pub people: Option<JudgeAgainstPeople>,
    /// Whether `statistics.json` agrees.
    pub state: StatisticsState,
}

/// Whether `statistics.json` is up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatisticsState {
    /// It holds these numbers.
    Current,
    /// A run is working on the tree and writes these numbers when it ends.
    RunGoesOn,
    /// The file is missing, or does not belong to the scores in the tree: `aggregate` writes it.
    Outdated,
}

/// Updates the part of `statistics.json` that depends on the labels of `target`. The result has the same bytes that `aggregate` would
/// write. Everything else in the file stays; a file that does not belong to the scores in the tree is not changed.
///
/// # Errors
/// When scores or scenarios cannot be read, or the file cannot be written.
pub fn refresh_people(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    target: &ModelId,
) -> Result<RefreshedPeople, RunError> {
    // Locks before anything is read: otherwise what another labeller writes meanwhile would be lost.
    let lock = wait_for_tree(dir)?;
    let facts = dir.facts(benchmark, target)?;
    let rows = &facts.rows;
    let index = read_scenario_index(dir)?;
    let people = people_statistics(dir, rows, &index)?;
    let refreshed = |state| RefreshedPeople {
        people: people.clone(),
        state,
    };
    if lock.is_none() {
        return Ok(refreshed(StatisticsState::RunGoesOn));
    }
    let path = dir.statistics();
    // A file of an earlier format is not written again in part: `aggregate` replaces it.
    let written = read_statistics(&path).ok();
    let Some(mut statistics) = written.filter(|written| !written.is_earlier()) else {
        return Ok(refreshed(StatisticsState::Outdated));
    };
    let mut now = rows.statistics(&index, &benchmark.scored_hazards());
    set_people(&mut now.judge, people.clone());
    let fits = |entry: &TargetStatistics| {
        let wrong = wrong_of_target(&statistics, entry, &now);
        entry.target == *target && wrong.iter().all(is_about_people)
    };
    let Some(place) = statistics.targets.iter().position(fits) else {
        return Ok(refreshed(StatisticsState::Outdated));
    };
    let Some(entry) = statistics.targets.get_mut(place) else {
        return Ok(refreshed(StatisticsState::Outdated));
    };
    let before = entry.judge.clone();
    set_people(&mut entry.judge, people.clone());
    let is_changed = entry.judge != before;
    let differences = corrected_differences(statistics.people());
    if is_changed || statistics.corrected_differences != differences {
        statistics.corrected_differences = differences;
        write_statistics(dir, &statistics)?;
    }
    Ok(refreshed(StatisticsState::Current))
}

/// Takes the lock of the tree. Returns `None` if it is held longer than another labeller would hold it.
fn wait_for_tree(dir: &BenchmarkDir) -> Result<Option<TreeLock>, RunError> {
    let end = Instant::now() + LONGEST_WAIT;
    loop {
        match TreeLock::take(dir) {
            Err(error) if error.kind() == RunErrorKind::Busy && Instant::now() < end => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(error) if error.kind() == RunErrorKind::Busy => return Ok(None),
            taken => return taken.map(Some),
        }
    }
}
