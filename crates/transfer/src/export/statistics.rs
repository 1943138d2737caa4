//! The exported statistics: those of the rows in the tree, whatever `statistics.json` contains.

use std::sync::Arc;

use aggregator::statistics::ScenarioIndex;
use schema::{
    Benchmark, ModelId, Notice, notice,
    statistics::{Statistics, TargetStatistics},
};
use store::{
    BenchmarkDir, RunError, is_about_people, read_scenario_index, read_statistics,
    target_statistics, wrong_of_target,
};

/// The input for the statistics of a benchmark's targets.
pub(super) struct StatisticsSource {
    /// `None`: `scenarios.json` cannot be read, so it is unknown which rows are similar.
    index: Option<Arc<ScenarioIndex>>,
    /// `statistics.json`; `None`: there is none, or it cannot be read.
    written: Option<Statistics>,
    /// Why any of the above is missing.
    problems: Vec<Notice>,
}

impl StatisticsSource {
    pub(super) fn read(dir: &BenchmarkDir) -> Self {
        let mut problems = Vec::new();
        let mut known = |error: RunError| problems.push(error.notice());
        let index = read_scenario_index(dir).map_err(|error| {
            let why = "Rates are exported without intervals";
            known(RunError::input(notice![error.notice(), ". ", why]));
        });
        let path = dir.statistics();
        let written = match path.try_exists() {
            Ok(false) => None,
            _ => read_statistics(&path).map_err(known).ok(),
        };
        Self {
            index: index.ok(),
            written,
            problems,
        }
    }

    /// The index of the scenarios, if they can be read.
    pub(super) fn index(&self) -> Option<&ScenarioIndex> {
        self.index.as_deref()
    }

    /// Problems of the files.
    pub(super) fn take_problems(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.problems)
    }

    /// The number of scenarios that belong to a metric of `benchmark`; `None` if they cannot be read, or are simulated until rules are decided.
    pub(super) fn scenarios(&self, benchmark: &Benchmark) -> Option<u64> {
        let index = self.index.as_ref()?;
        if index.sequence().is_some() {
            return None;
        }
        Some(index.count(|metric| benchmark.metric(metric).is_some()))
    }

    /// The statistics of the rows of `target`; `None` if they cannot be read, which is reported where rows are read.
    pub(super) fn of(
        &self,
        dir: &BenchmarkDir,
        benchmark: &Benchmark,
        target: &ModelId,
    ) -> Option<TargetStatistics> {
        let index = self.index.as_ref()?;
        target_statistics(dir, benchmark, target, index).ok()
    }

    /// What is wrong with the entry of `statistics.json` for the target of `now`, one line each. `now` is exported in any case.
    pub(super) fn problems(&self, dir: &BenchmarkDir, now: &TargetStatistics) -> Vec<Notice> {
        let Some(written) = &self.written else {
            return Vec::new();
        };
        let with_advice = |fact: String| {
            let aggregate = dir.command("aggregate");
            notice![fact, "; ", aggregate, " writes the file again"]
        };
        let Some(entry) = written.target(&now.target) else {
            let fact = "statistics.json has no statistics of it: they are computed from the scores";
            return vec![with_advice(fact.to_owned())];
        };
        let wrong = wrong_of_target(written, entry, now);
        let is_same = now.scores_sha256.is_some() && entry.scores_sha256 == now.scores_sha256;
        let why = match is_same {
            true => "was changed after it was computed",
            false => "was not computed from these scores",
        };
        let (people, rows): (Vec<_>, Vec<_>) = wrong.into_iter().partition(is_about_people);
        let rows = rows.first().map(|first| {
            with_advice(format!(
                "statistics.json {why} ({}): rates and intervals here are computed from the scores",
                first.in_words()
            ))
        });
        let people = people.first().map(|first| {
            with_advice(format!(
                "statistics.json was not computed from the labels in the tree ({}): the judge's agreement with people here is computed \
                 from the labels",
                first.in_words()
            ))
        });
        rows.into_iter().chain(people).collect()
    }
}
