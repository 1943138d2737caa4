//! Result files of safety evaluations that a command line names.

use std::path::PathBuf;

use probity::{SafetySource, read_safety_file};

use crate::exit::{Failure, Problems};

/// Reads the files and calls `then` with their results. All unreadable files are reported.
///
/// # Errors
/// When a file cannot be read; also the errors of `then`.
pub fn with_sources<T>(
    files: &[PathBuf],
    then: impl FnOnce(&[SafetySource<'_>]) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut problems = Problems::default();
    let read: Vec<_> = files
        .iter()
        .filter_map(|path| Some((path, problems.take(read_safety_file(path))?)))
        .collect();
    if !problems.is_empty() {
        return Err(problems.into_failure());
    }
    let sources: Vec<SafetySource<'_>> = read
        .iter()
        .map(|(path, file)| SafetySource {
            path,
            results: &file.results,
        })
        .collect();
    then(&sources)
}
