//! Files for other programs that a flag names, such as `--junit FILE`.

use std::{fs, io, path::Path};

use crate::exit::Failure;

/// Checks before the work starts that the file can be written. `flag`: the flag that names it.
///
/// # Errors
/// The reason why the file cannot be written.
pub fn check(flag: &str, path: &Path) -> Result<(), Failure> {
    let refused = |reason: &str| Failure::usage(format!("{flag} {}: {reason}", path.display()));
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    if path.is_dir() || path.file_name().is_none() {
        return Err(refused("this is a folder; name a file to write"));
    }
    let there = fs::metadata(path).ok();
    if let Some(what) = there.as_ref().and_then(files::special_file) {
        return Err(refused(&format!(
            "it links to {what}; name a file to write"
        )));
    }
    if !folder.is_dir() {
        let reason = format!("cannot be written: no such folder: {}", folder.display());
        return Err(refused(&reason));
    }
    let is_new = !path.exists();
    let tried = fs::OpenOptions::new().append(true).create(true).open(path);
    tried.map_err(|error| refused(&format!("cannot be written: {error}")))?;
    if is_new {
        // A command that does not start leaves no file.
        let _ = fs::remove_file(path);
    }
    Ok(())
}

/// The error of a file that could not be written at the end.
pub fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::nothing_ran(format!("{}: cannot be written: {error}", path.display()))
}
