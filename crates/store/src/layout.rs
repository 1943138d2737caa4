//! Where each file is stored.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use schema::{ModelId, ProgramCommand, Shard};

use crate::{RunError, check_tree, segments::rows_at, tree::TreeMemory};

/// The folder of benchmarks, and the folder of Probity's own records beside it.
#[derive(Clone, Debug)]
pub struct Layout {
    benchmarks: PathBuf,
    /// The folder of benchmarks that commands name.
    named: PathBuf,
    state: PathBuf,
    cache: PathBuf,
    memory: Arc<TreeMemory>,
}

impl Layout {
    /// The layout around the folder `benchmarks`. Records are in `.probity` beside it.
    #[must_use]
    pub fn new(benchmarks: impl Into<PathBuf>) -> Self {
        let benchmarks = benchmarks.into();
        let state = match benchmarks.parent() {
            Some(parent) => parent.join(".probity"),
            None => PathBuf::from(".probity"),
        };
        Self {
            named: benchmarks.clone(),
            benchmarks,
            cache: state.join("cache.sqlite"),
            state,
            memory: Arc::default(),
        }
    }

    /// The layout around `benchmarks` in the folder `root`.
    #[must_use]
    pub fn of_project(root: &Path) -> Self {
        Self::new(root.join("benchmarks"))
    }

    /// The layout of a copy of its benchmarks in `folder`, with the records of this one. Commands name the benchmarks that were copied.
    pub(crate) fn copied_to(&self, folder: PathBuf) -> Self {
        Self {
            benchmarks: folder,
            memory: Arc::default(),
            ..self.clone()
        }
    }

    /// The folder of trials, among the records.
    #[must_use]
    pub fn trials(&self) -> PathBuf {
        self.state.join("trial")
    }

    /// The layout of trials in `folder`: runs on some of the scenarios, whose results and records are all there. It has the same response
    /// cache.
    #[must_use]
    pub fn trial_in(&self, folder: &Path) -> Self {
        Self {
            cache: self.cache.clone(),
            ..Self::new(folder.join("benchmarks"))
        }
    }

    /// The folder of a shard: its tree, results, records and response cache are all there.
    #[must_use]
    pub fn shard_folder(&self, shard: Shard) -> PathBuf {
        let project = self.benchmarks.parent().unwrap_or(Path::new(""));
        project.join("shards").join(shard.folder())
    }

    /// The folder of benchmarks.
    #[must_use]
    pub fn benchmarks(&self) -> &Path {
        &self.benchmarks
    }

    /// The command `verb` on these benchmarks, for people to type.
    ///
    /// ```
    /// use store::Layout;
    ///
    /// let evaluate = Layout::new("mine").command("evaluate").on("honesty");
    /// assert_eq!(evaluate.text(&Default::default()), "probity --benchmarks mine evaluate honesty");
    /// ```
    #[must_use]
    pub fn command(&self, verb: &'static str) -> ProgramCommand {
        ProgramCommand::new(verb).in_folder(&self.named)
    }

    /// The folder of Probity's own records.
    #[must_use]
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The response cache.
    #[must_use]
    pub fn cache(&self) -> PathBuf {
        self.cache.clone()
    }

    /// The folder for files of batches, beside the cache: what is in them is as old as the replies there.
    #[must_use]
    pub fn batches(&self) -> PathBuf {
        self.cache.with_file_name("batches")
    }

    /// The folder of one run's records: manifest and journal.
    #[must_use]
    pub fn run(&self, run_id: &str) -> PathBuf {
        self.state.join("runs").join(run_id)
    }

    /// The files of the benchmark `name`.
    ///
    /// # Errors
    /// When `name` would leave the folder of benchmarks, or a file of the benchmark is a pipe or device.
    pub fn benchmark(&self, name: &str) -> Result<BenchmarkDir, RunError> {
        let bad = name.is_empty()
            || name.starts_with('.')
            || name.contains(['/', '\\'])
            || name.chars().any(char::is_control);
        if bad {
            return Err(RunError::input(format!(
                "invalid benchmark name {name:?}: it must name one folder inside {}",
                self.benchmarks.display()
            )));
        }
        let dir = BenchmarkDir {
            named: self.named.clone(),
            name: name.to_owned(),
            root: self.benchmarks.join(name),
            spool: self.state.join("spool").join(name),
            gaps: self.state.join("gaps").join(format!("{name}.json")),
            provenance: self.state.join("provenance").join(format!("{name}.json")),
            lock: self.state.join("locks").join(format!("{name}.lock")),
            memory: Arc::clone(&self.memory),
        };
        check_tree(&dir)?;
        Ok(dir)
    }

