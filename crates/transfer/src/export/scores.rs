//! The scores of a target, by the conversation that they belong to.

use std::{ops::ControlFlow, path::Path};

use schema::{Conversation, Extra, Metric, ModelId, Score};
use serde_json::Value;

use store::{DiskIndex, RunError, each_row_of, explain_read_error, hash_key, open_rows};

/// The rows of a `scores.json`.
pub(super) struct Scores {
    /// By conversation; rows that do not name their conversation are under [`unnamed`].
    rows: DiskIndex,
    note: Option<String>,
    /// The error that ended the reading before the end of the file.
    cut: Option<RunError>,
}

impl Scores {
    /// Reads the file at `path`. A missing file has no rows and a note; a file that is cut off has the rows before the cut.
    ///
    /// # Errors
    /// When the file exists but cannot be opened, or the temporary folder cannot be used.
    pub(super) fn read(
        path: &Path,
        target: &ModelId,
        metrics: &[Metric],
    ) -> Result<Self, RunError> {
        let mut rows = DiskIndex::default();
        // A link that only leads in a circle exists, but cannot be opened.
        if matches!(path.try_exists(), Ok(false)) {
            let note = Some("no scores.json: nothing is judged yet".to_owned());
            return Ok(Self {
                rows,
                note,
                cut: None,
            });
        }
        let file = open_rows(path).map_err(|error| RunError::read(path, error))?;
        let mut fault = None;
        let read = each_row_of(path, file, |row| {
            fault = match row.parse::<Score>() {
                Ok(score)
                    if score.is_whole() && score.settled_type(metrics) == score.metric_type =>
                {
                    rows.put_text(hash_key(score.conv_id.as_str()), row.text)
                }
                _ => {
                    let object: Extra = row.parse()?;
                    let named = object
                        .get("conv_id")
                        .and_then(Value::as_str)
                        .filter(|id| !id.is_empty())
                        .map(hash_key);
                    let score = Score::counted(object, metrics, target)
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

    /// Why part of the file could not be read, if so.
    pub(super) fn cut(&self) -> Option<String> {
        self.cut.as_ref().map(explain_read_error)
    }

    /// The note about the file, for people.
    pub(super) fn take_note(&mut self) -> Option<String> {
        self.note.take()
    }

    /// The scores of `row`.
    pub(super) fn of(&mut self, row: &Conversation) -> Result<Vec<Score>, RunError> {
        let mut scores = self.rows.take(hash_key(row.conv_id.as_str()))?;
        let mut joined: Vec<Score> = self.rows.take(unnamed(&row.scenario.id, row.sample))?;
        for score in &mut joined {
            score.conv_id.clone_from(&row.conv_id);
        }
        scores.append(&mut joined);
        Ok(scores)
    }

    /// The number of scores without a conversation.
    pub(super) fn left(&self) -> usize {
        self.rows.left()
    }
}

/// The key of a row that does not name its conversation.
fn unnamed(scenario: &str, sample: u32) -> u64 {
    hash_key((scenario, sample))
}
