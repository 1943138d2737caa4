//! Rebuilds the rows of a benchmark from its journal alone.

mod costs;
mod head;
mod item;
mod kept;
mod problems;
mod safety;
mod sut;
mod unfinished;

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
};

use aggregator::{aggregate_reader, sort_summaries};
use journal::{
    ItemHistory, JournalReader, Replay, Replayed, Scope,
    check::{Report, Verdict},
};
use schema::{
    EventBody, ItemKey, ModelId, Summary, event::ExceptionStoppingRun, sequence::Sequence,
    text::counted,
};

pub(crate) use self::costs::Costs;
use self::{
    head::Head,
    kept::KeptItems,
    problems::{ItemRows, Problems, name},
    sut::SutFiles,
    unfinished::Unfinished,
};
use crate::{CostFile, RowPosition, RunError, write_json};

/// The files that [`rebuild`] wrote, and what it could not restore.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rebuilt {
    /// The folder of the benchmark, as the run named it.
    pub benchmark: String,
    /// The files, in the order they were written.
    pub files: Vec<PathBuf>,
    /// Notes for people, for example that the journal is cut off.
    pub notes: Vec<String>,
    /// The result of the rules of journals, which are checked first.
    pub check: Report,
    /// What could not be restored, or contradicts what the run counted: one line each.
    pub problems: Vec<String>,
}

impl Rebuilt {
    /// Whether the files are those of the run, as far as the journal can show: no line of it is known to be missing or changed.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.problems.is_empty() && !matches!(self.check.verdict(), Verdict::Failed)
    }
}

/// Writes `conversations.json`, `scores.json`, `cost.json`, `results.json`, and where scenarios had an order `sequence.json` into `out`, laid out as a benchmark's folder, using only the
/// journal at `journal`, and for items that came whole from the cache the journals beside it that it refers to.
///
/// The files appear in `out` when all of them are complete: a journal that cannot be rebuilt leaves nothing.
///
/// They are byte for byte what the run itself wrote. Files that the run did not write are left out, such as the conversations if it judged
/// those of an earlier run. The journal is checked first, and then read again; memory holds only the items that are open at the same time.
///
/// Lines that are missing in the journal, or were exchanged, cost the rows that cannot be restored without them: these are left out, and
/// [`Rebuilt::problems`] names them. Tokens and dollars are those that the run counted; where the calls in the journal sum up to other
/// numbers, that is a problem too.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rebuilt = store::rebuild::rebuild("journal-run-20261121-052131-284600.jsonl".as_ref(), "rebuilt".as_ref())?;
/// println!("{} files of {}", rebuilt.files.len(), rebuilt.benchmark);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When the journal cannot be read, has a line that is not an event, or was written by another program or by a safety evaluation: the text
/// names the file and the line. When a file cannot be written.
pub fn rebuild(journal: &Path, out: &Path) -> Result<Rebuilt, RunError> {
    let unreadable =
        |error: journal::ReadError| RunError::input(error.to_string()).with_source(error);
    let mut replay = Replay::new(JournalReader::open(journal).map_err(unreadable)?);
    let unfinished = Unfinished::begin(out)?;
    let kept = KeptItems::read(journal, unfinished.root())?;
    let mut state = State::new(journal, unfinished.root(), kept);
    while let Some(replayed) = replay.next_event() {
        let replayed = replayed.map_err(unreadable)?;
        let number = replayed.line.number;
        state.take(replayed).map_err(|fault| match fault {
            RebuildError::Line(what) => {
                RunError::input(format!("{}: line {number}: {what}", journal.display()))
            }
            RebuildError::Write(error) => error,
        })?;
    }
    if let Some(cut_off) = replay.reader().cut_off() {
        state.rebuilt.notes.push(cut_off.to_string());
    }
    let mut rebuilt = state.finish(journal, replay.open_items())?;
    unfinished.keep(&mut rebuilt.files)?;
    Ok(rebuilt)
}

/// Why a line cannot be processed.
enum RebuildError {
    /// What is wrong with the line.
    Line(String),
    /// A file cannot be written.
    Write(RunError),
}

impl From<RunError> for RebuildError {
    fn from(error: RunError) -> Self {
        Self::Write(error)
    }
}

/// What is wrong with a line.
fn bad(what: impl Into<String>) -> RebuildError {
    RebuildError::Line(what.into())
}

/// Whether this is the last event about the files of a run.
pub(crate) fn is_last_word(event: &EventBody) -> bool {
    matches!(
        event,
        EventBody::FinishedRun(_) | EventBody::ExceptionStoppingRun(_)
    )
}

