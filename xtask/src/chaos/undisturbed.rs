//! A run that nothing disturbs, with which the others are compared.

use std::{
    collections::BTreeMap,
    error::Error,
    path::{Path, PathBuf},
};

use scripted_llm::Stats;

use super::{
    project::{Project, difference, files},
    promises,
};

/// The files that commands wrote undisturbed, and their calls.
pub(super) struct Undisturbed {
    files: BTreeMap<PathBuf, Vec<u8>>,
    answered: BTreeMap<String, u64>,
}

impl Undisturbed {
    /// Keeps what `project` has at or below `out`, and the calls of its server.
    pub(super) fn of(
        project: &Project,
        out: impl AsRef<Path>,
        stats: &Stats,
    ) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            files: files(&project.path().join(out))?,
            answered: promises::answered(stats),
        })
    }

    /// The first file at or below `out` that differs, if any.
    pub(super) fn difference(&self, out: &Path) -> Result<Option<String>, Box<dyn Error>> {
        Ok(difference(&files(out)?, &self.files))
    }

    /// Replies that were sent again although they had been sent before.
    pub(super) fn repeated(&self, stats: &Stats) -> u64 {
        promises::repeated(stats, &self.answered)
    }

    /// As [`Self::repeated`]. More of them than the `lost` ones, which did not arrive whole or were not stored, break a promise.
    pub(super) fn paid_twice(&self, stats: &Stats, lost: u64, broken: &mut Vec<String>) -> u64 {
        let repeated = self.repeated(stats);
        if repeated > lost {
            broken.push(format!(
                "{repeated} replies were paid twice, and {lost} were lost"
            ));
        }
        repeated
    }
}
