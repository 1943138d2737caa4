//! The viewer's temporary folder, and the removal of folders that killed viewers left.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use tempfile::TempDir;

const PREFIX: &str = "probity-view-";
/// The file that a viewer holds locked in its folder. The system frees it when the process ends, however it ends.
const LOCK: &str = "lock";

/// A temporary folder. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Temporary {
    folder: TempDir,
    _lock: File,
}

impl Temporary {
    /// Creates a folder. Removes the folders of viewers that ended without removing them, because they hold copies of conversations.
    ///
    /// # Errors
    /// When there is no room for temporary files.
    pub(super) fn new() -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir())
    }

    fn new_in(parent: &Path) -> io::Result<Self> {
        remove_left(parent);
        let folder = TempDir::with_prefix_in(PREFIX, parent)?;
        let lock = File::create(folder.path().join(LOCK))?;
        lock.lock()?;
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    /// The path of the folder.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders whose lock no process holds. A folder that cannot be removed is another user's.
fn remove_left(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_folder || !name.to_str().is_some_and(|name| name.starts_with(PREFIX)) {
            continue;
        }
        let lock = files::open(entry.path().join(LOCK));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_that_nobody_uses_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let used = Temporary::new_in(parent.path()).unwrap();
        for left in ["probity-view-left", "probity-other"] {
            let left = parent.path().join(left);
            fs::create_dir(&left).unwrap();
            fs::write(left.join(LOCK), "").unwrap();
            fs::write(left.join("conversations.json"), "[]").unwrap();
        }
        let new = Temporary::new_in(parent.path()).unwrap();
        assert!(used.path().exists() && new.path().exists());
        assert!(!parent.path().join("probity-view-left").exists());
        assert!(parent.path().join("probity-other").exists());
        drop((used, new));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
    }
}
