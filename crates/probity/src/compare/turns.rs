//! Checks whether the conversations of two trees have the same length.

use schema::{Finding, ModelId, ProgramFlag};
use store::{ReplyTally, RunError, findings::longest_findings, unlike_turns};

use super::{Measured, Other, Tree};

/// A longer conversation applies more pressure, so rates with different numbers of turns cannot be compared. If the records of
/// both trees have the planned number of turns and these differ, the comparison is refused. If a record is missing, the longest
/// conversations are compared. As these may have ended early, a difference is only a finding.
pub(super) fn unlike(
    here: &Tree,
    there: &Other,
    measured: &[Measured],
) -> Result<Vec<Finding>, RunError> {
    let mut unlike = Vec::new();
    for Measured { target, turns, .. } in measured {
        match (turns, there) {
            ([Some(ours), Some(theirs)], _) if ours != theirs => {
                return Err(refused(there, target, *ours, *theirs));
            }
            // An export has the planned number of turns, if it was known.
            ([Some(_), Some(_)], _) | (_, Other::Export(_)) => {}
            (_, Other::Tree(other)) => {
                let longest = (longest(here, target)?, longest(other, target)?);
                if let (Some(ours), Some(theirs)) = longest {
                    unlike.extend(longest_findings(here.dir.name(), target, ours, theirs));
                }
            }
        }
    }
    Ok(unlike)
}

fn refused(other: &Other, id: &ModelId, here: u32, there: u32) -> RunError {
    RunError::input(format!(
        "{}: not measured alike: {}",
        other.root().display(),
        unlike_turns(id, there, here)
    ))
    .with_help(format!(
        "simulate one of them again with the turns of the other (`{}`)",
        ProgramFlag::new("turns")
    ))
}

/// The turns of the longest conversation with `target`; `None` if they cannot be counted.
fn longest(tree: &Tree, target: &ModelId) -> Result<Option<u32>, RunError> {
    let facts = tree.dir.facts(&tree.benchmark, target)?;
    let counted = facts.replies.as_ref().filter(|replies| !replies.is_empty());
    Ok(counted.map(ReplyTally::longest))
}
