//! The list of a run's files and their paths.

use std::path::Path;

use crate::text::{clean, width};

/// One file or folder of a run.
#[derive(Clone, Copy, Debug)]
pub struct FileEntry<'a> {
    /// The contents, in a word or two.
    pub what: &'a str,
    /// The path.
    pub path: &'a Path,
}

/// One line per file. Paths are never shortened, so that users can copy them.
#[must_use]
pub fn files_list(files: &[FileEntry<'_>]) -> String {
    let names: Vec<String> = files.iter().map(|file| clean(file.what)).collect();
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let mut text = String::new();
    for (name, file) in names.iter().zip(files) {
        let pad = " ".repeat(widest - width(name));
        let path = file.path.display().to_string();
        // White space inside a path is kept. Only characters that could control the terminal are replaced.
        let path: String = path
            .chars()
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .collect();
        text.push_str(&format!("  {name}{pad}  {path}\n"));
    }
    text
}
