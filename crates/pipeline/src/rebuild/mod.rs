//! The rows of a benchmark from its journal alone.

mod costs;
mod head;
mod item;
mod safety;
mod sut;
mod unfinished;

use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, File},
    path::{Path, PathBuf},
};

use aggregator::{aggregate_reader, sort_summaries};
use journal::{JournalReader, Line};
use schema::{ModelId, Summary};

pub(crate) use self::costs::Costs;
use self::{head::Head, item::ItemState, sut::SutFiles, unfinished::Unfinished};
use crate::{
    error::PipelineError,
    tree::{CostFile, write_json},
};

/// What [`rebuild`] wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rebuilt {
    /// The folder of the benchmark that the journal tells of, as the run named it.
    pub benchmark: String,
    /// The files, in the order they were written.
    pub files: Vec<PathBuf>,
    /// What a person should know: that the journal is cut off, for one.
    pub notes: Vec<String>,
}

/// Writes `conversations.json`, `scores.json`, `cost.json` and `results.json` into `out`, laid out as a benchmark's folder,
/// from the journal at `journal` and nothing else.
///
/// The files appear in `out` when all of them are whole: a journal that cannot be rebuilt leaves nothing.
///
/// They are byte for byte what the run itself wrote. Files that the run did not write (the conversations, where it judged those of
/// an earlier run) are not written. The journal is read once, and memory holds the items that are open at the same time.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rebuilt = pipeline::rebuild("journal-run-20261121-052131-284600.jsonl".as_ref(), "rebuilt".as_ref())?;
/// println!("{} files of {}", rebuilt.files.len(), rebuilt.benchmark);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When the journal cannot be read, holds a line that is no event, was written by another program or by a safety evaluation, or lacks what a row needs: the
/// text names the file and the line. When a file cannot be written.
pub fn rebuild(journal: &Path, out: &Path) -> Result<Rebuilt, PipelineError> {
    let unreadable =
        |error: journal::ReadError| PipelineError::input(error.to_string()).with_source(error);
    let mut reader = JournalReader::open(journal).map_err(unreadable)?;
    let unfinished = Unfinished::begin(out)?;
    let mut state = State::new(journal, unfinished.root());
    while let Some(line) = reader.next_line() {
        let line = line.map_err(unreadable)?;
        state.take(&line).map_err(|fault| match fault {
            Fault::Line(what) => PipelineError::input(format!(
                "{}: line {}: {what}",
                journal.display(),
                line.number
            )),
            Fault::Write(error) => error,
        })?;
    }
    if let Some(tear) = reader.tear() {
        state.rebuilt.notes.push(tear.to_string());
    }
    let mut rebuilt = state.finish(journal)?;
    unfinished.keep(&mut rebuilt.files)?;
    Ok(rebuilt)
}

/// Why a line cannot be taken in.
pub(crate) enum Fault {
    /// What is wrong with it.
    Line(String),
    /// A file cannot be written.
    Write(PipelineError),
}

impl From<PipelineError> for Fault {
    fn from(error: PipelineError) -> Self {
        Self::Write(error)
    }
}

/// What is wrong with a line.
fn bad(what: impl Into<String>) -> Fault {
    Fault::Line(what.into())
}

/// Whether a run tells nothing of its files after this message.
pub(crate) fn is_last_word(message: &str) -> bool {
    matches!(message, "finished run" | "exception stopping run")
}

/// Which item a line belongs to: test, prompt and system under test.
type ItemKey = (String, String, String);

struct State<'o> {
    journal: &'o Path,
    out: &'o Path,
    head: Option<Head>,
    items: HashMap<ItemKey, ItemState>,
    suts: BTreeMap<ModelId, SutFiles>,
    costs: Costs,
    kept: Vec<Summary>,
    /// Whether the run wrote to its end, so that results were summed up.
    failed: bool,
    /// Whether the journal has the run's last word.
    ended: bool,
    rebuilt: Rebuilt,
}

impl<'o> State<'o> {
    fn new(journal: &'o Path, out: &'o Path) -> Self {
        Self {
            journal,
            out,
            head: None,
            items: HashMap::new(),
            suts: BTreeMap::new(),
            costs: Costs::default(),
            kept: Vec::new(),
            failed: false,
            ended: false,
            rebuilt: Rebuilt::default(),
        }
    }

