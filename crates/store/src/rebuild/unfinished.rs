//! Files that appear when all of them are complete, or not at all.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Component, Path, PathBuf},
};

use tempfile::TempDir;

use crate::RunError;

/// Prefix of the folder in which files are created.
const PREFIX: &str = ".rebuild-";

/// Its file that lists the names of the files being moved, from before the first move. It identifies a rebuild that was killed meanwhile.
const MOVING: &str = "moving.json";

/// A folder in which files are created before they are moved to `out`. If it is dropped before [`Unfinished::keep`], it leaves nothing.
/// Leftovers of a killed rebuild are removed when another rebuild into the same folder starts.
pub(super) struct Unfinished<'o> {
    // Dropped before `out`, the folder that contains it.
    made: TempDir,
    out: Out<'o>,
    _lock: Option<File>,
}

/// The destination of the files.
struct Out<'o> {
    path: &'o Path,
    /// Whether the folder was created for the files. If so, it is removed if it stays empty.
    is_new: bool,
}

impl Drop for Out<'_> {
    fn drop(&mut self) {
        if self.is_new {
            // A folder with files in it stays.
            let _ = fs::remove_dir(self.path);
        }
    }
}

impl<'o> Unfinished<'o> {
    /// Starts writing files for `out`. The folder is created if it is missing, and must be empty.
    pub(super) fn begin(path: &'o Path) -> Result<Self, RunError> {
        let failed = |error| RunError::write(path, error);
        let refused = |what: &str| RunError::input(format!("{}: {what}", path.display()));
        let out = Out {
            path,
            is_new: !path.exists(),
        };
        if !out.is_new && !path.is_dir() {
            return Err(refused("this is no folder"));
        }
        fs::create_dir_all(path).map_err(failed)?;
        let lock = lock(path)?;
        clear(path).map_err(failed)?;
        if fs::read_dir(path).map_err(failed)?.next().is_some() {
            return Err(refused(
                "the folder is not empty, and nothing in it is overwritten. Name another one",
            ));
        }
        let made = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(path)
            .map_err(failed)?;
        Ok(Self {
            made,
            out,
            _lock: lock,
        })
    }

    /// The folder in which the files are created.
    pub(super) fn root(&self) -> &Path {
        self.made.path()
    }

    /// Moves `files` to their places, and updates their paths in the list.
    pub(super) fn keep(self, files: &mut [PathBuf]) -> Result<(), RunError> {
        let names: Vec<&Path> = files
            .iter()
            .filter_map(|file| file.strip_prefix(self.root()).ok())
            .collect();
        let list = self.root().join(MOVING);
        let failed = |error| RunError::write(&list, error);
        let text = serde_json::to_vec(&names).map_err(|error| failed(error.into()))?;
        fs::write(&list, text).map_err(failed)?;
        for file in files {
            let Ok(name) = file.strip_prefix(self.root()) else {
                continue;
            };
            let place = self.out.path.join(name);
            let failed = |error| RunError::write(&place, error);
            if let Some(folder) = place.parent() {
                fs::create_dir_all(folder).map_err(failed)?;
            }
            fs::rename(&*file, &place).map_err(failed)?;
            *file = place;
        }
        Ok(())
    }
}

/// Locks the folder for one rebuild. The system frees the lock when the process ends, however it ends. `None` if folders cannot be locked.
fn lock(path: &Path) -> Result<Option<File>, RunError> {
    let Ok(folder) = files::open(path) else {
        return Ok(None);
    };
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(TryLockError::WouldBlock) => Err(RunError::busy(format!(
            "another rebuild is at work in {}. Wait for it to end, or name another folder",
            path.display()
        ))),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// Removes what killed rebuilds left in `out`: the folders of their unfinished files, and finished files that were already moved.
fn clear(out: &Path) -> io::Result<()> {
    for entry in fs::read_dir(out)? {
        let entry = entry?;
        let is_left = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if !is_left || !entry.file_type()?.is_dir() {
            continue;
        }
        let list = files::read(entry.path().join(MOVING)).unwrap_or_default();
        let names: Vec<PathBuf> = serde_json::from_slice(&list).unwrap_or_default();
        let is_inside = |name: &&PathBuf| {
            let mut parts = name.components();
            parts.all(|part| matches!(part, Component::Normal(_)))
        };
        for name in names.iter().filter(is_inside) {
            let place = out.join(name);
            match fs::remove_file(&place) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            // Removes folders that are empty now; others stay.
            let folders = place.ancestors().skip(1);
            for folder in folders.take_while(|folder| *folder != out) {
                let _ = fs::remove_dir(folder);
            }
        }
        fs::remove_dir_all(entry.path())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(out: &Path, names: &[&str]) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let unfinished = Unfinished::begin(out).unwrap();
        for name in names {
            let file = unfinished.root().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "[]").unwrap();
            files.push(file);
        }
        unfinished.keep(&mut files).unwrap();
        files
    }

    #[test]
    fn a_rebuild_that_was_killed_while_files_got_their_places_is_no_obstacle() {
        let project = tempfile::tempdir().unwrap();
        let out = project.path().join("out");
        let names = ["runs/a/scores.json", "results.json"];
        made(&out, &names);
        // As it stood before the last file was moved and the folder removed.
        let left = out.join(".rebuild-x");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(MOVING), serde_json::to_vec(&names).unwrap()).unwrap();
        fs::rename(out.join("results.json"), left.join("results.json")).unwrap();
        let files = made(&out, &["results.json"]);
        assert_eq!(files, [out.join("results.json")]);
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    }

    #[test]
    fn files_of_ones_own_are_neither_removed_nor_overwritten() {
        let project = tempfile::tempdir().unwrap();
        let out = project.path().join("out");
        let left = out.join(".rebuild-x");
        fs::create_dir_all(&left).unwrap();
        fs::write(
            left.join(MOVING),
            r#"["../mine", "/etc/none", "cost.json"]"#,
        )
        .unwrap();
        fs::write(project.path().join("mine"), "mine").unwrap();
        fs::write(out.join("mine"), "mine").unwrap();
        let error = Unfinished::begin(&out).err().unwrap().to_string();
        assert!(error.contains("the folder is not empty"), "{error}");
        assert!(project.path().join("mine").exists() && out.join("mine").exists());
        assert!(!left.exists());
    }

    #[test]
    fn two_rebuilds_at_once_do_not_mix() {
        let project = tempfile::tempdir().unwrap();
        let first = Unfinished::begin(project.path()).unwrap();
        let error = Unfinished::begin(project.path()).err().unwrap();
        assert!(error.to_string().contains("another rebuild is at work"));
        assert!(first.root().exists());
    }
}
