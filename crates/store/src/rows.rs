//! Reads `conversations.json` row by row, including files of other programs.

use std::{
    collections::{HashMap, HashSet},
    io::Read,
    ops::ControlFlow,
    path::Path,
};

use aggregator::{ConversationKey, is_scored, read_score};
use located::json::{JsonRow, JsonRows, JsonRowsError};
use schema::{Benchmark, Conversation, Extra, ModelId, Scenario, Score, TargetRef};
use serde::de::{DeserializeOwned, Error as _};
use serde_json::{Value, json};

use crate::{RunError, fill_from_metrics, open_rows};

/// Reads the rows of a `conversations.json` one at a time and passes each to `take`. At most one row is in memory.
///
/// Rows of older generations are converted to the present form: `_sample`, `target_model` in place of `target`, no `conv_id`, and
/// rows that have only the id and metric_id of their scenario, which is then looked up in `scenarios`.
///
/// # Errors
/// When the file cannot be read, is not a JSON list, or a row is not a conversation: the text names the row.
pub fn read_conversations(
    path: &Path,
    target: &TargetRef,
    benchmark: &Benchmark,
    scenarios: &[Scenario],
    mut take: impl FnMut(Conversation) -> ControlFlow<()>,
) -> Result<(), RunError> {
    let normalizer = Normalizer::new(target.clone(), benchmark, scenarios);
    each_json_row(path, |row| Ok(take(normalizer.row(row)?)))
}

