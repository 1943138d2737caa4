//! Whether the conversations of two trees are as long.

use std::ops::ControlFlow;

use schema::{ModelId, Role};
use serde::Deserialize;
use store::{RunError, each_row, provenance::Provenance, unlike_turns};

use super::{Other, Tree};

/// Conversations that are looked at for the longest.
const LOOKED_AT: u32 = 1000;

/// A target whose longest conversations have not as many turns in both trees, where no record says how many they were to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnlikeTurns {
    /// The target.
    pub target: ModelId,
    /// Turns of its longest conversation here.
    pub here: u32,
    /// Turns of its longest conversation in the other tree.
    pub there: u32,
}

/// A longer conversation presses harder: rates of different numbers of turns do not compare. Where the records of both trees say
/// how many turns the conversations were to have and these differ, that is refused. Where they do not, the longest conversations
/// tell, which may have ended early: such targets are returned.
pub(super) fn unlike(
    here: &Tree,
    there: &Other,
    targets: &[ModelId],
) -> Result<Vec<UnlikeTurns>, RunError> {
    let recorded = recorded(here, there, targets);
    let mut unlike = Vec::new();
    for (id, turns) in targets.iter().zip(recorded) {
        match (turns, there) {
            ((Some(ours), Some(theirs)), _) if ours != theirs => {
                return Err(refused(there, id, ours, theirs));
            }
            // An export says how many turns there were to be, where that was known.
            ((Some(_), Some(_)), _) | (_, Other::Export(_)) => {}
            (_, Other::Tree(other)) => {
                let longest = (longest(here, id)?, longest(other, id)?);
                let (Some(here), Some(there)) = longest else {
                    continue;
                };
                if here != there {
                    unlike.push(UnlikeTurns {
                        target: id.clone(),
                        here,
                        there,
                    });
                }
            }
        }
    }
    Ok(unlike)
}

/// How many turns the conversations with each target were to have, here and there, where that is recorded.
fn recorded(here: &Tree, there: &Other, targets: &[ModelId]) -> Vec<(Option<u32>, Option<u32>)> {
    // Trees side by side have one record, and it is not known of which.
    let file = |tree: &Tree| tree.dir.provenance().canonicalize().ok();
    let is_shared = matches!(there, Other::Tree(tree) if file(here) == file(tree));
    let record = |tree: &Tree| match is_shared {
        true => Provenance::default(),
        false => Provenance::read_all(&tree.layout, &tree.dir, targets),
    };
    let ours = record(here);
    let theirs: Vec<Option<u32>> = match there {
        Other::Tree(tree) => {
            let record = record(tree);
            targets.iter().map(|id| record.target(id).turns()).collect()
        }
        Other::Export(export) => targets.iter().map(|id| export.turns(id)).collect(),
    };
    let ours = targets.iter().map(|id| ours.target(id).turns());
    ours.zip(theirs).collect()
}

fn refused(other: &Other, id: &ModelId, here: u32, there: u32) -> RunError {
    RunError::input(format!(
        "{}: not measured alike: {}",
        other.root().display(),
        unlike_turns(id, there, here)
    ))
    .with_help("simulate one of them again with the turns of the other (`--turns`)")
}

/// The turns of the longest of the first conversations with `target`; `None` without any.
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
