//! The version of the journal's form.

use crate::{Line, error::ReadFault};

/// What stands in the `format_version` of "starting journal". Journals of other programs have none.
pub(crate) const FORMAT_VERSION: &str = "1.1.0";

/// Whether journals of this version tell each call of a conversation as a response of its own, with no summary.
pub(crate) fn has_a_response_for_each_turn(version: &str) -> bool {
    version.starts_with("1.0.")
}

/// Refuses a journal of a later generation: what it means by its words is not known here.
pub(crate) fn check(line: &Line<'_>) -> Result<(), ReadFault> {
    if line.message != "starting journal" {
        return Ok(());
    }
    let Some(raw) = line.raw("format_version") else {
        return Ok(());
    };
    let generation = |version: &str| version.split('.').next() == FORMAT_VERSION.split('.').next();
    match line.text("format_version") {
        Some(version) if generation(&version) => Ok(()),
        Some(version) => Err(ReadFault::Version(version.into_owned())),
        None => Err(ReadFault::Version(raw.get().to_owned())),
    }
}