    fn take(&mut self, line: &Line<'_>) -> Result<(), Fault> {
        if let (Some(test), Some(prompt), Some(sut)) = (&line.test, &line.prompt_id, &line.sut) {
            let key = (test.to_string(), prompt.to_string(), sut.to_string());
            return self.take_item(key, line);
        }
        self.ended |= is_last_word(&line.message);
        match line.message.as_ref() {
            "starting run" | "starting calibration run" => {
                if line.message == "starting calibration run" {
                    return Err(bad("it is a calibration, which makes no rows to rebuild"));
                }
                if self.head.is_some() {
                    return Err(bad("a second run begins, and a journal holds one"));
                }
                if line.text("safety_run").is_some() {
                    return Err(bad(safety::no_tree(self.journal, line)));
                }
                let head = Head::read(line)?;
                self.rebuilt.benchmark.clone_from(&head.folder);
                self.head = Some(head);
            }
            "test info" => self.head()?.add_test(line)?,
            "cost summed" => self.costs.add_entry(line)?,
            "kept results" => self.kept.push(
                line.get("summary")
                    .ok_or_else(|| bad("`summary` is no row of results.json"))?,
            ),
            "exception stopping run" => {
                self.failed = line.text("exc_type").as_deref() == Some("pipeline::PipelineError");
            }
            _ => self.costs.add_call(line),
        }
        Ok(())
    }

    fn head(&mut self) -> Result<&mut Head, Fault> {
        self.head
            .as_mut()
            .ok_or_else(|| bad("it comes before `starting run`"))
    }

    fn take_item(&mut self, key: ItemKey, line: &Line<'_>) -> Result<(), Fault> {
        let message = line.message.as_ref();
        if message == "queuing item" {
            self.items.insert(key, ItemState::queued(line)?);
            return Ok(());
        }
        let Some(item) = self.items.get_mut(&key) else {
            return Ok(()); // Of an item that has ended: a late retry, for one.
        };
        match message {
            "conversation finished" => {
                let sut = ModelId::new(&key.2).map_err(|error| bad(error.to_string()))?;
                let head = self.head.as_ref().ok_or_else(|| bad("no run has begun"))?;
                let row = item.conversation(&sut, head, line)?;
                self.suts
                    .entry(sut)
                    .or_default()
                    .conversation(self.out, &key.2, item.place, &row)?;
            }
            "score finished" => {
                let sut = ModelId::new(&key.2).map_err(|error| bad(error.to_string()))?;
                let head = self.head.as_ref().ok_or_else(|| bad("no run has begun"))?;
                let (row, part) = item.score(&sut, head, line)?;
                let place = crate::tree::Place { part, ..item.place };
                self.suts
                    .entry(sut)
                    .or_default()
                    .score(self.out, &key.2, place, &row)?;
            }
            "item finished" | "item failed" => {
                self.items.remove(&key);
            }
            _ => item.take(line)?,
        }
        Ok(())
    }

    fn finish(mut self, journal: &Path) -> Result<Rebuilt, PipelineError> {
        let Some(head) = self.head.take() else {
            return Err(PipelineError::input(format!(
                "{}: the journal holds no `starting run`, so there is nothing to rebuild",
                journal.display()
            )));
        };
        if !self.items.is_empty() {
            self.rebuilt.notes.push(format!(
                "{} items had not ended when the journal did; their rows are left out",
                self.items.len()
            ));
        }
        let mut scored = Vec::new();
        for (sut, mut files) in std::mem::take(&mut self.suts) {
            if self.ended {
                let wrote = |phase| self.costs.wrote(sut.as_str(), phase);
                files.keep(wrote("simulate"), wrote("evaluate"))?;
            }
            let folder = self.out.join("runs").join(sut.as_str());
            let sums = files.sums();
            if files.compose(&folder, &mut self.rebuilt.files)? {
                scored.push((sut.clone(), folder.join("scores.json")));
            }
            self.write_cost(&folder, self.costs.of_sut(&sut, sums))?;
        }
        self.write_cost(self.out, self.costs.of_benchmark())?;
        if head.summed_up && !self.failed {
            self.write_results(scored)?;
        }
        Ok(self.rebuilt)
    }

    fn write_cost(&mut self, folder: &Path, costs: CostFile) -> Result<(), PipelineError> {
        if !costs.is_empty() {
            self.write(folder.join("cost.json"), &costs)?;
        }
        Ok(())
    }

    fn write_results(&mut self, scored: Vec<(ModelId, PathBuf)>) -> Result<(), PipelineError> {
        let mut summaries = std::mem::take(&mut self.kept);
        for (sut, path) in scored {
            let file = File::open(&path).map_err(|error| PipelineError::read(&path, error))?;
            let summary = aggregate_reader(sut, &[], file).map_err(|error| {
                PipelineError::input(format!("{}: {error}", path.display())).with_source(error)
            })?;
            summaries.push(summary);
        }
        if !summaries.is_empty() {
            sort_summaries(&mut summaries);
            self.write(self.out.join("results.json"), &summaries)?;
        }
        Ok(())
    }

    fn write<T: serde::Serialize>(
        &mut self,
        path: PathBuf,
        value: &T,
    ) -> Result<(), PipelineError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| PipelineError::write(folder, error))?;
        }
        write_json(&path, value)?;
        self.rebuilt.files.push(path);
        Ok(())
    }
}
