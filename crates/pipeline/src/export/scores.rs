//! The scores of a target, by the conversation they were found in.

use std::{
    collections::HashMap,
    fs::File,
    hash::{DefaultHasher, Hash, Hasher},
    io::{BufWriter, Read, Seek, SeekFrom, Write},
    ops::ControlFlow,
    path::Path,
};

use schema::{Conversation, Extra, Metric, ModelId, Score};
use serde_json::Value;

use super::explained;
use crate::{error::PipelineError, tree::each_json_row};

/// Rows on disk that are found by a key. Memory holds the keys only.
#[derive(Debug)]
pub(super) struct Shelf {
    file: BufWriter<File>,
    places: HashMap<u64, Vec<(u64, u32)>>,
    length: u64,
}

impl Shelf {
    pub(super) fn new() -> Result<Self, PipelineError> {
        let file = tempfile::tempfile().map_err(unkept)?;
        Ok(Self {
            file: BufWriter::with_capacity(1 << 16, file),
            places: HashMap::new(),
            length: 0,
        })
    }

    /// Adds a row under `key`.
    pub(super) fn put(
        &mut self,
        key: u64,
        row: &impl serde::Serialize,
    ) -> Result<(), PipelineError> {
        let text = serde_json::to_vec(row).map_err(|error| unkept(error.into()))?;
        self.put_text(key, &text)
    }

    /// Adds a row that is JSON already.
    fn put_text(&mut self, key: u64, text: &[u8]) -> Result<(), PipelineError> {
        self.file.write_all(text).map_err(unkept)?;
        let length = u32::try_from(text.len())
            .map_err(|_| PipelineError::input("a row is longer than 4 GiB"))?;
        self.places
            .entry(key)
            .or_default()
            .push((self.length, length));
        self.length += u64::from(length);
        Ok(())
    }

    /// The rows under `key`, in the order they came in. They are no longer there afterwards.
    pub(super) fn take<T: serde::de::DeserializeOwned>(
        &mut self,
        key: u64,
    ) -> Result<Vec<T>, PipelineError> {
        let places = self.places.remove(&key).unwrap_or_default();
        places.into_iter().map(|place| self.read(place)).collect()
    }

    fn read<T: serde::de::DeserializeOwned>(
        &mut self,
        (start, length): (u64, u32),
    ) -> Result<T, PipelineError> {
        let mut read = || -> std::io::Result<T> {
            // The buffer is written first.
            self.file.seek(SeekFrom::Start(start))?;
            let mut text = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
            self.file.get_mut().read_exact(&mut text)?;
            Ok(serde_json::from_slice(&text)?)
        };
        read().map_err(unkept)
    }

    /// Rows that nobody took.
    pub(super) fn left(&self) -> usize {
        self.places.values().map(Vec::len).sum()
    }
}

fn unkept(error: std::io::Error) -> PipelineError {
    PipelineError::output(format!("the temporary folder cannot be used: {error}"))
        .with_source(error)
}

/// A key of texts.
pub(super) fn key(parts: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

/// The rows of a `scores.json`.
pub(super) struct Scores {
    /// By conversation; rows that do not name theirs by [`unnamed`].
    rows: Shelf,
    note: Option<String>,
    /// What ended the reading before the end of the file.
    cut: Option<PipelineError>,
}

impl Scores {
    /// Reads the file at `path`. One that is not there has no rows and a note; one that is cut off has those before the cut.
    ///
    /// # Errors
    /// When the file is there and cannot be opened, or the temporary folder cannot be used.
    pub(super) fn read(
        path: &Path,
        target: &ModelId,
        metrics: &[Metric],
    ) -> Result<Self, PipelineError> {
        let mut rows = Shelf::new()?;
        // A link that leads nowhere but in a circle is there, and cannot be opened.
        if matches!(path.try_exists(), Ok(false)) {
            let note = Some("no scores.json: nothing is judged yet".to_owned());
            return Ok(Self {
                rows,
                note,
                cut: None,
            });
        }
        File::open(path).map_err(|error| PipelineError::read(path, error))?;
        let mut fault = None;
        let read = each_json_row(path, |row| {
            fault = match row.parse::<Score>() {
                Ok(score) if score.is_whole() => {
                    rows.put_text(key(score.conv_id.as_str()), row.text)
                }
                _ => {
                    let object: Extra = row.parse()?;
                    let named = object.get("conv_id").and_then(Value::as_str);
                    let named = named.filter(|id| !id.is_empty()).map(key);
                    let score = Score::joined(object, metrics, target)
                        .map_err(|error| row.error(&error))?;
                    let of = named.unwrap_or_else(|| unnamed(&score.id, score.sample));
                    rows.put(of, &score)
                }
            }
            .err();
            Ok(match fault {
                None => ControlFlow::Continue(()),
                Some(_) => ControlFlow::Break(()),
            })
        });
        if let Some(error) = fault {
            return Err(error);
        }
        Ok(Self {
            rows,
            note: None,
            cut: read.err(),
        })
    }

    /// Why not all of the file could be read, in words, where that is so.
    pub(super) fn cut(&self) -> Option<String> {
        self.cut.as_ref().map(explained)
    }

    /// What a person should know of the file.
    pub(super) fn take_note(&mut self) -> Option<String> {
        self.note.take()
    }

    /// The scores of `row`.
    pub(super) fn of(&mut self, row: &Conversation) -> Result<Vec<Score>, PipelineError> {
        let mut scores = self.rows.take(key(row.conv_id.as_str()))?;
        let mut joined: Vec<Score> = self.rows.take(unnamed(&row.scenario.id, row.sample))?;
        for score in &mut joined {
            score.conv_id.clone_from(&row.conv_id);
        }
        scores.append(&mut joined);
        Ok(scores)
    }

    /// Scores whose conversation was not there.
    pub(super) fn left(&self) -> usize {
        self.rows.left()
    }
}

/// The key of a row that does not name its conversation.
fn unnamed(scenario: &str, sample: u32) -> u64 {
    key((scenario, sample))
}
