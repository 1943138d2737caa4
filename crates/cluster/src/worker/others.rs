//! What other workers have of a unit.

use async_nats::jetstream::Context;

use super::{away, report::Reporter};
use crate::{ClusterError, WorkerState, upkeep};

/// Looks for other workers of a run.
#[derive(Clone)]
pub(super) struct Others {
    pub(super) js: Context,
    pub(super) run: String,
    pub(super) reporter: Reporter,
}

/// The other workers that have a unit.
pub(super) struct OthersWith {
    /// Whether any has it.
    pub(super) any: bool,
    /// Whether one of them plays it, and does not wait for another worker.
    pub(super) is_played: bool,
    /// Whether this worker is the first of all that have it, by name.
    pub(super) is_first: bool,
}

impl Others {
    /// How often this worker has connected to the server. While that is the same, all others have heard of it.
    pub(super) fn connections(&self) -> u64 {
        away::connections(&self.js)
    }

    /// The other workers that have `unit`, as they say.
    pub(super) async fn with(&self, unit: &str) -> Result<OthersWith, ClusterError> {
        let own = self.reporter.state().name.clone();
        let mut all = upkeep::workers(&self.js).await?;
        all.retain(|worker| worker.name != own && worker.has_in_flight(&self.run, unit));
        let plays = |worker: &WorkerState| !worker.waits_for(&self.run, unit);
        Ok(OthersWith {
            any: !all.is_empty(),
            is_played: all.iter().any(plays),
            is_first: all.iter().all(|worker| own < worker.name),
        })
    }
}
