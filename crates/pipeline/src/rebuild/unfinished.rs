//! Files that appear when all of them are whole, or not at all.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::error::PipelineError;

/// A folder in which files are made before they get their place in `out`. Dropped before [`Unfinished::keep`], it leaves nothing.
pub(super) struct Unfinished<'o> {
    // The folder goes before `out`, which it lies in.
    made: TempDir,
    out: Out<'o>,
}

/// Where the files belong.
struct Out<'o> {
    path: &'o Path,
    /// Made for them, and removed where it stays empty.
    is_new: bool,
}

impl Drop for Out<'_> {
    fn drop(&mut self) {
        if self.is_new {
            // With files in it, it stays.
            let _ = fs::remove_dir(self.path);
        }
    }
}

impl<'o> Unfinished<'o> {
    /// Begins files of `out`, which is made where it is not there.
    pub(super) fn begin(path: &'o Path) -> Result<Self, PipelineError> {
        let failed = |error| PipelineError::write(path, error);
        let out = Out {
            path,
            is_new: !path.exists(),
        };
        fs::create_dir_all(path).map_err(failed)?;
        let made = tempfile::Builder::new()
            .prefix(".rebuild-")
            .tempdir_in(path)
            .map_err(failed)?;
        Ok(Self { made, out })
    }

    /// Where the files are made.
    pub(super) fn root(&self) -> &Path {
        self.made.path()
    }

    /// Gives `files` their places, and their names in the list.
    pub(super) fn keep(self, files: &mut [PathBuf]) -> Result<(), PipelineError> {
        for file in files {
            let Ok(name) = file.strip_prefix(self.root()) else {
                continue;
            };
            let place = self.out.path.join(name);
            let failed = |error| PipelineError::write(&place, error);
            if let Some(folder) = place.parent() {
                fs::create_dir_all(folder).map_err(failed)?;
            }
            fs::rename(&*file, &place).map_err(failed)?;
            *file = place;
        }
        Ok(())
    }
}
