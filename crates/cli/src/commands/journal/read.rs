//! Reads a journal from start to end, and reports its errors.

use std::{ops::ControlFlow, path::Path};

use journal::{JournalReader, Line};
use schema::{EventKind, numbers::grouped};

use crate::{exit::Failure, terminal::Terminal};

/// Passes every line of the journal to `take` until `take` breaks. Lines that are not events are skipped and reported. A
/// journal that is cut off, or contains several runs, is also reported: `take` gets the lines of all runs.
///
/// # Errors
/// When the file is not a journal or cannot be read to the end; also the errors of `take`.
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
                runs += u64::from(begins_run(&line));
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
            1 => format!("{error}; the line is skipped"),
            n => format!(
                "{error}; {} lines are not events and are skipped",
                grouped(n)
            ),
        }),
        _ => {}
    }
    if runs > 1 {
        terminal.warning(&format!(
            "{}: the file holds {} runs, and this covers all of them together; split the file to see each",
            path.display(),
            grouped(runs)
        ));
    }
    match (read, reader.cut_off()) {
        (0, None) => Err(Failure::usage(format!("{}: no events", path.display()))),
        (0, Some(cut_off)) => Err(Failure::usage(format!("{}: {cut_off}", path.display()))),
        (_, Some(cut_off)) => {
            terminal.warning(&format!("{}: {cut_off}", path.display()));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Whether a run begins with this line, and the journal's figures with it.
fn begins_run(line: &Line<'_>) -> bool {
    matches!(
        EventKind::of(&line.message),
        Some(EventKind::StartingRun | EventKind::StartingCalibrationRun)
    )
}
