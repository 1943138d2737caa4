//! Reads result files of all generations.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    CaseError, ConversationDetail, Form, MultiTurnResults, MultiTurnRow, SafetyFile, SafetyResults,
    SingleTurnResults, SingleTurnRow,
};
use crate::{Extra, nearest::hint, reply::kind_of};

pub(super) const SINGLE: &str = "single_turn_response";
pub(super) const MULTI: &str = "multi_turn_response";

/// Why a text is not a result file: its name, the field or row, and the mistake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {reason}")]
pub struct ResultsError {
    file: String,
    reason: String,
}

impl ResultsError {
    /// The field or row and the mistake, without the file's name.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

pub(super) fn read(name: &str, text: &str) -> Result<SafetyFile, ResultsError> {
    let bad = |reason: String| ResultsError {
        file: name.to_owned(),
        reason,
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let reason = if error.is_eof() && text.trim().is_empty() {
            "the file is empty".to_owned()
        } else {
            format!("invalid JSON: {error}")
        };
        bad(reason)
    })?;
    let Value::Object(object) = value else {
        return Err(bad(format!(
            "the file holds {}, not the object of a safety evaluation",
            kind_of(&value)
        )));
    };
    let (form, kind, data) = unwrap(name, object).map_err(bad)?;
    let path = match form {
        Form::Envelope { .. } => "data.",
        Form::Bare => "",
    };
    let results = match kind {
        Kind::Single => single(data, path).map(SafetyResults::SingleTurn),
        Kind::Multi => multi(data, path).map(SafetyResults::MultiTurn),
    };
    Ok(SafetyFile {
        form,
        results: results.map_err(bad)?,
    })
}

#[derive(Clone, Copy)]
enum Kind {
    Single,
    Multi,
}

/// Removes the envelope, if there is one, and determines the kind.
fn unwrap(name: &str, mut object: Extra) -> Result<(Form, Kind, Extra), String> {
    if !object.contains_key("data") {
        let kind = bare_kind(name, &object)?;
        return Ok((Form::Bare, kind, object));
    }
    let kind = match object.shift_remove("type") {
        Some(Value::String(name)) => match name.as_str() {
            SINGLE => Kind::Single,
            MULTI => Kind::Multi,
            _ => {
                let hint = hint(&name, &[SINGLE, MULTI], "known are");
                return Err(format!("unknown type {name:?}{hint}"));
            }
        },
        Some(other) => return Err(format!("`type` is {}, not a string", kind_of(&other))),
        None => return Err("`type` is missing beside `data`".to_owned()),
    };
    match object.shift_remove("data") {
        Some(Value::Object(data)) => Ok((Form::Envelope { extra: object }, kind, data)),
        Some(other) => Err(format!("`data` is {}, not an object", kind_of(&other))),
        None => Err("`data` is missing".to_owned()),
    }
}

/// Determines the kind of bare data by its rows, then by Probity's own details, and finally by the
/// file's name.
fn bare_kind(name: &str, data: &Extra) -> Result<Kind, String> {
    if data.contains_key("results_by_iteration") {
        return Ok(Kind::Single);
    }
    let rows = |key: &str| data.get(key).and_then(Value::as_array);
    let (failed, results) = (rows("failed_results"), rows("results"));
    if failed.is_none() && results.is_none() {
        return Err(
            "neither `data` nor `failed_results`: not a result of a safety evaluation".to_owned(),
        );
    }
    if let Some(first) = failed.and_then(|rows| rows.first()) {
        return Ok(if first.is_array() {
            Kind::Single
        } else {
            Kind::Multi
        });
    }
    if let Some(first) = results.and_then(|rows| rows.first()) {
        let single = first.get("user_input").is_some();
        return Ok(if single { Kind::Single } else { Kind::Multi });
    }
    let run = data.get("probity").and_then(|details| details.get("run"));
    let ran = |kind: &str| run.is_some_and(|run| run.get(kind).is_some());
    let single = ran("single_turn") || (!ran("multi_turn") && name.contains("single_turn"));
    Ok(if single { Kind::Single } else { Kind::Multi })
}

fn single(data: Extra, path: &str) -> Result<SingleTurnResults, String> {
    let has_failed = check_lists(&data, path, &["results_by_iteration", "results"])?;
    let data = Value::Object(data);
    let mut results = SingleTurnResults::deserialize(&data).map_err(|error| {
        let layers = ["failed_results", "results_by_iteration"];
        let in_layers = layers.iter().find_map(|key| {
            let mut layers = data.get(key)?.as_array()?.iter().enumerate();
            layers.find_map(|(index, rows)| {
                let place = format!("{path}{key}[{index}]");
                match rows {
                    Value::Array(_) => bad_row::<SingleTurnRow>(rows, &place),
                    other => Some(format!(
                        "{place}: expected the rows of a layer, found {}",
                        kind_of(other)
                    )),
                }
            })
        });
        in_layers
            .or_else(|| bad_row::<SingleTurnRow>(data.get("results")?, &format!("{path}results")))
            .or_else(|| bad_detail(&data, path))
            .unwrap_or_else(|| field_error(path, &error))
    })?;
    if !has_failed {
        results.derive_failed();
    }
    Ok(results)
}

fn multi(data: Extra, path: &str) -> Result<MultiTurnResults, String> {
    let has_failed = check_lists(&data, path, &["results"])?;
    let data = Value::Object(data);
    let mut results = MultiTurnResults::deserialize(&data).map_err(|error| {
        ["failed_results", "results"]
            .iter()
            .find_map(|key| bad_row::<MultiTurnRow>(data.get(key)?, &format!("{path}{key}")))
            .or_else(|| bad_detail(&data, path))
            .unwrap_or_else(|| field_error(path, &error))
    })?;
    if !has_failed {
        results.derive_failed();
    }
    Ok(results)
}

/// Whether `failed_results` exists; an error if it is missing and no other key replaces it.
fn check_lists(data: &Extra, path: &str, instead: &[&str]) -> Result<bool, String> {
    let there = |key: &str| data.get(key).is_some_and(Value::is_array);
    match data.get("failed_results") {
        Some(Value::Array(_)) => Ok(true),
        Some(other) => Err(format!(
            "{path}failed_results is {}, not a list",
            kind_of(other)
        )),
        None if instead.iter().any(|key| there(key)) => Ok(false),
        None => Err(format!("{path}failed_results is missing")),
    }
}

/// The first invalid row of a list, and the reason.
fn bad_row<T: DeserializeOwned>(rows: &Value, place: &str) -> Option<String> {
    let mut rows = rows.as_array()?.iter().enumerate();
    rows.find_map(|(index, row)| {
        let error = T::deserialize(row).err()?;
        Some(format!("{place}[{index}]: {error}"))
    })
}

fn bad_detail(data: &Value, path: &str) -> Option<String> {
    let details = data.get("probity")?;
    let place = format!("{path}probity.conversations");
    let bad = bad_row::<ConversationDetail>(details.get("conversations")?, &place);
    bad.or_else(|| {
        let place = format!("{path}probity.errors");
        bad_row::<CaseError>(details.get("errors")?, &place)
    })
}

fn field_error(path: &str, error: &serde_json::Error) -> String {
    match path.strip_suffix('.') {
        Some(path) => format!("{path}: {error}"),
        None => error.to_string(),
    }
}
