//! The files of a benchmark's folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use store::BenchmarkDir;

/// A file below the folder of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// Its path below the folder of benchmarks, with `/`: `honesty/runs/gpt/scores.json`.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// The files in the folder of `dir`, in order. Left out are the report, which names the run that wrote it, files whose name begins with a
/// dot, and whatever is neither file nor folder.
///
/// # Errors
/// When a folder cannot be read.
pub fn tree_files(dir: &BenchmarkDir) -> io::Result<Vec<TreeFile>> {
    let mut found = Vec::new();
    add(dir.root(), dir.name(), &mut found)?;
    let report = dir.report();
    found.retain(|file| file.path != report);
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn add(folder: &Path, name: &str, found: &mut Vec<TreeFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Some(own) = entry.file_name().to_str().map(str::to_owned) else {
            continue;
        };
        if own.starts_with('.') {
            continue;
        }
        let name = format!("{name}/{own}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            add(&entry.path(), &name, found)?;
        } else if kind.is_file() {
            found.push(TreeFile {
                name,
                path: entry.path(),
            });
        }
    }
    Ok(())
}