struct State<'o> {
    journal: &'o Path,
    /// The items that came whole from the cache, from the journals that have them.
    kept_items: KeptItems,
    out: &'o Path,
    head: Option<Head>,
    suts: BTreeMap<ModelId, SutFiles>,
    costs: Costs,
    kept: Vec<Summary>,
    /// The order of scenarios and what was known of it last, if the run had one.
    sequence: Option<Box<Sequence>>,
    /// Whether an error ended the run, so that no results were summarised.
    failed: bool,
    /// Whether the journal has the last event of the run.
    ended: bool,
    /// What the events of open items report about their rows.
    rows: HashMap<ItemKey, ItemRows>,
    problems: Problems,
    rebuilt: Rebuilt,
}

impl<'o> State<'o> {
    fn new(journal: &'o Path, out: &'o Path, kept_items: KeptItems) -> Self {
        Self {
            journal,
            kept_items,
            out,
            head: None,
            suts: BTreeMap::new(),
            costs: Costs::default(),
            kept: Vec::new(),
            sequence: None,
            failed: false,
            ended: false,
            rows: HashMap::new(),
            problems: Problems::default(),
            rebuilt: Rebuilt {
                benchmark: String::new(),
                files: Vec::new(),
                notes: Vec::new(),
                check: journal::check::check(journal),
                problems: Vec::new(),
            },
        }
    }

    fn take(&mut self, replayed: Replayed<'_>) -> Result<(), RebuildError> {
        let Some(event) = replayed.event else {
            return Ok(());
        };
        let event = event.map_err(|error| bad(format!("{}: {error}", replayed.line.message)))?;
        match replayed.scope {
            Scope::Run => self.take_of_run(event),
            Scope::Item(key, item) => self.take_of_item(key, item, event),
            Scope::Closed(key) => {
                if let EventBody::ConversationFinished(_) | EventBody::ScoreFinished(_) = event {
                    self.problems.add_row(
                        &key,
                        "its row is left out: the journal has no `queuing item` of it",
                    );
                }
                Ok(())
            }
        }
    }

    fn take_of_run(&mut self, event: EventBody) -> Result<(), RebuildError> {
        self.ended |= is_last_word(&event);
        match event {
            EventBody::StartingCalibrationRun(_) => {
                return Err(bad("it is a calibration, which makes no rows to rebuild"));
            }
            EventBody::StartingRun(start) => {
                if self.head.is_some() {
                    return Err(bad("a second run begins, and a journal holds one"));
                }
                if start.safety_run.is_some() {
                    return Err(bad(safety::no_tree(self.journal, &start)));
                }
                let head = Head::new(*start)?;
                self.rebuilt.benchmark.clone_from(&head.folder);
                self.head = Some(head);
            }
            EventBody::TestInfo(test) => match &mut self.head {
                Some(head) => head.add_test(&test)?,
                None => return Err(bad("it comes before `starting run`")),
            },
            EventBody::CostSummed(entry) => self.costs.add_entry(&entry).map_err(bad)?,
            EventBody::KeptResults(kept) => self.kept.push(*kept.summary),
            EventBody::StartingSequence(start) => self.sequence = Some(start.sequence),
            EventBody::SequenceLook(look) => match &mut self.sequence {
                Some(sequence) => look.add_to(sequence),
                None => return Err(bad("it comes before `starting sequence`")),
            },
            EventBody::ExceptionStoppingRun(stopped) => {
                self.failed = stopped.exc_type == ExceptionStoppingRun::ERROR;
            }
            event => self.costs.add_call(&event),
        }
        Ok(())
    }

    fn take_of_item(
        &mut self,
        key: ItemKey,
        item: &mut ItemHistory,
        event: EventBody,
    ) -> Result<(), RebuildError> {
        match event {
            EventBody::ItemFinished(_) | EventBody::ItemFailed(_) => {
                let rows = self.rows.remove(&key).unwrap_or_default();
                if was_skipped(&event) {
                    return Ok(());
                }
                for problem in rows.missing() {
                    self.problems.add_row(&key, problem);
                }
                return Ok(());
            }
            _ => self.rows.entry(key.clone()).or_default().take(&event),
        }
        match self.take_row(&key, item, event) {
            Err(RebuildError::Line(why)) => {
                let problem = format!("its row is left out: {why}");
                self.problems.add_row(&key, &problem);
                Ok(())
            }
            written => written,
        }
    }

