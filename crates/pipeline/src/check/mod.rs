//! Checks a journal, alone and against the benchmark tree that it tells of.

mod items;
mod rules;

use std::path::Path;

use journal::{
    JournalReader,
    check::{Report, Verdict},
};

use self::{items::Told, rules::Rules};
use crate::layout::{BenchmarkDir, Layout};

/// Checks the journal at `journal` against the rules of journals and, where `layout` holds the benchmark that it tells of, against
/// that benchmark's files.
///
/// The files are those of the latest run: an older journal of the same benchmark does not fit them any more wherever a later run
/// gave other rows.
///
/// ```no_run
/// use journal::check::Verdict;
/// use pipeline::Layout;
///
/// let report = pipeline::check_journal("journal.jsonl".as_ref(), Some(&Layout::new("benchmarks")));
/// assert_eq!(report.verdict(), Verdict::Passed);
/// ```
#[must_use]
pub fn check_journal(journal: &Path, layout: Option<&Layout>) -> Report {
    let mut report = journal::check::check(journal);
    let folder = layout.and_then(|layout| {
        let dir = layout.benchmark(&folder_of(journal)?).ok()?;
        dir.root().exists().then_some(dir)
    });
    if let Some(dir) = folder {
        check_tree(journal, &dir, &mut report);
    }
    report
}

/// Adds the rules that hold between the journal at `journal` and the files of `dir` to `report`.
///
/// - `ScoreRowsHaveExchanges`: every row of `scores.json` has its item, a reply of the system under test, a verdict of its judge, and
///   the tokens and dollars of its calls.
/// - `ConversationsHaveExchanges`: every row of `conversations.json` has a reply for each message of the system under test, and the
///   tokens and dollars of its calls.
/// - `CostsAreSumsOfCalls`: the entries of each `cost.json` that the run wrote are the sums of its calls.
/// - `ResultsCountItems`: the counts of `results.json` are those of the items measured.
///
/// Only systems under test whose rows the run wrote are looked at. A journal that is not checkable gets no rules. Both are read row by
/// row; memory holds about a hundred bytes for each item.
pub fn check_tree(journal: &Path, dir: &BenchmarkDir, report: &mut Report) {
    if matches!(report.verdict(), Verdict::NotCheckable(_)) {
        return;
    }
    match Told::read(journal) {
        Ok(told) => {
            for row in Rules::new(told, dir).check() {
                report.push(row);
            }
        }
        Err(reason) => report.set_not_checkable(reason),
    }
}

/// The benchmark's folder as the run named it.
fn folder_of(journal: &Path) -> Option<String> {
    let mut reader = JournalReader::open(journal).ok()?;
    while let Some(line) = reader.next_line() {
        let line = line.ok()?;
        if line.message.starts_with("starting ") && line.message.ends_with(" run") {
            return line.text("folder").map(std::borrow::Cow::into_owned);
        }
    }
    None
}
