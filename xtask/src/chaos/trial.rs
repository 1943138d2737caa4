//! What the parts of one call have in common.

use std::{error::Error, path::PathBuf, time::Duration};

use super::project::{Project, Size};

/// The command that is tried, for how long, and with which cases.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// The command.
    pub(super) program: PathBuf,
    /// How long each part goes on.
    pub(super) time: Duration,
    /// What cases and moments follow from.
    pub(super) seed: u64,
}

impl Trial {
    /// A project of `size` on the models of the server at `base_url`; `more` are further lines of its configuration.
    pub(super) fn project(
        &self,
        base_url: &str,
        size: Size,
        more: &str,
    ) -> Result<Project, Box<dyn Error>> {
        Project::new(self.program.clone(), base_url, size, more)
    }
}
