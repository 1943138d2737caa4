//! A benchmark that appears when it is complete, or not at all.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use schema::{ProgramFlag, notice};
use store::{BenchmarkDir, Layout, RunError, TreeLock};

/// Prefix of the temporary folder, before the benchmark's name.
const PREFIX: &str = ".import-";

/// The new benchmark, and the one that it replaces, in the temporary folder.
const MADE: &str = "benchmark";
const EARLIER: &str = "earlier";

/// A folder beside the benchmarks in which a new one is created: `.import-<name>`. If it is dropped before [`Unfinished::keep`], it leaves
/// nothing. Leftovers of a killed program are removed, or moved back, when a benchmark with that name is started again.
#[derive(Debug)]
pub(crate) struct Unfinished {
    dir: BenchmarkDir,
    around: TempDir,
    root: PathBuf,
    force: bool,
    _lock: TreeLock,
}

impl Unfinished {
    /// Starts the benchmark of `dir`. With `force` it may replace an existing one.
    pub(crate) fn begin(layout: &Layout, dir: BenchmarkDir, force: bool) -> Result<Self, RunError> {
        let lock = TreeLock::take(&dir)?;
        let folder = layout.benchmarks();
        let failed = |error| RunError::write(folder, error);
        fs::create_dir_all(folder).map_err(failed)?;
        let name = format!("{PREFIX}{}", dir.name());
        clear(&folder.join(&name), dir.root())?;
        clear_others(layout);
        check_free(&dir, force)?;
        // One folder for each name is enough: the process that creates it holds the lock.
        let around = tempfile::Builder::new()
            .prefix(&name)
            .rand_bytes(0)
            .tempdir_in(folder)
            .map_err(failed)?;
        // The temporary folder is private; the benchmark is created as the user's umask allows.
        let root = around.path().join(MADE);
        fs::create_dir(&root).map_err(failed)?;
        Ok(Self {
            dir,
            around,
            root,
            force,
            _lock: lock,
        })
    }

    /// The benchmark under its final name.
    pub(super) fn dir(&self) -> &BenchmarkDir {
        &self.dir
    }

    /// The folder in which the benchmark is created.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder for files that do not belong to the benchmark.
    pub(super) fn scratch(&self) -> PathBuf {
        self.around.path().join("scratch")
    }

    /// Moves the benchmark to its final name. Returns its folder.
    pub(crate) fn keep(self) -> Result<PathBuf, RunError> {
        // Another program may have created one in the meantime.
        check_free(&self.dir, self.force)?;
        let root = self.dir.root();
        let failed = |error| RunError::write(root, error);
        let earlier = self.around.path().join(EARLIER);
        let replaces = match fs::rename(root, &earlier) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(failed(error)),
        };
        if let Err(error) = fs::rename(&self.root, root) {
            let error = failed(error);
            return Err(match replaces {
                true => put_back(self.around, root, error),
                false => error,
            });
        }
        // Records of the replaced benchmark do not apply to this one.
        let _ = fs::remove_file(self.dir.gaps());
        let _ = fs::remove_file(self.dir.provenance());
        Ok(root.to_owned())
    }
}

/// Moves the earlier benchmark back to `root` after `error`, and returns the error to report. If that fails too, it stays where it is.
fn put_back(around: TempDir, root: &Path, error: RunError) -> RunError {
    let Err(again) = fs::rename(around.path().join(EARLIER), root) else {
        return error;
    };
    let kept = around.keep().join(EARLIER);
    RunError::output(notice![
        error.notice(),
        format!(
            ". The earlier benchmark could not be restored ({again}); it is in {} now. Move it back by hand, or run the import again",
            kept.display()
        )
    ])
}

/// Removes the folder `around` that a killed import left, and moves back the benchmark that the import had replaced.
fn clear(around: &Path, root: &Path) -> Result<(), RunError> {
    let there = |path: &Path| fs::symlink_metadata(path).is_ok();
    if !there(around) {
        return Ok(());
    }
    let earlier = around.join(EARLIER);
    if there(&earlier) {
        if !there(root) {
            fs::rename(&earlier, root).map_err(|error| RunError::write(root, error))?;
        } else if there(&around.join(MADE)) {
            return Err(RunError::input(format!(
                "{}: an import that was stopped left an earlier benchmark here, and there is another of its name now. Move it elsewhere \
                 or delete                  it, and run the command again; nothing was changed",
                earlier.display()
            )));
        }
    }
    fs::remove_dir_all(around).map_err(|error| RunError::write(around, error))
}

/// Removes leftovers of killed imports with other names, unless another process is working on them.
fn clear_others(layout: &Layout) {
    for entry in fs::read_dir(layout.benchmarks())
        .into_iter()
        .flatten()
        .flatten()
    {
        let file_name = entry.file_name();
        let name = file_name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX));
        let Some(Ok(dir)) = name.map(|name| layout.benchmark(name)) else {
            continue;
        };
        if let Ok(_lock) = TreeLock::take(&dir) {
            // A folder that cannot be cleared is reported by the import of that name.
            let _ = clear(&entry.path(), dir.root());
        }
    }
}

fn check_free(dir: &BenchmarkDir, force: bool) -> Result<(), RunError> {
    let root = dir.root();
    if force || fs::symlink_metadata(root).is_err() {
        return Ok(());
    }
    Err(RunError::input(format!(
        "{}: the benchmark already exists; nothing was changed",
        root.display()
    ))
    .with_help(format!(
        "choose another name with `{}`, or replace it with `{}`",
        ProgramFlag::new("as").value("NAME"),
        ProgramFlag::new("force")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_that_cannot_be_put_back_is_kept() {
        let project = tempfile::tempdir().unwrap();
        let around = tempfile::tempdir_in(project.path()).unwrap();
        let earlier = around.path().join(EARLIER);
        fs::create_dir(&earlier).unwrap();
        fs::write(earlier.join("benchmark.yaml"), "mine").unwrap();
        let nowhere = project.path().join("gone").join("b");
        let error = put_back(around, &nowhere, RunError::output("the disk is odd"));
        let text = error.to_string();
        assert!(text.contains("the disk is odd"), "{text}");
        assert!(text.contains(&earlier.display().to_string()), "{text}");
        assert_eq!(
            fs::read_to_string(earlier.join("benchmark.yaml")).unwrap(),
            "mine"
        );
    }
}
