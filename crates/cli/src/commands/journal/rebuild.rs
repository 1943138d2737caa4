//! `journal rebuild`: restores a benchmark's files from its journal.

use std::path::Path;

use super::{super::Context, JournalSelection, find, page::Page};
use crate::exit::{Exit, Failure};

/// Writes the files and prints their names.
///
/// # Errors
/// When there is no such journal, it lacks required data, or `out` is not empty.
pub fn run(context: &Context, selection: &JournalSelection, out: &Path) -> Result<Exit, Failure> {
    let path = find::journal(context, selection)?;
    let rebuilt = probity::rebuild(&path, out)?;
    for note in &rebuilt.notes {
        context.terminal.note(note);
    }
    if rebuilt.files.is_empty() {
        context.terminal.warning(&format!(
            "{}: the journal holds no whole row, so nothing was written",
            path.display()
        ));
    }
    let mut page = Page::new();
    for file in &rebuilt.files {
        page.write(format!("{}\n", file.display()).as_bytes())?;
    }
    page.flush()?;
    Ok(Exit::Complete)
}
