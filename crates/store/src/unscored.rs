//! Counts the rows of a target without a verdict, by kind of reason.

use std::{ops::ControlFlow, path::Path};

use schema::{Conversation, NoVerdict, statistics::MissingReasons};
use serde::{Deserialize, de::IgnoredAny};

use super::each_row;
use crate::RunError;

/// Rows of a `scores.json` without a verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unscored {
    /// Rows without a verdict because a call or the conversation failed.
    pub failed: u64,
    /// Why these rows failed, as far as they have a reason.
    pub reasons: MissingReasons,
    /// Rows to which the judge gave no usable verdict.
    pub abstained: u64,
    /// The first few rows that the judge abstained from, by their `prompt_id`, as the journal names them.
    pub examples: Vec<String>,
}

/// The most rows that are named.
const MAX_EXAMPLES: usize = 3;

/// Counts the rows without a verdict, row by row.
///
/// # Errors
/// When the file cannot be read or is not a list of scores.
pub fn read_unscored(path: &Path) -> Result<Unscored, RunError> {
    let mut found = Unscored::default();
    each_row(path, |row: Row| {
        if row.passed.is_some() {
            return Ok(ControlFlow::Continue(()));
        }
        if row.error.is_some() {
            found.failed += 1;
            if let Some(reason) = row.no_verdict {
                found.reasons.add(reason, 1);
            }
            return Ok(ControlFlow::Continue(()));
        }
        found.abstained += 1;
        if found.examples.len() < MAX_EXAMPLES {
            let prompt = Conversation::prompt_id(&row.id, row.sample.unwrap_or(0));
            found.examples.push(prompt);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

#[derive(Deserialize)]
struct Row {
    id: String,
    #[serde(default)]
    passed: Option<bool>,
    #[serde(default, alias = "_sample")]
    sample: Option<u32>,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(rename = "_no_verdict", default)]
    no_verdict: Option<NoVerdict>,
}
