//! Checks a journal, alone and against the benchmark tree of its run.

mod exclusions;
mod record;
mod recorded_items;
mod results;
mod rules;

use std::path::Path;

use journal::{
    JournalReader, JournalVisitor, Replay,
    check::{Checker, Report, Verdict},
};
use schema::{EventBody, EventKind, text::counted};

use self::{
    exclusions::Exclusions,
    record::JournalRecord,
    rules::{Compared, Rules},
};
use crate::{BenchmarkDir, Layout, find_journal, item_table::TableBuilder};

/// Checks the journal at `journal` against the rules of journals and, if `layout` holds the benchmark of its run, against that
/// benchmark's files.
///
/// Each file comes from the run that wrote it last. Where the files do not fit this journal, two parts are left out: what a later run
/// of the same benchmark wrote (its journal is in the records of `layout`), and a system under test if most of its conversations
/// differ from the journal. In the latter case the tree belongs to other runs, or to another folder of benchmarks. The notes of the
/// report list both.
///
/// ```no_run
/// use journal::check::Verdict;
/// use store::Layout;
///
/// let report = store::check::check_journal("journal.jsonl".as_ref(), Some(&Layout::new("benchmarks")));
/// assert_eq!(report.verdict(), Verdict::Passed);
/// ```
#[must_use]
pub fn check_journal(journal: &Path, layout: Option<&Layout>) -> Report {
    let dir = layout.and_then(|layout| {
        let dir = layout.benchmark(&journal_benchmark(journal)?).ok()?;
        dir.root().exists().then_some((layout, dir))
    });
    let Some((layout, dir)) = dir else {
        let mut report = journal::check::check(journal);
        note_kept(journal, &mut report);
        return report;
    };
    let (mut report, record) = read_once(journal, None, None);
    note_kept(journal, &mut report);
    compare(record, &mut report, |record, report| {
        let compared = Rules::new(record, &dir, &Exclusions::default()).check();
        if !compared.failed() {
            return compared;
        }
        let excluded = Exclusions::of(record, layout, &dir, report.run_id.as_deref());
        report.notes.extend(excluded.notes());
        Rules::new(record, &dir, &excluded).check()
    });
    report
}

/// Checks the journal of a run that has just ended: against the rules of journals, and with `dir` against the files that the run has written
/// there. The journal is read once, also for `visitor`. With `dir`, the table of its items is written beside it: see
/// [`EarlierJournals`](crate::EarlierJournals).
///
/// The rules between journal and files:
///
/// - `ScoreRowsHaveExchanges`: every row of `scores.json` has its item, a reply of the system under test, a verdict of its judge, and
///   the tokens and dollars of its calls.
/// - `ConversationsHaveExchanges`: every row of `conversations.json` has a reply for each message of the system under test, and the
///   tokens and dollars of its calls.
/// - `CostsAreSumsOfCalls`: the entries of each `cost.json` that the run wrote are the sums of its calls.
/// - `ResultsCountItems`: the counts of `results.json` are those of the measured items. The rule does not apply to a run that wrote
///   scores without summarising them, as long as the file is older than the scores.
///
/// Only systems under test whose rows the run wrote are checked. A journal that cannot be checked gets no rules. Journal and files are
/// read row by row; memory holds about a hundred bytes for each item.
#[must_use]
pub fn check_ended_run(
    journal: &Path,
    dir: Option<&BenchmarkDir>,
    visitor: Option<Box<dyn JournalVisitor>>,
) -> Report {
    let mut table = dir.map(|_| TableBuilder::default());
    let (mut report, record) = read_once(journal, visitor, table.as_mut());
    if let Some(table) = table {
        table.write(journal);
    }
    if let Some(dir) = dir {
        compare(record, &mut report, |record, _| {
            Rules::new(record, dir, &Exclusions::of_own_tree(record, dir)).check()
        });
    }
    report
}

/// Adds to `report` which other journals have the calls of its items, and whether they are there.
fn note_kept(journal: &Path, report: &mut Report) {
    let runs = journal.parent().and_then(Path::parent);
    for (run, items) in std::mem::take(&mut report.kept_in) {
        let came = counted(
            items,
            "item came whole from the cache: its calls and turns are",
            "items came whole from the cache: their calls and turns are",
        );
        let place = match runs.and_then(|runs| find_journal(runs, &run)) {
            Some(path) => format!("in {}", path.display()),
            None => format!("in the journal of {run}, which is not beside this one's"),
        };
        report.notes.push(format!("{came} {place}"));
        report.kept_in.insert(run, items);
    }
}

/// Reads the journal in one pass: for the rules of journals, for the comparison with files, for `visitor`, and for the table of its items.
fn read_once(
    journal: &Path,
    mut visitor: Option<Box<dyn JournalVisitor>>,
    mut table: Option<&mut TableBuilder>,
) -> (Report, Result<JournalRecord, String>) {
    let name = journal.display().to_string();
    let mut checker = Checker::default();
    let mut record = Ok(JournalRecord::default());
    let mut replay = match JournalReader::open(journal) {
        Ok(reader) => Replay::new(reader),
        Err(error) => {
            checker.fail(&error);
            return (checker.finish(name, None), Err(error.to_string()));
        }
    };
    while let Some(replayed) = replay.next_event() {
        match &replayed {
            Ok(replayed) => {
                let event = replayed.partial_event();
                checker.push(&replayed.line, event.as_ref());
                if let Ok(known) = &mut record
                    && let Err(why) = known.push(&replayed.line, event.as_ref())
                {
                    record = Err(why);
                }
            }
            Err(error) => {
                checker.fail(error);
                record = record.and(Err(error.to_string()));
            }
        }
        if let (Some(table), Ok(replayed)) = (&mut table, &replayed) {
            table.push(replayed);
        }
        if let Some(visitor) = &mut visitor {
            visitor.visit(replayed);
        }
    }
    let report = checker.finish(name, replay.reader().cut_off());
    if let Some(visitor) = visitor {
        visitor.finish(replay);
    }
    (report, record)
}

/// Adds the result of `rules` to `report`, where the journal can be checked.
fn compare(
    record: Result<JournalRecord, String>,
    report: &mut Report,
    rules: impl FnOnce(&JournalRecord, &mut Report) -> Compared,
) {
    if matches!(report.verdict(), Verdict::NotCheckable(_)) {
        return;
    }
    match record {
        Ok(record) => {
            let compared = rules(&record, report);
            report.notes.extend(compared.notes);
            for row in compared.rows {
                report.push(row);
            }
        }
        Err(reason) => report.set_not_checkable(reason),
    }
}

/// The benchmark of the run in the journal at `journal`, by the name of its folder. `None` if no run starts in it, the run has no
/// benchmark folder, or the file cannot be read.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("journal.jsonl");
/// std::fs::write(&path, "{\"message\": \"starting run\", \"folder\": \"honesty\"}\n")?;
/// assert_eq!(store::check::journal_benchmark(&path).as_deref(), Some("honesty"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn journal_benchmark(journal: &Path) -> Option<String> {
    let mut reader = JournalReader::open(journal).ok()?;
    while let Some(line) = reader.next_line() {
        let line = line.ok()?;
        match EventKind::of(&line.message) {
            Some(EventKind::StartingRun) => {
                return match line.partial_event()?.body.into_owned() {
                    EventBody::StartingRun(run) => run.folder,
                    _ => None,
                };
            }
            Some(EventKind::StartingCalibrationRun) => return None,
            _ => {}
        }
    }
    None
}
