//! The version of the journal's format.

use schema::EventKind;

use crate::{Line, error::ReadFault};

/// The `format_version` of "starting journal" that is written. Journals of other programs have no version.
pub const FORMAT_VERSION: &str = "1.5.0";

/// Whether journals of this version record each call of a conversation as a separate response, without a summary.
pub(crate) fn has_a_response_for_each_turn(version: &str) -> bool {
    version.starts_with("1.0.")
}

/// Whether lines of journals of this version may leave out messages that the item's previous call has.
pub(crate) fn shares_messages(version: &str) -> bool {
    let minor = version
        .split('.')
        .nth(1)
        .and_then(|minor| minor.parse().ok());
    minor.is_some_and(|minor: u32| minor >= 2)
}

/// Rejects a journal of a later major version: the meaning of its events is unknown.
pub(crate) fn check(line: &Line<'_>) -> Result<(), ReadFault> {
    if line.message != EventKind::StartingJournal {
        return Ok(());
    }
    let Some(raw) = line.raw("format_version") else {
        return Ok(());
    };
    let is_same_major =
        |version: &str| version.split('.').next() == FORMAT_VERSION.split('.').next();
    match line.text("format_version") {
        Some(version) if is_same_major(&version) => Ok(()),
        Some(version) => Err(ReadFault::Version(version.into_owned())),
        None => Err(ReadFault::Version(raw.get().to_owned())),
    }
}
