//! `journal rebuild`: a benchmark's files from its journal.

use std::{fs, io, path::Path};

use super::{super::Context, Which, find, page::Page};
use crate::exit::{Exit, Failure};

/// Writes the files and prints their names.
///
/// # Errors
/// When there is no such journal, it does not hold what is needed, or `out` is not empty.
pub fn run(context: &Context, which: &Which, out: &Path) -> Result<Exit, Failure> {
    let path = find::journal(context, which)?;
    check_empty(out)?;
    let rebuilt = pipeline::rebuild(&path, out)?;
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

/// Nothing that is there is overwritten.
fn check_empty(out: &Path) -> Result<(), Failure> {
    let fault = match fs::read_dir(out).map(|mut entries| entries.next().is_none()) {
        Ok(true) => return Ok(()),
        Ok(false) => {
            "the folder is not empty, and nothing in it is overwritten. Name another one".to_owned()
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            "this is no folder".to_owned()
        }
        Err(error) => format!("the folder cannot be used: {error}"),
    };
    Err(Failure::usage(format!("{}: {fault}", out.display())))
}
