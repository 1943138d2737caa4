//! The statistics that are exported: those of the rows in the tree, whatever `statistics.json` says.

use aggregator::statistics::ScenarioIndex;
use schema::{
    Benchmark, ModelId,
    statistics::{Statistics, TargetStatistics},
};
use store::{
    BenchmarkDir, RunError, read_scenario_index, read_statistics, same_people, same_rows,
    target_statistics,
};

/// What the statistics of a benchmark's targets are made of.
pub(super) struct StatisticsSource {
    /// `None`: `scenarios.json` cannot be read, so which rows are alike is not known.
    index: Option<ScenarioIndex>,
    /// `statistics.json`; `None`: there is none, or it cannot be read.
    written: Option<Statistics>,
    /// Why something of the above is missing.
    problems: Vec<String>,
}

impl StatisticsSource {
    pub(super) fn read(dir: &BenchmarkDir) -> Self {
        let mut problems = Vec::new();
        let mut known = |error: RunError| problems.push(error.to_string());
        let index = read_scenario_index(dir).map_err(|error| {
            let why = "Rates are exported without intervals";
            known(RunError::input(format!("{error}. {why}")));
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

    /// What is wrong with the files.
    pub(super) fn take_problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems)
    }

    /// The statistics of the rows of `target`; `None` where they cannot be read, which is reported where rows are read.
    pub(super) fn of(
        &self,
        dir: &BenchmarkDir,
        benchmark: &Benchmark,
        target: &ModelId,
    ) -> Option<TargetStatistics> {
        let index = self.index.as_ref()?;
        target_statistics(dir, benchmark, target, index).ok()
    }

    /// The entry of `statistics.json` where it is of the same rows as `now`: it says more, of the judges for one. Else `now`, with a line
    /// where there is such a file. What people say is always that of the labels as they are now.
    pub(super) fn checked(
        &self,
        dir: &BenchmarkDir,
        now: TargetStatistics,
    ) -> (TargetStatistics, Option<String>) {
        let Some(written) = &self.written else {
            return (now, None);
        };
        match written.target(&now.target) {
            Some(written) if same_rows(written, &now) => with_people(dir, written.clone(), &now),
            _ => {
                let line = format!(
                    "statistics.json is not of the scores in the tree: rates and intervals are exported as the scores give them; \
                     `{} aggregate {}` rewrites the file",
                    dir.command(),
                    dir.name()
                );
                (now, Some(line))
            }
        }
    }
}

/// The entry with what people say now, and a line where that was not in it.
fn with_people(
    dir: &BenchmarkDir,
    mut written: TargetStatistics,
    now: &TargetStatistics,
) -> (TargetStatistics, Option<String>) {
    let people = |of: &TargetStatistics| of.judge.as_ref()?.people.clone();
    let present = people(now);
    if same_people(people(&written).as_ref(), present.as_ref()) {
        return (written, None);
    }
    if present.is_some() || written.judge.is_some() {
        written.judge.get_or_insert_default().people = present;
    }
    let line = format!(
        "statistics.json is not of the labels in the tree: the judge's agreement with people is exported as the labels give it; \
         `{} aggregate {}` rewrites the file",
        dir.command(),
        dir.name()
    );
    (written, Some(line))
}