    /// Adds the row that `event` completes, if it does.
    fn take_row(
        &mut self,
        key: &ItemKey,
        item: &mut ItemHistory,
        event: EventBody,
    ) -> Result<(), RebuildError> {
        let sut = || ModelId::new(&key.sut).map_err(|error| bad(error.to_string()));
        let head = || self.head.as_ref().ok_or_else(|| bad("no run has begun"));
        match event {
            EventBody::QueuingItem(_) => self.kept_items.fill(item)?,
            // What could not be filled was reported.
            _ if item.queued.kept.is_some() && item.queued.context.is_none() => {}
            EventBody::ConversationFinished(finished) => {
                let (sut, place) = (sut()?, item::place(item)?);
                let row = item::conversation(item, &sut, head()?, finished)?;
                self.problems
                    .compare(|| name(key), row.usage, item.simulated.usage());
                let files = self.suts.entry(sut).or_default();
                files.conversation(self.out, &key.sut, place, &row)?;
            }
            EventBody::ScoreFinished(finished) => {
                let part = u32::try_from(finished.part).unwrap_or(u32::MAX);
                let (sut, place) = (sut()?, item::place(item)?);
                let row = item::score(item, &sut, head()?, finished)?;
                self.problems
                    .compare(|| name(key), row.usage, item.judged.usage());
                let files = self.suts.entry(sut).or_default();
                files.score(self.out, &key.sut, RowPosition { part, ..place }, &row)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self, journal: &Path, open: usize) -> Result<Rebuilt, RunError> {
        let Some(head) = self.head.take() else {
            return Err(RunError::input(format!(
                "{}: the journal holds no `starting run`, so there is nothing to rebuild",
                journal.display()
            )));
        };
        if open > 0 {
            self.rebuilt.notes.push(format!(
                "left out the rows of {} that had not ended when the journal did",
                counted(open as u64, "item", "items")
            ));
        }
        let mut scored = Vec::new();
        for (sut, mut files) in std::mem::take(&mut self.suts) {
            if self.ended {
                let dropped = files.keep(|phase| self.costs.wrote(sut.as_str(), phase))?;
                let note = |phase| {
                    format!(
                        "left out the rows of {phase} for {sut}: by the journal the run did not write them (it has no `cost summed` of them)"
                    )
                };
                self.rebuilt.notes.extend(dropped.into_iter().map(note));
            }
            let folder = self.out.join("runs").join(sut.as_str());
            let sums = files.sums();
            if files.compose(&folder, &mut self.rebuilt.files)? {
                scored.push((sut.clone(), folder.join("scores.json")));
            }
            let costs = self.costs.of_sut(&sut, sums, &mut self.problems);
            self.write_cost(&folder, costs)?;
        }
        for phase in self.costs.without_entry() {
            self.rebuilt.notes.push(format!(
                "left out the cost of {phase}: the journal has calls of it, and no `cost summed`"
            ));
        }
        if let Some(sequence) = self.sequence.take() {
            self.write(self.out.join("sequence.json"), &sequence)?;
        }
        let costs = self.costs.of_benchmark(&mut self.problems);
        self.write_cost(self.out, costs)?;
        if head.summed_up && !self.failed {
            self.write_results(scored)?;
        }
        self.rebuilt.problems = self.problems.into_lines();
        Ok(self.rebuilt)
    }

    fn write_cost(&mut self, folder: &Path, costs: CostFile) -> Result<(), RunError> {
        if !costs.is_empty() {
            self.write(folder.join("cost.json"), &costs)?;
        }
        Ok(())
    }

    fn write_results(&mut self, scored: Vec<(ModelId, PathBuf)>) -> Result<(), RunError> {
        let mut summaries = std::mem::take(&mut self.kept);
        for (sut, path) in scored {
            let file = files::open(&path).map_err(|error| RunError::read(&path, error))?;
            let summary = aggregate_reader(sut, &[], file).map_err(|error| {
                RunError::input(format!("{}: {error}", path.display())).with_source(error)
            })?;
            summaries.push(summary);
        }
        if !summaries.is_empty() {
            sort_summaries(&mut summaries);
            self.write(self.out.join("results.json"), &summaries)?;
        }
        Ok(())
    }

    fn write<T: serde::Serialize>(&mut self, path: PathBuf, value: &T) -> Result<(), RunError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| RunError::write(folder, error))?;
        }
        write_json(&path, value)?;
        self.rebuilt.files.push(path);
        Ok(())
    }
}

/// Whether the run gave the item up without a failure, as when its budget was spent: it wrote no row, so none is missing.
fn was_skipped(end: &EventBody) -> bool {
    match end {
        EventBody::ItemFailed(failed) => {
            failed.sut_response == Some(false) && failed.fatal_exceptions == Some(0)
        }
        _ => false,
    }
}
