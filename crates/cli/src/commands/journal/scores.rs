//! `journal scores`: the scores as CSV.

use std::ops::ControlFlow;

use clap::Args;
use journal::{ScoreRow, Scores};

use super::{super::Context, JournalSelection, find, page::Page, read};
use crate::exit::{Exit, Failure};

/// Print the scores of hazards, tests and benchmarks as CSV
#[derive(Clone, Debug, Args)]
pub struct ScoresArgs {
    /// Which journal.
    #[command(flatten)]
    selection: JournalSelection,
}

/// Prints the scores as CSV, with a header.
///
/// # Errors
/// When there is no such journal.
pub fn run(context: &Context, args: &ScoresArgs) -> Result<Exit, Failure> {
    let path = find::newest_journal(context, &args.selection)?;
    let mut scores = Scores::default();
    read::lines(&context.terminal, &path, |line| {
        scores.push(line);
        Ok(ControlFlow::Continue(()))
    })?;
    let rows = scores.finish();
    if rows.is_empty() {
        context.terminal.note(&format!(
            "{}: no scores in the journal: its run ended before scoring, or its program records none",
            path.display()
        ));
    }
    let mut table = csv::WriterBuilder::new()
        .has_headers(false)
        .from_writer(Vec::new());
    // The header is printed even without rows.
    let text = table
        .write_record(ScoreRow::COLUMNS)
        .and_then(|()| rows.iter().try_for_each(|row| table.serialize(row)))
        .map_err(|error| error.to_string())
        .and_then(|()| table.into_inner().map_err(|error| error.to_string()))
        .map_err(|error| Failure::nothing_ran(format!("the scores cannot be written: {error}")))?;
    let mut page = Page::new();
    page.write(&text)?;
    page.flush()?;
    Ok(Exit::Complete)
}
