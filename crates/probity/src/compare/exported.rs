//! Reads the rows of an export instead of another tree: a folder with `runs.jsonl` and `scores.jsonl`, as `export jsonl`
//! writes them.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use aggregator::statistics::{RowVerdict, TargetRows};
use schema::{Benchmark, Extra, ModelId, RoleRecords, Score, TargetRef};
use serde::{Deserialize, de::DeserializeOwned};
use store::{RunError, findings::MeasuredSide};

/// The data of one benchmark in an export.
pub(super) struct Exported {
    /// Its folder.
    pub root: PathBuf,
    /// The benchmark at the time of the export.
    pub benchmark: Benchmark,
    targets: BTreeMap<ModelId, Target>,
}

struct Target {
    turns: Option<u32>,
    measured: MeasuredSide,
    rows: TargetRows,
}

/// The fields read from a line of `runs.jsonl`.
#[derive(Deserialize)]
struct RunLine {
    benchmark: String,
    benchmark_uid: String,
    definition: Benchmark,
    target: TargetRef,
    #[serde(default)]
    turns: Option<u32>,
    /// The fingerprints of the phases, by name.
    #[serde(default)]
    fingerprints: Extra,
    /// The models besides the target. Absent in exports of earlier versions.
    #[serde(default)]
    models: Option<RoleRecords>,
    /// Which rows the export has, if not all of them.
    #[serde(default)]
    selection: Option<String>,
}

/// A line of `scores.jsonl`.
#[derive(Deserialize)]
struct ScoreLine {
    benchmark: String,
    #[serde(flatten)]
    score: Score,
}

/// Whether `folder` holds an export and not the tree of a benchmark.
pub(super) fn is_export(folder: &Path) -> bool {
    folder.join("scores.jsonl").is_file() && folder.join("runs.jsonl").is_file()
}

impl Exported {
    /// Reads the data of the benchmark whose folder is called `name` from the export in `root`; if the export has only
    /// one benchmark, that one.
    pub(super) fn read(root: &Path, name: &str) -> Result<Self, RunError> {
        let mut runs: Vec<RunLine> = Vec::new();
        each_line(&root.join("runs.jsonl"), |run: RunLine| {
            match &run.selection {
                Some(selection) => Err(format!(
                    "the export has only some of the rows ({selection}); compare with an export of all"
                )),
                None => {
                    runs.push(run);
                    Ok(())
                }
            }
        })?;
        let is_named = runs.iter().any(|run| run.benchmark == name);
        let folder = match runs.first() {
            Some(_) if is_named => name.to_owned(),
            Some(first) => first.benchmark.clone(),
            None => return Err(RunError::input(format!("{}: no run in it", root.display()))),
        };
        let mut benchmark = None;
        let mut targets = BTreeMap::new();
        for run in runs.into_iter().filter(|run| run.benchmark == folder) {
            let models = run.models.as_ref();
            let measured = MeasuredSide::of_export(String::new(), &run.fingerprints, models);
            let turns = run.turns;
            let id = run.target.id;
            let rows = TargetRows::new(id.clone());
            let target = Target {
                turns,
                measured,
                rows,
            };
            if targets.insert(id.clone(), target).is_some() {
                return Err(RunError::input(format!(
                    "{}: two runs of {id} on {folder}",
                    root.join("runs.jsonl").display()
                )));
            }
            benchmark.get_or_insert(Benchmark {
                uid: Some(run.benchmark_uid),
                ..run.definition
            });
        }
        let mut read = Self {
            root: root.to_owned(),
            benchmark: benchmark.unwrap_or_default(),
            targets,
        };
        each_line(&root.join("scores.jsonl"), |line: ScoreLine| {
            match line.benchmark == folder {
                true => read.push(&line.score),
                false => Ok(()),
            }
        })?;
        Ok(read)
    }

    fn push(&mut self, score: &Score) -> Result<(), String> {
        let target = self.targets.get_mut(&score.target_model).ok_or_else(|| {
            format!(
                "a score of {}, which runs.jsonl does not have",
                score.target_model
            )
        })?;
        let verdict = RowVerdict::from(score.outcome());
        let unit = (
            score.id.as_str(),
            score.metric_id.as_str(),
            score.metric_type,
        );
        target.rows.push_verdict(unit, verdict);
        Ok(())
    }

    /// The targets of the runs.
    pub(super) fn targets(&self) -> Vec<ModelId> {
        self.targets.keys().cloned().collect()
    }

    /// How `target` was measured, as far as that is known. `name`: of the export, for people.
    pub(super) fn measured(&self, target: &ModelId, name: &str) -> MeasuredSide {
        let found = self.targets.get(target);
        MeasuredSide {
            name: name.to_owned(),
            ..found.map(|of| of.measured.clone()).unwrap_or_default()
        }
    }

    /// The planned number of turns of the conversations with `target`, if it is known.
    pub(super) fn turns(&self, target: &ModelId) -> Option<u32> {
        self.targets.get(target)?.turns
    }

    /// The rows of `target`; empty if there is no run of it.
    pub(super) fn rows(&self, target: &ModelId) -> TargetRows {
        self.targets.get(target).map_or_else(
            || TargetRows::new(target.clone()),
            |found| found.rows.clone(),
        )
    }
}

/// Passes each line of a JSONL file to `take`. If `take` refuses a line, the error has the line's number.
fn each_line<T: DeserializeOwned>(
    path: &Path,
    mut take: impl FnMut(T) -> Result<(), String>,
) -> Result<(), RunError> {
    let file = files::open(path).map_err(|error| RunError::read(path, error))?;
    for (number, line) in (1_u64..).zip(BufReader::new(file).lines()) {
        let line = line.map_err(|error| RunError::read(path, error))?;
        if line.trim().is_empty() {
            continue;
        }
        let taken = serde_json::from_str(&line)
            .map_err(|error| error.to_string())
            .and_then(&mut take);
        taken.map_err(|reason| {
            RunError::input(format!("{}: line {number}: {reason}", path.display()))
                .with_help("export it again with `export jsonl`")
        })?;
    }
    Ok(())
}
