//! The folder of the merged tree: it gets its name when it is complete.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use schema::ProgramFlag;
use store::RunError;

/// A folder beside `out` in which the tree is made. Dropped before [`OutFolder::keep`], it leaves nothing; what a killed merge left is removed by
/// the next one into the same folder.
#[derive(Debug)]
pub(super) struct OutFolder {
    made: PathBuf,
    /// The tree that is replaced, while it is.
    aside: PathBuf,
    out: PathBuf,
    is_kept: bool,
    /// Held while the merge is at work.
    _lock: Option<File>,
}

impl OutFolder {
    pub(super) fn begin(out: &Path, force: bool) -> Result<Self, RunError> {
        let Some(name) = out.file_name() else {
            let text = format!("{}: name a folder that the merge creates", out.display());
            return Err(RunError::input(text));
        };
        let beside = |end: &str| {
            let mut name = name.to_owned();
            name.push(end);
            out.with_file_name(name)
        };
        let (made, aside) = (beside(".merging"), beside(".replaced"));
        if out.exists() && !force {
            let text = format!("{}: it exists, and is not replaced", out.display());
            return Err(RunError::input(text).with_help(format!(
                "name another folder; {} replaces it, whatever is in it",
                ProgramFlag::new("force")
            )));
        }
        if force && !out.exists() && aside.exists() {
            // A merge was killed after it put the old tree aside.
            fs::rename(&aside, out).map_err(|error| RunError::write(out, error))?;
        }
        let failed = |error| RunError::write(&made, error);
        // Held from here on: a lock on a folder is not possible everywhere.
        fs::create_dir_all(&made).map_err(failed)?;
        let lock = files::open(&made).ok();
        if let Some(Err(fs::TryLockError::WouldBlock)) = lock.as_ref().map(File::try_lock) {
            return Err(RunError::busy(format!(
                "another merge is at work in {}. Wait for it to end, or name another folder",
                made.display()
            )));
        }
        clear(&made).map_err(failed)?;
        Ok(Self {
            made,
            aside,
            out: out.to_owned(),
            is_kept: false,
            _lock: lock,
        })
    }

    /// The folder in which the tree is made.
    pub(super) fn root(&self) -> &Path {
        &self.made
    }

    /// Gives the tree its name.
    pub(super) fn keep(mut self) -> Result<(), RunError> {
        let failed = |error| RunError::write(&self.out, error);
        if self.out.exists() {
            remove(&self.aside).map_err(failed)?;
            fs::rename(&self.out, &self.aside).map_err(failed)?;
        }
        fs::rename(&self.made, &self.out).map_err(failed)?;
        self.is_kept = true;
        // The merge is done: a rest that cannot be removed does no harm.
        let _ = remove(&self.aside);
        Ok(())
    }
}

impl Drop for OutFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = remove(&self.made);
        }
    }
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes what is in a folder.
fn clear(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => fs::remove_dir_all(path)?,
            false => fs::remove_file(path)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_appears_whole_and_what_a_killed_merge_left_is_no_obstacle() {
        let project = tempfile::tempdir().unwrap();
        let out = project.path().join("whole");
        let begin = |force| OutFolder::begin(&out, force);
        fs::create_dir(project.path().join("whole.merging")).unwrap();
        fs::write(project.path().join("whole.merging/half"), "x").unwrap();
        let made = begin(false).unwrap();
        assert!(!out.exists() && !made.root().join("half").exists());
        assert!(begin(false).is_err(), "another merge is at work");
        fs::write(made.root().join("tree"), "1").unwrap();
        made.keep().unwrap();
        assert_eq!(files::read_text(out.join("tree")).unwrap(), "1");
        assert!(begin(false).is_err());
        // Nothing is replaced before the end.
        drop(begin(true).unwrap());
        assert!(out.join("tree").exists());
        let made = begin(true).unwrap();
        fs::write(made.root().join("tree"), "2").unwrap();
        made.keep().unwrap();
        assert_eq!(files::read_text(out.join("tree")).unwrap(), "2");
        assert_eq!(fs::read_dir(project.path()).unwrap().count(), 1);
    }
}
