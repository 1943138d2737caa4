//! Rows of any program: JSONL with a conversation, or a prompt and a reply, and scores.

use std::{collections::HashMap, ops::ControlFlow, path::Path, sync::Arc};

use schema::{Extra, Role, Turn};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{
    Found, ImportError, Recorded, SourceFile, Take, file_name, inspect::split_system,
    json_lines::JsonLines, messages, text::json_text,
};

/// What a column can hold, and the names by which it is recognised, the first of which counts.
const COLUMNS: [(Column, &[&str]); 8] = [
    (
        Column::Messages,
        &["messages", "conversation", "transcript", "interactions"],
    ),
    (
        Column::Prompt,
        &["prompt", "question", "input", "instruction", "user"],
    ),
    (
        Column::Response,
        &[
            "response",
            "reply",
            "output",
            "answer",
            "completion",
            "assistant",
        ],
    ),
    (Column::System, &["system_prompt", "system"]),
    (
        Column::Model,
        &["model", "target", "model_id", "provider", "system_id"],
    ),
    (Column::Id, &["sample_id", "id", "row_id", "prompt_id"]),
    (Column::Sample, &["sample", "repetition"]),
    (Column::Epoch, &["epoch"]),
];

/// The content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Messages,
    Prompt,
    Response,
    System,
    Model,
    Id,
    Sample,
    Epoch,
}

/// The key of a row with several scores by name.
const SCORES: &str = "scores";

/// Whether the first line of a file looks like a row with a conversation.
pub(super) fn looks_like_rows(line: &[u8]) -> bool {
    let row: Result<Extra, _> = serde_json::from_slice(line);
    row.is_ok_and(|row| {
        let has = |column| key_of(&row, column).is_some();
        has(Column::Messages) || (has(Column::Prompt) && has(Column::Response))
    })
}

/// A sample: its model, its id, and the hash of its question.
type Sample = (Option<String>, String, Option<[u8; 32]>);

/// The facts about the file at `path` as a whole.
pub(super) fn source(path: &Path) -> Result<SourceFile, ImportError> {
    let mut lines = JsonLines::open(path)?;
    let stem = path
        .file_stem()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let Some((number, row)) = lines.next_row::<Extra>()? else {
        return Err(ImportError::unusable(path.display(), "no rows"));
    };
    conversation(&row).map_err(|what| lines.bad(number, what))?;
    Ok(SourceFile {
        file: file_name(path),
        model: model(&row).unwrap_or_else(|| stem.clone()),
        task: stem,
        ..SourceFile::default()
    })
}

/// Passes the conversations of the file to `take`. Returns the number of replaced halves of surrogate pairs.
pub(super) fn read(path: &Path, take: &mut Take<'_>) -> Result<u64, ImportError> {
    let mut lines = JsonLines::open(path)?;
    let mut repetitions: HashMap<Sample, u32> = HashMap::new();
    while let Some((number, row)) = lines.next_row::<Extra>()? {
        let (recorded, stated) = recorded(row).map_err(|what| lines.bad(number, what))?;
        let next = repetitions
            .entry((
                recorded.model.clone(),
                recorded.sample_id.clone(),
                recorded.question,
            ))
            .or_default();
        let repetition = stated.unwrap_or(*next);
        *next = next.saturating_add(1);
        let found = Found::Conversation(Box::new(Recorded {
            repetition,
            ..recorded
        }));
        if take(found) == ControlFlow::Break(()) {
            break;
        }
    }
    Ok(lines.replaced())
}

/// The key of `row` that holds `column`.
fn key_of(row: &Extra, column: Column) -> Option<&'static str> {
    let (_, names) = COLUMNS.iter().find(|(of, _)| *of == column)?;
    names
        .iter()
        .find(|name| row.get(**name).is_some_and(|value| !value.is_null()))
        .copied()
}

fn value_of(row: &Extra, column: Column) -> Option<&Value> {
    row.get(key_of(row, column)?)
}

/// The text of a column; numbers as they are written.
fn text_of(row: &Extra, column: Column) -> Option<String> {
    value_of(row, column).map(|value| match value {
        Value::String(text) => text.clone(),
        other => json_text(other),
    })
}