/// The conversations with these ids, read like [`read_conversations`]. Ids that are not in the file are missing from the result.
///
/// # Errors
/// As [`read_conversations`].
pub fn find_conversations(
    path: &Path,
    target: &TargetRef,
    benchmark: &Benchmark,
    scenarios: &[Scenario],
    ids: &HashSet<&str>,
) -> Result<HashMap<String, Conversation>, RunError> {
    let normalizer = Normalizer::new(target.clone(), benchmark, scenarios);
    let mut found = HashMap::new();
    each_json_row(path, |row| {
        let id = row.parse::<ConversationKey>()?.conversation(&target.id);
        if ids.contains(id.as_str()) {
            found.insert(id, normalizer.row(row)?);
        }
        let is_done = found.len() == ids.len();
        Ok(if is_done {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    })?;
    Ok(found)
}

/// The score rows of the conversations with these ids, in the order of the file.
///
/// # Errors
/// When the file cannot be read, or is not a list of score rows.
pub fn find_scores(
    path: &Path,
    target: &ModelId,
    benchmark: &Benchmark,
    ids: &HashSet<&str>,
) -> Result<Vec<Score>, RunError> {
    let mut found = Vec::new();
    each_json_row(path, |row| {
        let id = row.parse::<ConversationKey>()?.conversation(target);
        if ids.contains(id.as_str()) {
            found.push(read_score(row, target, &benchmark.metrics)?);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// The number of rows of a `conversations.json` whose metric `counts` accepts. `None` if they cannot be counted: the readers of the
/// rows report why.
pub fn count_conversations(path: &Path, counts: impl Fn(&str) -> bool) -> Option<u64> {
    let mut rows = 0;
    each_row(path, |row: ConversationKey| {
        let metric = row.metric_id.ok_or("no metric_id")?;
        rows += u64::from(counts(&metric));
        Ok(ControlFlow::Continue(()))
    })
    .ok()?;
    Some(rows)
}

/// Whether a row of the `conversations.json` at `path` ended without an error. Of a file that becomes unreadable, the rows before that
/// point count.
#[must_use]
pub fn any_conversation(path: &Path) -> bool {
    any(path, |row| Ok(!row.parse::<ConversationKey>()?.has_error()))
}

/// Like [`any_conversation`], whether a row of the `scores.json` at `path` has a verdict.
#[must_use]
pub fn any_verdict(path: &Path) -> bool {
    any(path, is_scored)
}

fn any(path: &Path, good: impl Fn(&JsonRow<'_>) -> Result<bool, JsonRowsError>) -> bool {
    let mut found = false;
    let _ = each_json_row(path, |row| {
        found = good(row)?;
        Ok(match found {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    });
    found
}

/// Converts conversation rows of all generations to the present form.
pub(crate) struct Normalizer<'a> {
    target: TargetRef,
    benchmark: &'a Benchmark,
    scenarios: HashMap<&'a str, &'a Scenario>,
}

impl<'a> Normalizer<'a> {
    pub(crate) fn new(
        target: TargetRef,
        benchmark: &'a Benchmark,
        scenarios: &'a [Scenario],
    ) -> Self {
        let scenarios = scenarios.iter().map(|row| (row.id.as_str(), row));
        Self {
            target,
            benchmark,
            scenarios: scenarios.collect(),
        }
    }

    pub(crate) fn row(&self, row: &JsonRow<'_>) -> Result<Conversation, JsonRowsError> {
        // If there are no scenarios to join, a row in the present form is parsed in one step.
        if self.scenarios.is_empty()
            && let Ok(mut conversation) = row.parse::<Conversation>()
        {
            fill_from_metrics(&mut conversation.scenario, self.benchmark);
            return Ok(conversation);
        }
        let read = self.conversation(row.parse()?);
        read.map_err(|reason| row.error(&serde_json::Error::custom(reason)))
    }

    fn conversation(&self, row: Value) -> Result<Conversation, String> {
        let Value::Object(mut row) = row else {
            return Err("not an object".to_owned());
        };
        self.join(&mut row);
        if !row.get("target").is_some_and(Value::is_object) {
            row.shift_remove("target_model");
            row.insert("target".to_owned(), json!(self.target));
        }
        if row.get("sample").is_some_and(Value::is_null) {
            row.shift_remove("sample");
        }
        if row.get("_usage").is_some_and(Value::is_null) {
            row.shift_remove("_usage");
        }
        let without_id = !row.get("conv_id").is_some_and(Value::is_string);
        if without_id {
            row.insert("conv_id".to_owned(), Value::from(""));
        }
        let mut conversation: Conversation =
            serde_json::from_value(Value::Object(row)).map_err(|error| error.to_string())?;
        if without_id {
            conversation.conv_id = Conversation::make_id(
                &conversation.scenario.id,
                &conversation.target.id,
                conversation.sample,
            );
        }
        fill_from_metrics(&mut conversation.scenario, self.benchmark);
        Ok(conversation)
    }

    /// Adds the keys of the scenario that the row lacks.
    fn join(&self, row: &mut Extra) {
        let known = row
            .get("id")
            .and_then(Value::as_str)
            .and_then(|id| self.scenarios.get(id));
        let Some(Ok(Value::Object(scenario))) = known.map(serde_json::to_value) else {
            return;
        };
        for (key, value) in scenario {
            row.entry(key).or_insert(value);
        }
    }
}

/// Passes every row of the JSON list at `path` to `take`, until `take` breaks.
pub fn each_row<T: DeserializeOwned>(
    path: &Path,
    mut take: impl FnMut(T) -> Result<ControlFlow<()>, String>,
) -> Result<(), RunError> {
    each_json_row(path, |row| {
        let taken = take(row.parse()?);
        taken.map_err(|reason| row.error(&serde_json::Error::custom(reason)))
    })
}

/// Like [`each_row`], for rows that are parsed in different ways.
pub fn each_json_row(
    path: &Path,
    take: impl FnMut(&JsonRow<'_>) -> Result<ControlFlow<()>, JsonRowsError>,
) -> Result<(), RunError> {
    let file = open_rows(path).map_err(|error| RunError::read(path, error))?;
    each_row_of(path, file, take)
}

/// Like [`each_json_row`], for the content of the file at `path`.
///
/// # Errors
/// As [`each_json_row`].
pub fn each_row_of(
    path: &Path,
    file: impl Read,
    mut take: impl FnMut(&JsonRow<'_>) -> Result<ControlFlow<()>, JsonRowsError>,
) -> Result<(), RunError> {
    let mut rows = JsonRows::new(file);
    let mut read = || {
        while let Some(row) = rows.next_row()? {
            if take(&row)?.is_break() {
                break;
            }
        }
        Ok(())
    };
    read().map_err(|error| RunError::in_rows(path, error))
}
