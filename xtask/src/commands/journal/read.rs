//! Reading a journal from its start to its end, and telling what is wrong with it.

use std::{ops::ControlFlow, path::Path};

use journal::{JournalReader, Line};

use crate::{exit::Failure, terminal::Terminal};

/// What a run begins with, and with it a journal's figures.
const STARTS: [&str; 2] = ["starting run", "starting calibration run"];

/// Gives every line of the journal to `take` until that breaks off. Lines that are no events are left out and told of, as
/// is a journal that is cut off, and one that holds several runs: `take` gets the lines of all.
///
/// # Errors
/// When the file is no journal or cannot be read on, and those of `take`.
pub fn lines(
    terminal: &Terminal,
    path: &Path,
    mut take: impl FnMut(&Line<'_>) -> Result<ControlFlow<()>, Failure>,
) -> Result<(), Failure> {
    let unusable = |error: journal::ReadError| Failure::usage(error.to_string());
    let mut reader = JournalReader::open(path).map_err(unusable)?;
    let mut read = 0_u64;
    let mut runs = 0_u64;
    let mut bad = 0_u64;
    let mut first_bad = None;
    while let Some(line) = reader.next_line() {
        match line {
            Ok(line) => {
                read += 1;
                runs += u64::from(STARTS.contains(&&*line.message));
                if take(&line)?.is_break() {
                    return Ok(());
                }
            }
            Err(error) if error.is_one_line() => {
                bad += 1;
                first_bad.get_or_insert(error);
            }
            Err(error) => return Err(unusable(error)),
        }
    }
    match (read, first_bad) {
        (0, Some(error)) => return Err(unusable(error)),
        (_, Some(error)) => terminal.warning(&match bad {
            1 => format!("{error}. The line is left out"),
            n => format!("{error}. {n} lines are no events and are left out"),
        }),
        _ => {}
    }
    if runs > 1 {
        terminal.warning(&format!(
            "{}: there are {runs} runs in it. What is told here is of all of them together; a file for each tells them apart",
            path.display()
        ));
    }
    match (read, reader.tear()) {
        (0, None) => Err(Failure::usage(format!(
            "{}: there is no event in it",
            path.display()
        ))),
        (0, Some(tear)) => Err(Failure::usage(format!("{}: {tear}", path.display()))),
        (_, Some(tear)) => {
            terminal.warning(&format!("{}: {tear}", path.display()));
            Ok(())
        }
        _ => Ok(()),
    }
}
