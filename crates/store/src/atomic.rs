//! Files replaced as a whole or not at all.

use std::{
    fs,
    io::{self, BufWriter, Write},
    path::Path,
};

use serde::Serialize;
use tempfile::NamedTempFile;

use super::check_replaceable;
use crate::{BenchmarkDir, RunError, labels::LabelLock};

/// Prefix and suffix of the names of unfinished files.
const PREFIX: &str = ".probity-";
const SUFFIX: &str = ".tmp";

/// Removes the unfinished files that killed runs left in a benchmark. The caller holds the tree's lock. If another program is
/// writing labels at that moment, the folders of targets are skipped.
pub fn remove_unfinished(dir: &BenchmarkDir) {
    remove_unfinished_in(dir.root());
    if let Ok(_lock) = LabelLock::take(dir) {
        for entry in fs::read_dir(dir.runs()).into_iter().flatten().flatten() {
            remove_unfinished_in(&entry.path());
        }
    }
}

fn remove_unfinished_in(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(PREFIX) && name.ends_with(SUFFIX) {
            // A file that cannot be removed does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Replaces the file at `path` with what `write` writes. The old file stays until the new content is completely on disk.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&mut NamedTempFile>) -> io::Result<()>,
) -> Result<(), RunError> {
    let failed = |error| RunError::write(path, error);
    check_replaceable(path).map_err(failed)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        // A temporary file is private by default; a result is readable as the user's umask allows.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder).map_err(failed)?;
    let mut writer = BufWriter::with_capacity(1 << 16, &mut file);
    write(&mut writer).map_err(failed)?;
    writer.flush().map_err(failed)?;
    drop(writer);
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Replaces the file at `path` with `value` as indented JSON with a final line break.
pub fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), RunError> {
    write_atomically(path, |writer| {
        serde_json::to_writer_pretty(&mut *writer, value)?;
        writer.write_all(b"\n")
    })
}

/// Checks that files can be created in `folder`. The folder is created if it is missing.
pub fn check_writable(folder: &Path) -> Result<(), RunError> {
    let failed = |error| RunError::write(folder, error);
    fs::create_dir_all(folder).map_err(failed)?;
    let mut file = tempfile::Builder::new()
        .prefix(PREFIX)
        .suffix(SUFFIX)
        .tempfile_in(folder)
        .map_err(failed)?;
    // On a full disk a file can be created, but its content cannot be written.
    file.write_all(&[0; 4096])
        .and_then(|()| file.flush())
        .map_err(failed)
}
