//! The transcripts that labels can refer to.

use std::{collections::HashMap, ops::ControlFlow, path::Path};

use aggregator::ConversationKey;
use schema::{ModelId, Turn, transcript_digest};
use serde::Deserialize;

use crate::{RunError, each_json_row};

/// The keys that are read from a row of `conversations.json`.
#[derive(Deserialize)]
struct Said {
    transcript: Vec<Turn>,
}

/// The digests of the transcripts in the `conversations.json` of `target` at `path`, by conversation, only for conversations for which
/// `wanted` returns true.
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
        let id = row.parse::<ConversationKey>()?.conversation(target);
        if wanted(&id) {
            let said: Said = row.parse()?;
            digests.insert(id, transcript_digest(&said.transcript));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(digests)
}
