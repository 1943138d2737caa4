//! The exported statistics: those of the rows in the tree, whatever `statistics.json` contains.

use aggregator::statistics::ScenarioIndex;
use schema::{
    Benchmark, ModelId,
    statistics::{Statistics, TargetStatistics},
};
use store::{
    BenchmarkDir, RunError, read_scenario_index, read_statistics, same_people, same_rows,
    target_statistics,
};

/// The input for the statistics of a benchmark's targets.
pub(super) struct StatisticsSource {
    /// `None`: `scenarios.json` cannot be read, so it is unknown which rows are similar.
    index: Option<ScenarioIndex>,
    /// `statistics.json`; `None`: there is none, or it cannot be read.
    written: Option<Statistics>,
    /// Why any of the above is missing.
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

    /// Problems of the files.
    pub(super) fn take_problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems)
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

    /// The entry of `statistics.json` if it covers the same rows as `now`, because it has more data, for example about the judges.
    /// Otherwise `now`, with a line if the file exists. The agreement with people always comes from the current labels.
    pub(super) fn checked(
        &self,
        dir: &BenchmarkDir,
        now: TargetStatistics,
    ) -> (TargetStatistics, Option<String>) {
        let Some(written) = &self.written else {
            return (now, None);
        };
        match written.target(&now.target) {
            // The effects of variants come from the rows too: a file of an earlier format tested them differently.
            Some(written) if same_rows(written, &now) => {
                let variants = now.variants.clone();
                let written = TargetStatistics {
                    variants,
                    ..written.clone()
                };
                with_people(dir, written, &now)
            }
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

/// The entry with the current agreement with people, and a line if the entry had a different one.
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
