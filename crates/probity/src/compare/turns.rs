//! Checks whether the conversations of two trees have the same length.

use std::ops::ControlFlow;

use schema::{Finding, ModelId, ProgramFlag, Role};
use serde::Deserialize;
use store::{RunError, each_row, findings::longest_findings, unlike_turns};

use super::{Measured, Other, Tree};

/// How many conversations are searched for the longest one.
const LOOKED_AT: u32 = 1000;

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

/// The turns of the longest among the first conversations with `target`; `None` if there are none.
fn longest(tree: &Tree, target: &ModelId) -> Result<Option<u32>, RunError> {
    #[derive(Deserialize)]
    struct Row {
        transcript: Vec<Said>,
    }
    #[derive(Deserialize)]
    struct Said {
        role: Role,
    }
    let path = tree.dir.target(target)?.conversations();
    if !path.exists() {
        return Ok(None);
    }
    let (mut found, mut looked_at) = (None, 0);
    each_row(&path, |row: Row| {
        let said = row.transcript.iter().filter(|said| said.role == Role::User);
        let turns = u32::try_from(said.count()).unwrap_or(u32::MAX);
        found = found.max(Some(turns));
        looked_at += 1;
        Ok(match looked_at < LOOKED_AT {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    Ok(found)
}
