//! Files replaced as a whole or not at all.

use std::{
    fs,
    io::{self, BufWriter, Write},
    path::Path,
};

use serde::Serialize;
use tempfile::NamedTempFile;

use super::check_replaceable;
use crate::{BenchmarkDir, RunError, segments::ROW_FOLDERS};

/// Removes the unfinished files that killed programs left in a benchmark.
pub fn remove_unfinished(dir: &BenchmarkDir) {
    files::remove_unfinished(dir.root());
    for entry in fs::read_dir(dir.runs()).into_iter().flatten().flatten() {
        let folder = entry.path();
        files::remove_unfinished(&folder);
        for rows in ROW_FOLDERS {
            files::remove_unfinished(&folder.join(rows));
        }
    }
}

/// Replaces the file at `path` with what `write` writes, and returns its result. The old file stays until the new content is completely on disk.
pub fn write_atomically<T>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&mut NamedTempFile>) -> io::Result<T>,
) -> Result<T, RunError> {
    let failed = |error| RunError::write(path, error);
    check_replaceable(path).map_err(failed)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let mut file = files::create_unfinished(folder).map_err(failed)?;
    let mut writer = BufWriter::with_capacity(1 << 16, &mut file);
    let written = write(&mut writer).map_err(failed)?;
    writer.flush().map_err(failed)?;
    drop(writer);
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(written)
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
    let mut file = files::create_unfinished(folder).map_err(failed)?;
    // On a full disk a file can be created, but its content cannot be written.
    file.write_all(&[0; 4096])
        .and_then(|()| file.flush())
        .map_err(failed)
}
