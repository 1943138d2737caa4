//! Instance files of Every Eval Ever.

mod aggregate;
mod own;
mod row;

use std::{
    collections::HashMap,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use row::Row;
use serde_json::Value;

use super::{Found, ImportError, Recorded, SourceFile, Take, file_name, json_lines::JsonLines};

/// The instance file for `path`: the path itself, or the file beside an aggregate.
pub(super) fn instances(path: &Path) -> Result<Option<PathBuf>, ImportError> {
    if path
        .extension()
        .is_some_and(|extension| extension == "json")
    {
        return aggregate::instances_of(path);
    }
    Ok(Some(path.to_owned()))
}

/// The facts about the instance file at `path` as a whole.
pub(super) fn source(path: &Path) -> Result<SourceFile, ImportError> {
    let mut lines = Lines::open(path)?;
    let Some((_, row)) = lines.next_row()? else {
        return Err(ImportError::unusable(path.display(), "no rows"));
    };
    let file = file_name(path);
    let aggregate = aggregate::beside(path)?;
    let mut source = SourceFile {
        id: row.evaluation_id.clone().unwrap_or_default(),
        model: lines.model.clone(),
        target: row
            .metadata
            .as_ref()
            .filter(|metadata| metadata.get("conv_id").is_some())
            .and_then(|metadata| metadata.get("target_id")?.as_str())
            .map(str::to_owned),
        file,
        ..SourceFile::default()
    };
    // The evaluation's id consists of the benchmark, the model and a time.
    let (from_id, _) = source.id.split_once('/').unwrap_or((&source.id, ""));
    source.task = from_id.to_owned();
    match aggregate {
        Some(aggregate) => {
            aggregate.check(path)?;
            if let Some(version) = &aggregate.schema_version {
                check_version(&path.display().to_string(), version)?;
            }
            let (name, about) = aggregate.dataset();
            source.task = name.unwrap_or(source.task);
            source.description = about.unwrap_or_default();
            source.metrics = aggregate.metrics();
            source.sample_ids = aggregate.sample_ids();
            if let Some(model) = aggregate.wire_name() {
                source.model = model;
            }
        }
        None => source.notes.push(format!(
            "{}: no aggregate file beside it, so its facts about the model and the metrics are unknown",
            source.file
        )),
    }
    if source.task.is_empty() {
        source.task = row.evaluation_name.unwrap_or_default();
    }
    Ok(source)
}

/// Passes the conversations of the file to `take`. Returns the number of replaced halves of surrogate
/// pairs.
///
/// Consecutive rows that differ only in the evaluation result are one conversation.
pub(super) fn read(path: &Path, take: &mut Take<'_>) -> Result<u64, ImportError> {
    let mut lines = Lines::open(path)?;
    let mut seen = Seen::default();
    let mut pending: Option<Box<Recorded>> = None;
    while let Some((number, row)) = lines.next_row()? {
        let mut read = row.read().map_err(|what| lines.rows.bad(number, what))?;
        match seen.place(&read) {
            SamplePosition::Repetition(repetition) => {
                if read.stated_repetition.is_none() {
                    read.recorded.repetition = repetition;
                }
                let before = pending.replace(Box::new(read.recorded));
                if give(before, take).is_break() {
                    return Ok(lines.rows.replaced());
                }
            }
            SamplePosition::SameAgain { adjacent } => {
                let merged = pending.as_mut().filter(|_| adjacent);
                if let Some(before) = merged {
                    before.scores.append(&mut read.recorded.scores);
                } else if take(Found::LeftOut {
                    what: format!("{}: line {number}", lines.rows.place),
                    why: "rows of a conversation imported already, scored by another metric"
                        .to_owned(),
                })
                .is_break()
                {
                    return Ok(lines.rows.replaced());
                }
            }
        }
    }
    let _ = give(pending, take);
    Ok(lines.rows.replaced())
}

fn give(recorded: Option<Box<Recorded>>, take: &mut Take<'_>) -> ControlFlow<()> {
    match recorded {
        Some(recorded) => take(Found::Conversation(recorded)),
        None => ControlFlow::Continue(()),
    }
}

/// The conversations of each sample so far: the hash of each, and the results with its scores.
#[derive(Default)]
struct Seen {
    samples: HashMap<Key, Vec<Scored>>,
    results: HashMap<String, u64>,
    last: Option<(Key, usize)>,
}

/// A sample's id, its question, and the repetition if it is known.
type Key = (String, Option<[u8; 32]>, u32);

/// The hash of a conversation, and the numbers of the results with its scores.
type Scored = ([u8; 32], Vec<u64>);

enum SamplePosition {
    /// A separate conversation.
    Repetition(u32),
    /// The same as an earlier conversation, scored for another result.
    SameAgain {
        /// Whether the earlier conversation was the last one read.
        adjacent: bool,
    },
}

impl Seen {
    fn place(&mut self, read: &row::Read) -> SamplePosition {
        let next = self.results.len() as u64;
        let result = *self.results.entry(read.result.clone()).or_insert(next);
        // Two numbered repetitions are two conversations, even if their messages are the same.
        let key = (
            read.recorded.sample_id.clone(),
            read.recorded.question,
            read.recorded.repetition,
        );
        let known = self.samples.entry(key.clone()).or_default();
        for (at, (hash, results)) in known.iter_mut().enumerate() {
            if *hash == read.hash && !results.contains(&result) {
                results.push(result);
                let this = (key, at);
                let adjacent = self.last.as_ref() == Some(&this);
                return SamplePosition::SameAgain { adjacent };
            }
        }
        known.push((read.hash, vec![result]));
        let at = known.len() - 1;
        self.last = Some((key, at));
        SamplePosition::Repetition(u32::try_from(at).unwrap_or(u32::MAX))
    }
}

fn check_version(place: &str, version: &str) -> Result<(), ImportError> {
    let number = version
        .strip_prefix("instance_level_eval_")
        .unwrap_or(version);
    if number.starts_with("0.2.") || number.starts_with("0.3.") {
        return Ok(());
    }
    Err(ImportError::unusable(
        place,
        format!("unsupported version {version:?} of Every Eval Ever; supported: 0.2.0 and 0.3.0"),
    ))
}

/// The rows of an instance file.
struct Lines {
    rows: JsonLines,
    /// The model of all rows.
    model: String,
}

impl Lines {
    fn open(path: &Path) -> Result<Self, ImportError> {
        Ok(Self {
            rows: JsonLines::open(path)?,
            model: String::new(),
        })
    }

    /// The next row and the number of its line, from 1.
    fn next_row(&mut self) -> Result<Option<(u64, Row)>, ImportError> {
        let Some((number, row)) = self.rows.next_row()? else {
            return Ok(None);
        };
        self.check(number, &row)?;
        Ok(Some((number, row)))
    }

    /// Checks the version, and that all rows have the same model.
    fn check(&mut self, number: u64, row: &Row) -> Result<(), ImportError> {
        match &row.schema_version {
            Some(version) => {
                check_version(&format!("{}: line {number}", self.rows.place), version)?;
            }
            None => {
                return Err(self.rows.bad(
                    number,
                    "no schema_version: not an instance row of Every Eval Ever",
                ));
            }
        }
        let model = row.model_id.as_deref().map(str::trim).unwrap_or_default();
        if model.is_empty() {
            return Err(self.rows.bad(number, "no model (model_id)"));
        }
        if self.model.is_empty() {
            model.clone_into(&mut self.model);
        } else if self.model != model {
            return Err(self.rows.bad(
                number,
                format!(
                    "it is of the model {model:?}, but the rows before it are of {:?}; a file holds one model",
                    self.model
                ),
            ));
        }
        Ok(())
    }
}

/// Whether the first line of a file looks like a row of an instance file.
pub(super) fn looks_like_rows(line: &[u8]) -> bool {
    let row: Result<Value, _> = serde_json::from_slice(line);
    row.is_ok_and(|row| row.get("evaluation_id").is_some() || row.get("schema_version").is_some())
}
