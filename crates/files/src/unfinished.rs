//! Files that get their name when they are complete, and what killed programs leave of them.

use std::{fs, io, path::Path};

use tempfile::NamedTempFile;

use crate::open;

/// Prefix and suffix of the names of unfinished files.
const NAME: (&str, &str) = (".probity-", ".tmp");
/// Those of earlier versions' exports.
const EARLIER: (&str, &str) = (".export-", ".part");
/// How often another program may take a new file for one that was left behind, before its lock is taken.
const TRIES: usize = 20;

/// Creates a file in `folder` that gets its name later, by [`NamedTempFile::persist`]. It is removed when it is dropped before.
///
/// It is locked as long as it is open, so that files without a lock are those of killed programs: they are removed here.
///
/// # Errors
/// When it cannot be created.
pub fn create_unfinished(folder: &Path) -> io::Result<NamedTempFile> {
    remove_unfinished(folder);
    let mut builder = tempfile::Builder::new();
    builder.prefix(NAME.0).suffix(NAME.1);
    #[cfg(unix)]
    {
        // A temporary file is private by default; a result is readable as the user's umask allows.
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut made = builder.tempfile_in(folder)?;
    for _ in 0..TRIES {
        // If the file system has no locks, no file is taken for one that was left behind.
        let _ = made.as_file().lock();
        if made.path().exists() {
            break;
        }
        made = builder.tempfile_in(folder)?;
    }
    Ok(made)
}

/// Removes the unfinished files of killed programs in `folder`. Empty, as the parent of a mere name is, it is the current folder.
pub fn remove_unfinished(folder: &Path) {
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let file_name = entry.file_name();
        let name = file_name.to_string_lossy();
        let is_named = |(prefix, suffix)| name.starts_with(prefix) && name.ends_with(suffix);
        if (is_named(NAME) || is_named(EARLIER))
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && let Ok(file) = open(entry.path())
            && file.try_lock().is_ok()
        {
            // A file that cannot be removed does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_killed_programs_left_is_removed_and_what_is_being_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in [
            ".probity-a1b2.tmp",
            ".export-a1b2.part",
            ".probity-notes",
            "a.tmp",
        ] {
            fs::write(path(name), "x").unwrap();
        }
        let first = create_unfinished(folder.path()).unwrap();
        let second = create_unfinished(folder.path()).unwrap();
        assert!(first.path().exists());
        assert!(!path(".probity-a1b2.tmp").exists());
        assert!(!path(".export-a1b2.part").exists());
        assert!(path(".probity-notes").exists());
        assert!(path("a.tmp").exists());
        second.persist(path("result")).unwrap();
        drop(first);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn programs_at_the_same_time_do_not_remove_each_others_files() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let folder = folder.path();
                scope.spawn(move || {
                    for number in 0..40 {
                        let file = create_unfinished(folder).unwrap();
                        let name = format!("{writer}-{number}");
                        file.persist(folder.join(name)).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 8 * 40);
    }
}
