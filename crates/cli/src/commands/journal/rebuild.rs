//! `journal rebuild`: restores a benchmark's files from its journal.

use std::path::{Path, PathBuf};

use clap::Args;
use journal::check::{Outcome, Verdict};
use probity::Rebuilt;
use schema::text::counted;

use super::{super::Context, JournalSelection, find, page::Page};
use crate::exit::{Exit, Failure};

/// Write conversations, scores, cost and results from a journal alone
///
/// Checks the journal first, and says what it could not restore.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Exit codes: 0 nothing is known to be missing, 1 not everything could be restored, 2 nothing can be rebuilt."
)]
pub struct RebuildArgs {
    /// Which journal.
    #[command(flatten)]
    selection: JournalSelection,
    /// The folder to write to: empty, or new
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes the files and prints their names. Warns of what could not be restored.
///
/// # Errors
/// When there is no such journal, it lacks required data, or the folder is not empty.
pub fn run(context: &Context, args: &RebuildArgs) -> Result<Exit, Failure> {
    let path = find::journal(context, &args.selection)?;
    let rebuilt = probity::rebuild(&path, &args.out)?;
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
    report_problems(context, &path, &rebuilt);
    Ok(match rebuilt.is_whole() {
        true => Exit::Complete,
        false => Exit::FailedRows,
    })
}

fn report_problems(context: &Context, path: &Path, rebuilt: &Rebuilt) {
    match rebuilt.check.verdict() {
        Verdict::Passed => {}
        Verdict::NotCheckable(reason) => context.terminal.note(&format!(
            "{}: the rules of journals cannot be checked: {}",
            path.display(),
            reason.reason
        )),
        Verdict::Failed => {
            let rows = rebuilt.check.rows.iter();
            let failed = rows.filter(|row| row.outcome == Outcome::Failed);
            let rules: Vec<String> = failed
                .map(|row| {
                    let failures = counted(row.failed, "failure", "failures");
                    format!("{} ({failures})", row.rule)
                })
                .collect();
            context.terminal.warning(&format!(
                "{}: the journal fails {}\nhelp: `{} journal check {}` lists the items",
                path.display(),
                rules.join(", "),
                context.program.start(),
                path.display()
            ));
        }
    }
    if rebuilt.problems.is_empty() {
        return;
    }
    let problems: Vec<&str> = rebuilt.problems.iter().map(String::as_str).collect();
    context.terminal.warning(&format!(
        "{}: not everything could be restored:\n{}",
        path.display(),
        problems.join("\n")
    ));
}
