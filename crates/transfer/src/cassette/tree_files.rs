//! The files of a benchmark's folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use store::{BenchmarkDir, is_segment_folder, plain_path};

use super::archive::digest;

/// A file below the folder of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// Its path below the folder of benchmarks, with `/`: `honesty/runs/gpt/scores.json`.
    pub name: String,
    /// Where it is. Of rows that are segments this is their index.
    pub path: PathBuf,
}

impl TreeFile {
    /// The SHA-256 of its content, in hexadecimal.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn digest(&self) -> io::Result<String> {
        digest(&self.path)
    }
}

/// The files in the folder of `dir`, in order. Rows that are segments are one file, as they are without segments. Left out are the report, which names the run that wrote it, files whose name begins with a
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
        if kind.is_dir() && is_segment_folder(&entry.path()) {
            let index = entry.path().join("index.json");
            // Otherwise a killed run left it, and it does not count.
            if index.is_file() && !plain_path(&index).exists() {
                found.push(TreeFile {
                    name: format!("{name}.json"),
                    path: index,
                });
            }
        } else if kind.is_dir() {
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