    /// The names of the existing benchmarks: folders that hold a `benchmark.yaml`, sorted. Empty if the folder of benchmarks is
    /// missing.
    ///
    /// # Errors
    /// When the folder exists and cannot be read.
    pub fn names(&self) -> Result<Vec<String>, RunError> {
        if !self.benchmarks.exists() {
            return Ok(Vec::new());
        }
        let read = |error| RunError::read(&self.benchmarks, error);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.benchmarks).map_err(read)? {
            let entry = entry.map_err(read)?;
            if let Ok(name) = entry.file_name().into_string()
                && !name.starts_with('.')
                && entry.path().join("benchmark.yaml").exists()
            {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }
}

/// The files of one benchmark. `docs/formats/benchmark-tree.md` describes the tree.
#[derive(Clone, Debug)]
pub struct BenchmarkDir {
    name: String,
    /// The folder of benchmarks that commands name.
    named: PathBuf,
    root: PathBuf,
    spool: PathBuf,
    gaps: PathBuf,
    provenance: PathBuf,
    lock: PathBuf,
    memory: Arc<TreeMemory>,
}

impl BenchmarkDir {
    /// The command `verb` on it, for people to type.
    ///
    /// ```
    /// # fn main() -> Result<(), store::RunError> {
    /// let dir = store::Layout::new("benchmarks").benchmark("honesty")?;
    /// let again = dir.command("gen-metrics").flag("force");
    /// assert_eq!(again.text(&Default::default()), "probity gen-metrics honesty --force");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn command(&self, verb: &'static str) -> ProgramCommand {
        ProgramCommand::new(verb)
            .in_folder(&self.named)
            .on(&self.name)
    }

    /// The command that judges the conversations of `target`, for people to type.
    pub(crate) fn evaluate_command(&self, target: &ModelId) -> ProgramCommand {
        self.command("evaluate").with("target", target)
    }

    /// What was read of its files.
    pub(crate) fn memory(&self) -> &TreeMemory {
        &self.memory
    }

    /// The folder's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `benchmark.yaml`.
    #[must_use]
    pub fn yaml(&self) -> PathBuf {
        self.root.join("benchmark.yaml")
    }

    /// `scenarios.json`.
    #[must_use]
    pub fn scenarios(&self) -> PathBuf {
        self.root.join("scenarios.json")
    }

    /// `cost.json` of the generating phases.
    #[must_use]
    pub fn cost(&self) -> PathBuf {
        self.root.join("cost.json")
    }

    /// `results.json`.
    #[must_use]
    pub fn results(&self) -> PathBuf {
        self.root.join("results.json")
    }

    /// `grades.json`.
    #[must_use]
    pub fn grades(&self) -> PathBuf {
        self.root.join("grades.json")
    }

    /// `statistics.json`.
    #[must_use]
    pub fn statistics(&self) -> PathBuf {
        self.root.join("statistics.json")
    }

    /// `sequence.json`: the order of runs that stop when rules are decided. It may be missing.
    #[must_use]
    pub fn sequence(&self) -> PathBuf {
        self.root.join("sequence.json")
    }

    /// `shard.json`: which part of the benchmark the tree has. A whole tree has none.
    #[must_use]
    pub fn shard(&self) -> PathBuf {
        self.root.join("shard.json")
    }

    /// `report.html`: the results as a page to look at.
    #[must_use]
    pub fn report(&self) -> PathBuf {
        self.root.join("report.html")
    }

    /// `baseline.json`: what later rows are compared with. It may be missing.
    #[must_use]
    pub fn baseline(&self) -> PathBuf {
        self.root.join("baseline.json")
    }

    /// `standards.json`: what the benchmark's grades compare with. It may be missing.
    #[must_use]
    pub fn standards(&self) -> PathBuf {
        self.root.join("standards.json")
    }

    /// The folder of a user's own prompt templates for this benchmark.
    #[must_use]
    pub fn prompts(&self) -> PathBuf {
        self.root.join("prompts")
    }

    /// The folder that holds a folder for each target.
    #[must_use]
    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// The files of one target.
    ///
    /// # Errors
    /// When the target's id cannot name a folder.
    pub fn target(&self, id: &ModelId) -> Result<TargetDir, RunError> {
        id.check_folder_name().map_err(|error| {
            RunError::input(format!("{error}. Change the target's id in the config"))
                .with_source(error)
        })?;
        Ok(TargetDir {
            root: self.runs().join(id.as_str()),
        })
    }

    /// Where finished rows are kept until the tree's files are written.
    pub fn spool(&self) -> &Path {
        &self.spool
    }

    /// The file that lists the metrics whose scenarios are incomplete because a call failed.
    pub fn gaps(&self) -> &Path {
        &self.gaps
    }

    /// The file with the provenance of the files.
    pub fn provenance(&self) -> &Path {
        &self.provenance
    }

    /// The lock file of a run.
    pub fn lock(&self) -> &Path {
        &self.lock
    }

    /// The lock file for writing labels.
    pub(crate) fn labels_lock(&self) -> PathBuf {
        self.lock.with_extension("labels")
    }
}

/// The files of one target of one benchmark.
#[derive(Clone, Debug)]
pub struct TargetDir {
    root: PathBuf,
}

impl TargetDir {
    /// The files in the folder `root`.
    #[must_use]
    pub fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The conversations: `conversations.json`, or the index of their [segments](crate::open_rows) if there is only that.
    #[must_use]
    pub fn conversations(&self) -> PathBuf {
        rows_at(self.root.join("conversations.json"))
    }

    /// The scores: `scores.json`, or the index of their segments if there is only that.
    #[must_use]
    pub fn scores(&self) -> PathBuf {
        rows_at(self.root.join("scores.json"))
    }

    /// `labels.json`: verdicts of people. It may be missing.
    #[must_use]
    pub fn labels(&self) -> PathBuf {
        self.root.join("labels.json")
    }

    /// `cost.json` of the phases simulate and evaluate.
    #[must_use]
    pub fn cost(&self) -> PathBuf {
        self.root.join("cost.json")
    }
}
