//! One pass over a `conversations.json`.

use std::{ops::ControlFlow, path::Path};

use aggregator::{ConversationKey, ConversationRow};
use schema::{Benchmark, ModelId};

use super::{digest::DigestReader, score_check::ConversationIds};
use crate::{ReplyTally, RunError, rows::each_row_of};

/// What the rows of a `conversations.json` say about a target.
pub(super) struct ConversationFacts {
    /// `None`: a row has an id and nothing that can be counted.
    pub(super) replies: Option<ReplyTally>,
    pub(super) ids: ConversationIds,
    pub(super) sha256: String,
}

/// Reads the file at `path` row by row. Rows of metrics that the benchmark does not have are not counted.
///
/// # Errors
/// When the file cannot be read, or is not a list of conversations.
pub(super) fn read_facts(
    path: &Path,
    benchmark: &Benchmark,
    target: &ModelId,
) -> Result<ConversationFacts, RunError> {
    let file = files::open(path).map_err(|error| RunError::read(path, error))?;
    let mut file = DigestReader::new(file);
    let mut replies = Some(ReplyTally::default());
    let mut ids = ConversationIds::default();
    each_row_of(path, &mut file, |row| {
        match row.parse::<ConversationRow>() {
            Ok(row) => {
                ids.add(&row.conversation(target), &row.id);
                if let Some(replies) = &mut replies
                    && benchmark.metric(&row.metric_id).is_some()
                {
                    replies.add_row(&row);
                }
            }
            // Rows of other programs may have nothing but an id.
            Err(_) => {
                let key: ConversationKey = row.parse()?;
                ids.add(&key.conversation(target), &key.id);
                replies = None;
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(ConversationFacts {
        replies,
        ids,
        sha256: file.finish(),
    })
}
