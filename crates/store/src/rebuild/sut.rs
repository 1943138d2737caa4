//! The files of one system under test during a rebuild.

use std::path::{Path, PathBuf};

use schema::{Conversation, CostSum, PhaseCost, Score};

use crate::{RowForm, RowPosition, RunError, Spool};

/// Rows that will go into files. They are on disk, in the order of the journal, until [`SutFiles::compose`] sorts them into
/// the order of the tree.
#[derive(Default)]
pub(super) struct SutFiles {
    conversations: Option<Spool>,
    scores: Option<Spool>,
    simulate: CostSum,
    evaluate: CostSum,
}

/// The cost of the rows of a system under test, by phase; `None` if there are no rows.
#[derive(Clone, Copy, Default)]
pub(super) struct Sums {
    pub(super) simulate: Option<PhaseCost>,
    pub(super) evaluate: Option<PhaseCost>,
}

impl SutFiles {
    pub(super) fn conversation(
        &mut self,
        out: &Path,
        sut: &str,
        place: RowPosition,
        row: &Conversation,
    ) -> Result<(), RunError> {
        if let Some(usage) = &row.usage {
            self.simulate.add(usage);
        }
        spool(&mut self.conversations, out, sut, "conversations")?.push(place, row)
    }

    pub(super) fn score(
        &mut self,
        out: &Path,
        sut: &str,
        place: RowPosition,
        row: &Score,
    ) -> Result<(), RunError> {
        if let Some(usage) = &row.usage {
            self.evaluate.add(usage);
        }
        spool(&mut self.scores, out, sut, "scores")?.push(place, row)
    }

    pub(super) fn sums(&self) -> Sums {
        Sums {
            simulate: self.conversations.as_ref().map(|_| self.simulate.total()),
            evaluate: self.scores.as_ref().map(|_| self.evaluate.total()),
        }
    }

    /// Drops the rows that the run produced but did not write. Returns the phases whose rows were dropped.
    pub(super) fn keep(
        &mut self,
        wrote: impl Fn(&str) -> bool,
    ) -> Result<Vec<&'static str>, RunError> {
        let mut dropped = Vec::new();
        for (phase, rows) in [
            ("simulate", &mut self.conversations),
            ("evaluate", &mut self.scores),
        ] {
            if let Some(rows) = rows.take_if(|_| !wrote(phase)) {
                rows.discard()?;
                dropped.push(phase);
            }
        }
        Ok(dropped)
    }

    /// Writes the files into `folder`. Returns whether there are scores.
    pub(super) fn compose(self, folder: &Path, files: &mut Vec<PathBuf>) -> Result<bool, RunError> {
        let scored = self.scores.is_some();
        for (spool, name) in [
            (self.conversations, "conversations.json"),
            (self.scores, "scores.json"),
        ] {
            if let Some(spool) = spool {
                let path = folder.join(name);
                spool.compose_rows(&path, RowForm::Plain, |_| ())?;
                files.push(path);
            }
        }
        Ok(scored)
    }
}

/// The spool in `slot`. It is created if it is missing.
fn spool<'s>(
    slot: &'s mut Option<Spool>,
    out: &Path,
    sut: &str,
    name: &str,
) -> Result<&'s mut Spool, RunError> {
    if let Some(spool) = slot {
        return Ok(spool);
    }
    // The id becomes a folder name, as in the tree.
    schema::ModelId::new(sut)
        .and_then(|id| id.check_folder_name())
        .map_err(|error| RunError::input(error.to_string()))?;
    let path = out.join("runs").join(sut).join(format!(".{name}.spool"));
    Ok(slot.insert(Spool::create(&path)?))
}