fn model(row: &Extra) -> Option<String> {
    let model = value_of(row, Column::Model)?;
    let nested = ["id", "model", "label", "name"].map(|key| model.get(key));
    let named = nested.into_iter().flatten().find_map(Value::as_str);
    let name = named.or(model.as_str()).unwrap_or_default().trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// The turns of a row with the system prompt, and the kinds of parts that are not text.
fn conversation(row: &Extra) -> Result<(Vec<Turn>, Vec<&'static str>), String> {
    let system = text_of(row, Column::System).map(|text| Turn::new(Role::System, text));
    let mut turns: Vec<Turn> = system.into_iter().collect();
    let messages = value_of(row, Column::Messages);
    let prompt = value_of(row, Column::Prompt);
    let list = messages.or(prompt.filter(|prompt| prompt.is_array()));
    let mut not_text = Vec::new();
    match (list, prompt) {
        (Some(list), _) => {
            let (of_list, others) = messages::turns(list)?;
            turns.extend(of_list);
            not_text = others;
        }
        (None, Some(_)) => {
            let text = text_of(row, Column::Prompt).unwrap_or_default();
            turns.push(Turn::new(Role::User, text));
        }
        (None, None) => {
            let names = COLUMNS.map(|(_, names)| names);
            let [messages, prompt, response, ..] = names.map(|names| names.join("`, `"));
            return Err(format!(
                "no conversation: neither messages (`{messages}`) nor a prompt (`{prompt}`) with its reply (`{response}`)"
            ));
        }
    }
    let ends_with_reply = turns
        .last()
        .is_some_and(|turn| turn.role == Role::Assistant);
    if let Some(reply) = text_of(row, Column::Response).filter(|_| !ends_with_reply) {
        turns.push(Turn::new(Role::Assistant, reply));
    }
    Ok((turns, not_text))
}

/// The conversation of a row, and its repetition if the row states it.
fn recorded(mut row: Extra) -> Result<(Recorded, Option<u32>), String> {
    let (turns, not_text) = conversation(&row)?;
    let (system_prompt, transcript): (Option<Arc<str>>, _) = split_system(turns);
    let whole = |column, from: u64| match value_of(&row, column) {
        None => Ok(None),
        Some(value) => value
            .as_u64()
            .and_then(|number| number.checked_sub(from))
            .and_then(|number| u32::try_from(number).ok())
            .map(Some)
            .ok_or_else(|| {
                let key = key_of(&row, column).unwrap_or_default();
                format!("`{key}` is {value}; expected a whole number of {from} or more")
            }),
    };
    let stated = match whole(Column::Sample, 0)? {
        Some(sample) => Some(sample),
        None => whole(Column::Epoch, 1)?,
    };
    let question = question(system_prompt.as_deref(), &transcript);
    let id = text_of(&row, Column::Id).filter(|id| !id.is_empty());
    let model = model(&row);
    let scores = scores(row.shift_remove(SCORES).unwrap_or_default());
    let error = row.get("error").and_then(Value::as_str).map(str::to_owned);
    let used: Vec<&'static str> = COLUMNS
        .iter()
        .filter_map(|(column, _)| key_of(&row, *column))
        .collect();
    row.retain(|key, value| key != "error" && !value.is_null() && !used.contains(&key.as_str()));
    let mut recorded = Recorded {
        // An id names the sample; without one, its question does.
        question: id.is_none().then_some(question),
        sample_id: id.unwrap_or_else(|| {
            let digest: String = question
                .iter()
                .take(4)
                .map(|b| format!("{b:02x}"))
                .collect();
            format!("question {digest}")
        }),
        model,
        system_prompt,
        transcript,
        error: error.filter(|error| !error.is_empty()),
        scores,
        metadata: row,
        not_text,
        ..Recorded::default()
    };
    recorded.check();
    Ok((recorded, stated))
}

/// A hash of what the conversation begins with.
fn question(system: Option<&str>, transcript: &[Turn]) -> [u8; 32] {
    let asked = transcript.iter().find(|turn| turn.role == Role::User);
    let text = asked.map(|turn| &*turn.content);
    Sha256::digest(json!([system, text]).to_string()).into()
}

/// The scores of a row: an object by name, or a list of objects with `name`.
fn scores(scores: Value) -> Vec<Value> {
    match scores {
        Value::Object(named) => named
            .into_iter()
            .map(|(name, score)| {
                let mut object = match score {
                    Value::Object(object) => object,
                    other => Extra::from_iter([("value".to_owned(), other)]),
                };
                object.insert("name".to_owned(), name.into());
                Value::Object(object)
            })
            .collect(),
        Value::Array(list) => list
            .into_iter()
            .filter(|score| score.get("name").is_some_and(Value::is_string))
            .collect(),
        _ => Vec::new(),
    }
}
