//! A folder of results that gets its name when it is complete.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use store::RunError;

/// A folder beside `out` in which results are made. Dropped before [`OutFolder::keep`], it leaves nothing; what a killed process left is removed
/// by the next one that makes the same folder.
#[derive(Debug)]
pub struct OutFolder {
    made: PathBuf,
    /// The folder that is replaced, while it is.
    aside: PathBuf,
    out: PathBuf,
    replaces: bool,
    is_kept: bool,
    /// Held while the results are made.
    _lock: Option<File>,
}

impl OutFolder {
    /// Begins the folder `OUT.WORK`, such as `out.merging`. [`OutFolder::keep`] fails where `out` exists, unless it `replaces` it.
    ///
    /// # Errors
    /// When `out` has no name, another process makes it, or the folder cannot be created.
    pub fn begin(out: &Path, work: &str, replaces: bool) -> Result<Self, RunError> {
        let Some(name) = out.file_name() else {
            let text = format!("{}: name a folder that does not exist yet", out.display());
            return Err(RunError::input(text));
        };
        let beside = |end: &str| {
            let mut name = name.to_owned();
            name.push(".");
            name.push(end);
            out.with_file_name(name)
        };
        let (made, aside) = (beside(work), beside("replaced"));
        if replaces && !out.exists() && aside.exists() {
            // A process was killed after it put the old folder aside.
            fs::rename(&aside, out).map_err(|error| RunError::write(out, error))?;
        }
        let failed = |error| RunError::write(&made, error);
        // Held from here on: a lock on a folder is not possible everywhere.
        fs::create_dir_all(&made).map_err(failed)?;
        let lock = files::open(&made).ok();
        if let Some(Err(fs::TryLockError::WouldBlock)) = lock.as_ref().map(File::try_lock) {
            return Err(RunError::busy(format!(
                "another process is {work} in {}. Wait for it to end, or name another folder",
                made.display()
            )));
        }
        clear(&made).map_err(failed)?;
        Ok(Self {
            made,
            aside,
            out: out.to_owned(),
            replaces,
            is_kept: false,
            _lock: lock,
        })
    }

    /// The folder in which the results are made.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.made
    }

    /// Gives the folder its name.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn keep(mut self) -> Result<(), RunError> {
        let failed = |error| RunError::write(&self.out, error);
        if self.replaces && self.out.exists() {
            remove(&self.aside).map_err(failed)?;
            fs::rename(&self.out, &self.aside).map_err(failed)?;
        }
        fs::rename(&self.made, &self.out).map_err(failed)?;
        self.is_kept = true;
        if self.replaces {
            // The work is done: a rest that cannot be removed does no harm.
            let _ = remove(&self.aside);
        }
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
    fn a_folder_appears_whole_and_what_a_killed_process_left_is_no_obstacle() {
        let project = tempfile::tempdir().unwrap();
        let out = project.path().join("whole");
        let begin = |replaces| OutFolder::begin(&out, "merging", replaces);
        fs::create_dir(project.path().join("whole.merging")).unwrap();
        fs::write(project.path().join("whole.merging/half"), "x").unwrap();
        let made = begin(false).unwrap();
        assert!(!out.exists() && !made.root().join("half").exists());
        assert!(begin(false).is_err(), "another process is merging");
        fs::write(made.root().join("tree"), "1").unwrap();
        made.keep().unwrap();
        assert_eq!(files::read_text(out.join("tree")).unwrap(), "1");
        let made = begin(false).unwrap();
        fs::write(made.root().join("tree"), "2").unwrap();
        assert!(made.keep().is_err());
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
