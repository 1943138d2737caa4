//! The list of a run's files and their paths.

use std::path::Path;

use interop::sheet::{Cell, Column, Sheet, Value};

use crate::terminal::sheet_text;

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
    let columns = vec![Column::words(""), Column::words("")];
    let mut sheet = Sheet::new("files", "", columns);
    for file in files {
        let path = file.path.display().to_string();
        // White space inside a path is kept. Only characters that could control the terminal are replaced.
        let shown = path
            .chars()
            .map(|c| if c.is_control() { '\u{fffd}' } else { c });
        let text = Value::Text(shown.collect());
        sheet.row(vec![file.what.into(), Cell::of(text)]);
    }
    sheet_text(&sheet, usize::MAX)
}
