//! What is on the server.

use crate::{
    ClusterError, NatsOptions, WorkerState,
    message::RunEntry,
    places::{self, Places},
    upkeep,
};

/// A run on the server.
#[derive(Clone, Debug, Default)]
pub struct RunStatus {
    /// The name of its streams.
    pub key: String,
    /// Its benchmarks.
    pub benchmarks: Vec<String>,
    /// Whether it is stopping.
    pub is_stopping: bool,
    /// Units that wait for a worker or are in flight.
    pub units: u64,
    /// Ends that the coordinator has not written yet.
    pub ends: u64,
    /// Replies of units in flight.
    pub replies: u64,
}

/// The runs and the workers on the server.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub async fn status(
    options: &NatsOptions,
) -> Result<(Vec<RunStatus>, Vec<WorkerState>), ClusterError> {
    let js = options.connect("probity status").await?;
    let mut runs = Vec::new();
    let entries = places::entries::<RunEntry>(&places::runs(&js).await?).await?;
    for (key, entry) in entries {
        let mut run = RunStatus {
            key: key.clone(),
            benchmarks: entry.benchmarks,
            is_stopping: entry.is_stopping,
            ..RunStatus::default()
        };
        if let Ok(places) = Places::find(&js, &key).await {
            run.units = places.units.cached_info().state.messages;
            run.ends = places.ends.cached_info().state.messages;
            run.replies = places.replies.stream.cached_info().state.messages;
        }
        runs.push(run);
    }
    let mut workers = upkeep::workers(&js).await?;
    workers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((runs, workers))
}
