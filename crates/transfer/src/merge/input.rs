//! The trees of shards, opened for reading.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use schema::{ProgramCommand, ShardFile, notice};
use store::{BenchmarkDir, Layout, RunError, TreeLock, read_shard};

/// A folder that a shard ran in.
#[derive(Debug)]
pub(super) struct Input {
    /// The folder, as it was named.
    pub(super) folder: PathBuf,
    pub(super) layout: Layout,
}

/// The folders of the shards.
#[derive(Debug)]
pub(super) struct Inputs {
    pub(super) all: Vec<Input>,
    names: BTreeSet<String>,
}

/// The tree of one benchmark in one of the folders.
#[derive(Clone, Debug)]
pub(super) struct Part<'i> {
    /// Which of the folders.
    pub(super) number: usize,
    pub(super) input: &'i Input,
    pub(super) dir: BenchmarkDir,
    pub(super) file: ShardFile,
}

impl Inputs {
    /// Opens the folders.
    pub(super) fn open(folders: &[PathBuf]) -> Result<Self, RunError> {
        let mut all: Vec<Input> = Vec::new();
        let mut names = BTreeSet::new();
        for folder in folders {
            let layout = layout_in(folder)?;
            let is_same = |one: &Input| one.layout.benchmarks() == layout.benchmarks();
            if all.iter().any(is_same) {
                continue;
            }
            names.extend(layout.names()?);
            all.push(Input {
                folder: folder.clone(),
                layout,
            });
        }
        match all.is_empty() {
            true => Err(RunError::input("no folder of a shard to merge")),
            false => Ok(Self { all, names }),
        }
    }

    /// The benchmarks in any of the folders.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.names.iter().map(String::as_str)
    }

    /// The trees of a benchmark, in the order of the folders.
    pub(super) fn parts(&self, name: &str) -> Result<Vec<Part<'_>>, RunError> {
        let mut parts = Vec::new();
        for (number, input) in self.all.iter().enumerate() {
            let dir = input.layout.benchmark(name)?;
            if !dir.yaml().exists() {
                continue;
            }
            let Some(file) = read_shard(&dir)? else {
                let text = format!(
                    "{}: the tree has no shard.json, so it is not one of a shard",
                    dir.root().display()
                );
                let help = notice![
                    ProgramCommand::new("run").flag("shard"),
                    " writes the trees of shards, in the folder `shards`"
                ];
                return Err(RunError::input(text).with_help(help));
            };
            if TreeLock::is_held(&dir) {
                return Err(RunError::busy(format!(
                    "a run is at work in {}. Wait for it to end, or stop it",
                    dir.root().display()
                )));
            }
            parts.push(Part {
                number,
                input,
                dir,
                file,
            });
        }
        Ok(parts)
    }
}

/// The layout of a project's folder, or of a folder of benchmarks.
fn layout_in(folder: &Path) -> Result<Layout, RunError> {
    let project = Layout::of_project(folder);
    let own = Layout::new(folder);
    // A part of a safety evaluation has records only.
    let has_records = project.run("").is_dir();
    for layout in [&project, &own] {
        if !layout.names()?.is_empty() {
            return Ok(layout.clone());
        }
    }
    if has_records {
        return Ok(project);
    }
    let what = match folder.exists() {
        true => "there are no benchmarks and no records of runs in this folder",
        false => "no such folder",
    };
    Err(RunError::input(format!("{}: {what}", folder.display())))
}

impl Part<'_> {
    /// `shard 3 of 16 (shards/3-of-16)`.
    pub(super) fn words(&self) -> String {
        let folder = self.input.folder.display();
        match self.file.shard() {
            Some(shard) => format!("{shard} ({folder})"),
            None => format!("the merged tree in {folder}"),
        }
    }
}
