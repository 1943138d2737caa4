//! Detects pipes, devices and sockets in the place of files.

use std::{
    fs::{self, Metadata},
    io,
    path::Path,
};

use files::{is_own_stream, special_file};

use crate::{BenchmarkDir, RunError};

/// Checks that a file can replace what is at `path`. The names of streams are links, which a file would replace for every program.
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    let is_stream =
        is_own_stream(path) || path == Path::new("/dev/stdout") || path == Path::new("/dev/stderr");
    let stream = is_stream.then_some("a stream of this program");
    match stream.or_else(|| special(path)) {
        Some(what) => Err(io::Error::other(format!(
            "it links to {what}, which is not replaced by a file"
        ))),
        None => Ok(()),
    }
}

/// Checks the files of a benchmark that people write or programs leave. All of them are read at some point.
pub fn check_tree(dir: &BenchmarkDir) -> Result<(), RunError> {
    const OF_BENCHMARK: [&str; 8] = [
        "benchmark.yaml",
        "scenarios.json",
        "cost.json",
        "results.json",
        "grades.json",
        "statistics.json",
        "standards.json",
        "imported.json",
    ];
    const OF_TARGET: [&str; 6] = [
        "conversations.json",
        "conversations/index.json",
        "scores.json",
        "scores/index.json",
        "labels.json",
        "cost.json",
    ];
    let check = |path: &Path| match special(path) {
        Some(what) => Err(refused(path, &format!("not a file, but {what}"))),
        None => Ok(()),
    };
    for name in OF_BENCHMARK {
        check(&dir.root().join(name))?;
    }
    for prompt in entries(&dir.prompts()) {
        check(&prompt)?;
    }
    for target in entries(&dir.runs()) {
        for name in OF_TARGET {
            check(&target.join(name))?;
        }
    }
    Ok(())
}

fn special(path: &Path) -> Option<&'static str> {
    let metadata: Metadata = fs::metadata(path).ok()?;
    special_file(&metadata)
}

fn refused(path: &Path, reason: &str) -> RunError {
    RunError::input(format!(
        "{}: {reason}. Put a file in its place",
        path.display()
    ))
}

fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
