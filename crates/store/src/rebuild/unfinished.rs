//! Files that appear when all of them are whole, or not at all.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Component, Path, PathBuf},
};

use tempfile::TempDir;

use crate::RunError;

/// How the folder is called in which files are made.
const PREFIX: &str = ".rebuild-";

/// In it: the names of the files that get their places, from when the first of them does. A rebuild that was killed meanwhile is known by it.
const MOVING: &str = "moving.json";

/// A folder in which files are made before they get their place in `out`. Dropped before [`Unfinished::keep`], it leaves nothing. What a
/// killed rebuild left is cleared away when another one into the same folder begins.
pub(super) struct Unfinished<'o> {
    // The folder goes before `out`, which it lies in.
    made: TempDir,
    out: Out<'o>,
    _lock: Option<File>,
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
    /// Begins files of `out`, which is made where it is not there, and must be empty.
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

    /// Where the files are made.
    pub(super) fn root(&self) -> &Path {
        self.made.path()
    }

    /// Assigns `files` their places, and their names in the list.
    pub(super) fn keep(self, files: &mut [PathBuf]) -> Result<(), RunError> {
        let names = files
            .iter()
            .filter_map(|file| file.strip_prefix(self.root()).ok());
        let names: Vec<&Path> = names.collect();
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

/// Locks the folder for one rebuild. The system frees the lock when the process ends, however it ends. `None` where folders cannot be locked.
fn lock(path: &Path) -> Result<Option<File>, RunError> {
    let Ok(folder) = File::open(path) else {
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

/// Removes what killed rebuilds left in `out`: the folders of their unfinished files, and the finished ones that had their places already.
fn clear(out: &Path) -> io::Result<()> {
    for entry in fs::read_dir(out)? {
        let entry = entry?;
        let is_left = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if !is_left || !entry.file_type()?.is_dir() {
            continue;
        }
        let list = fs::read(entry.path().join(MOVING)).unwrap_or_default();
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
            // Folders that are empty now: one that is not stays.
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
        let ground = tempfile::tempdir().unwrap();
        let out = ground.path().join("out");
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
        let ground = tempfile::tempdir().unwrap();
        let out = ground.path().join("out");
        let left = out.join(".rebuild-x");
        fs::create_dir_all(&left).unwrap();
        fs::write(
            left.join(MOVING),
            r#"["../mine", "/etc/none", "cost.json"]"#,
        )
        .unwrap();
        fs::write(ground.path().join("mine"), "mine").unwrap();
        fs::write(out.join("mine"), "mine").unwrap();
        let error = Unfinished::begin(&out).err().unwrap().to_string();
        assert!(error.contains("the folder is not empty"), "{error}");
        assert!(ground.path().join("mine").exists() && out.join("mine").exists());
        assert!(!left.exists());
    }

    #[test]
    fn two_rebuilds_at_once_do_not_mix() {
        let ground = tempfile::tempdir().unwrap();
        let first = Unfinished::begin(ground.path()).unwrap();
        let error = Unfinished::begin(ground.path()).err().unwrap();
        assert!(error.to_string().contains("another rebuild is at work"));
        assert!(first.root().exists());
    }
}
