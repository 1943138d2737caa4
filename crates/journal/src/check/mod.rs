//! The consistency rules of a journal.
//!
//! [`check`] reads a journal once, counts the events of each item, and checks every rule.
//!
//! The rules are those of ModelBench's own checker, under its names, extended to several SUTs and to conversations of several
//! turns, and some rules for Probity's journals only. Probity's journals have a `format_version` in "starting journal", which no
//! other program writes. For them the rules differ:
//!
//! - Items that failed ("item failed") need no response, annotation and measurement, and must not be measured.
//! - A judge without a usable verdict has "judge abstained" in place of its annotation.
//! - The item of a panel has one "merged annotation", and only this one counts; the verdicts of its judges do not vote.
//! - No judge is called for blank replies, so they may have no annotation.
//! - The calls of a conversation ("fetched sut turn") are numbered by `turn`, from 1 without a gap, and by `step`, from 0, where
//!   tools are called. In journals of the first format each call is a response, a judge may have several, and its verdict on
//!   blank replies counts.
//! - In a run that was stopped, items that did not end are left out. A run without verdicts and scores, such as a run of
//!   `simulate` alone, is checked for queuing and answering only.
//!
//! ```
//! use journal::check::{Verdict, check};
//!
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("journal.jsonl");
//! # std::fs::write(&path, "{\"message\": \"starting journal\"}\n")?;
//! let report = check(&path);
//! let Verdict::NotCheckable(why) = report.verdict() else {
//!     unreachable!("no run starts in it");
//! };
//! assert_eq!(why.reason, "no run starts in it: there is no \"starting run\"");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Limits
//! Memory grows with the items, by about 100 bytes each.

mod annotation;
mod found;
mod item_table;
mod items;
mod names;
mod records;
mod report;
mod rules_annotators;
mod rules_items;
mod rules_scores;
mod state;
mod subject;

use std::{io::BufRead, path::Path};

pub use report::{Failure, LISTED, NotCheckable, Outcome, Report, Row, Verdict};

use schema::{numbers::grouped, text::counted};

use self::{found::Draft, rules_items::RuleContext, state::CheckState, subject::Subject};
use crate::{CutOff, JournalReader, Line, PartialEvent, ReadError};

/// Checks the journal at `path`, plain or compressed, against the consistency rules.
///
/// If the rules cannot be checked (a missing file, a line that is not an event, two runs in one file, a run without scores), the
/// verdict is [`Verdict::NotCheckable`] with the reason.
#[must_use]
pub fn check(path: &Path) -> Report {
    check_with(path.display().to_string(), || JournalReader::open(path))
}

/// Like [`check`], for a journal that `open` opens. `name` is its name in the report.
pub fn check_with<R: BufRead>(
    name: impl Into<String>,
    open: impl FnOnce() -> Result<JournalReader<R>, ReadError>,
) -> Report {
    let mut checker = Checker::default();
    let mut reader = match open() {
        Ok(reader) => reader,
        Err(error) => {
            checker.fail(&error);
            return checker.finish(name, None);
        }
    };
    while let Some(line) = reader.next_line() {
        match line {
            Ok(line) => checker.push(&line, line.partial_event().as_ref()),
            Err(error) => checker.fail(&error),
        }
        if checker.fault.is_some() {
            break;
        }
    }
    checker.finish(name, reader.cut_off())
}

/// The rules, in a pass over a journal that others share: lines go in one by one.
#[derive(Debug, Default)]
pub struct Checker {
    state: CheckState,
    /// Why the rules cannot be checked.
    fault: Option<NotCheckable>,
}

impl Checker {
    /// Counts a line, whose event is `event`; unknown messages have none.
    pub fn push(&mut self, line: &Line<'_>, event: Option<&PartialEvent<'_>>) {
        if self.fault.is_none() {
            self.fault = self.state.push(line, event).err();
        }
    }

    /// Records that a line cannot be read, so that the rules cannot be checked.
    pub fn fail(&mut self, error: &ReadError) {
        self.fault.get_or_insert_with(|| error.into());
    }

    /// Checks the rules on the lines of the journal `name`, which is cut off where `cut_off` says.
    #[must_use]
    pub fn finish(self, name: impl Into<String>, cut_off: Option<&CutOff>) -> Report {
        let mut report = Report::new(name);
        if let Err(reason) = self.check_rules(&mut report, cut_off) {
            report.set_not_checkable(reason);
        }
        report
    }

    fn check_rules(
        mut self,
        report: &mut Report,
        cut_off: Option<&CutOff>,
    ) -> Result<(), NotCheckable> {
        let cut_off = cut_off.map(ToString::to_string);
        // A torn file may be the reason why it cannot be checked.
        let and_torn = |mut error: NotCheckable| {
            if let Some(cut_off) = &cut_off {
                error.reason.push_str(&format!(". In the file {cut_off}"));
            }
            error
        };
        report.notes.extend(cut_off.clone());
        if let Some(fault) = self.fault {
            return Err(and_torn(fault));
        }
        let state = &mut self.state;
        report.lines = state.lines;
        report.items = u64::try_from(state.items.len()).unwrap_or(u64::MAX);
        report.kept_in = std::mem::take(&mut state.kept_in);
        report.run_id = state.starts.first().and_then(|start| start.run_id.clone());
        let subject = Subject::of(state).map_err(|reason| and_torn(reason.into()))?;
        let context = RuleContext {
            state,
            subject: &subject,
        };
        report.notes.extend(notes(&context));
        report.rows = found::finish(drafts(&context), state);
        Ok(())
    }
}

/// The results of all rules.
fn drafts(context: &RuleContext<'_>) -> Vec<Draft> {
    let mut drafts = vec![
        rules_items::queued(context),
        rules_items::responded(context),
        rules_items::translated(context),
    ];
    if context.subject.judged {
        let annotators = rules_annotators::annotators(context);
        drafts.extend([
            rules_items::measured(context),
            rules_scores::items_finished(context),
            rules_annotators::annotated(context, &annotators),
            rules_annotators::annotation_translated(context, &annotators),
            rules_annotators::valid(context),
            rules_items::merged(context),
            rules_scores::hazard_scores(context),
        ]);
    }
    if context.state.ours {
        drafts.extend([
            rules_items::ended(context),
            rules_scores::announced(context),
            rules_scores::finished_counts(context),
        ]);
    }
    if context.state.shares_messages {
        drafts.push(rules_items::whole_requests(context));
    }
    drafts
}

/// Remarks that are not failures.
fn notes(context: &RuleContext<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let state = context.state;
    if state.earlier > 0 {
        notes.push(format!(
            "{}; the order does not matter",
            counted(
                state.earlier,
                "line is older than the line before it",
                "lines are older than the line before them"
            )
        ));
    }
    let all = state.items.len();
    let others = all - context.items().count();
    if others > 0 {
        notes.push(format!(
            "{} of {} are of tests or SUTs that \"starting run\" does not name; they are left out",
            grouped(others as u64),
            counted(all as u64, "item", "items")
        ));
    }
    if state.ours {
        let failed = context.items().filter(|item| item.failed > 0).count();
        if failed > 0 {
            notes.push(format!(
                "{} of {} failed and have no measurement",
                grouped(failed as u64),
                counted(all as u64, "item", "items")
            ));
        }
        if state.stopped {
            notes.push(
                "the run was stopped before its end; items that did not end are left out"
                    .to_owned(),
            );
        }
        if !context.subject.judged {
            notes.push(
                "nothing was judged, so that there are no verdicts and scores to check".to_owned(),
            );
        }
    }
    notes
}
