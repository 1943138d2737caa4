//! A benchmark that appears when it is whole, or not at all.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::{
    error::PipelineError,
    layout::{BenchmarkDir, Layout},
    tree::TreeLock,
};

/// A folder beside the benchmarks in which one is made. Dropped before [`Unfinished::keep`], it leaves nothing.
#[derive(Debug)]
pub(super) struct Unfinished {
    dir: BenchmarkDir,
    around: TempDir,
    root: PathBuf,
    force: bool,
    _lock: TreeLock,
}

impl Unfinished {
    /// Begins the benchmark of `dir`. With `force` it may replace one that is there.
    pub(super) fn begin(
        layout: &Layout,
        dir: BenchmarkDir,
        force: bool,
    ) -> Result<Self, PipelineError> {
        check_free(&dir, force)?;
        let lock = TreeLock::take(&dir)?;
        let folder = layout.benchmarks();
        let failed = |error| PipelineError::write(folder, error);
        fs::create_dir_all(folder).map_err(failed)?;
        let around = tempfile::Builder::new()
            .prefix(".import-")
            .tempdir_in(folder)
            .map_err(failed)?;
        // The folder around it is private; the benchmark is made as the user's umask allows.
        let root = around.path().join("benchmark");
        fs::create_dir(&root).map_err(failed)?;
        Ok(Self {
            dir,
            around,
            root,
            force,
            _lock: lock,
        })
    }

    /// Where the benchmark is made.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Where files lie that do not belong to the benchmark.
    pub(super) fn scratch(&self) -> PathBuf {
        self.around.path().join("scratch")
    }

    /// Gives the benchmark its name. Gives its folder.
    pub(super) fn keep(self) -> Result<PathBuf, PipelineError> {
        // Another program may have made one in the meantime.
        check_free(&self.dir, self.force)?;
        let root = self.dir.root();
        let failed = |error| PipelineError::write(root, error);
        let earlier = self.around.path().join("earlier");
        let replaces = match fs::rename(root, &earlier) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(failed(error)),
        };
        if let Err(error) = fs::rename(&self.root, root) {
            if replaces {
                fs::rename(&earlier, root).map_err(failed)?;
            }
            return Err(failed(error));
        }
        // Which scenarios were missing in the one that was there says nothing of this one.
        let _ = fs::remove_file(self.dir.gaps());
        Ok(root.to_owned())
    }
}

fn check_free(dir: &BenchmarkDir, force: bool) -> Result<(), PipelineError> {
    let root = dir.root();
    if force || fs::symlink_metadata(root).is_err() {
        return Ok(());
    }
    Err(PipelineError::input(format!(
        "{}: there is a benchmark of this name. Choose another with `--as NAME`, or replace it with `--force`; nothing was changed",
        root.display()
    )))
}
