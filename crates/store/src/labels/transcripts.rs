//! The transcripts that labels can be of.

use std::{collections::HashMap, ops::ControlFlow, path::Path};

use schema::{ModelId, Turn, transcript_digest};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{RunError, each_json_row, score_check::conversation_id};

/// What is read of a row of `conversations.json`.
#[derive(Deserialize)]
struct Row<'a> {
    id: String,
    #[serde(default)]
    conv_id: Option<String>,
    #[serde(default)]
    sample: Option<u32>,
    #[serde(rename = "_sample", default)]
    old_sample: Option<u32>,
    #[serde(borrow)]
    transcript: &'a RawValue,
}

/// The digest of each transcript of the `conversations.json` at `path`, which is of `target`, by conversation: those that `wanted` takes.
///
/// # Errors
/// When the file cannot be read, or is not a list of conversations.
pub(super) fn transcript_digests(
    path: &Path,
    target: &ModelId,
    wanted: impl Fn(&str) -> bool,
) -> Result<HashMap<String, String>, RunError> {
    let mut digests = HashMap::new();
    each_json_row(path, |row| {
        let read: Row<'_> = row.parse()?;
        let sample = read.sample.or(read.old_sample);
        let id = conversation_id(read.conv_id, &read.id, target, sample);
        if wanted(&id) {
            let turns: Vec<Turn> =
                serde_json::from_str(read.transcript.get()).map_err(|error| row.error(&error))?;
            digests.insert(id, transcript_digest(&turns));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(digests)
}
