//! What a worker says of itself.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_nats::jetstream::Context;

use crate::{ClusterError, WorkerState, message::short_hash, places};

/// How often a worker reports itself.
const EVERY: Duration = Duration::from_secs(1);

/// Reports a worker to all who look.
#[derive(Clone)]
pub(super) struct Reporter {
    js: Context,
    state: Arc<Mutex<WorkerState>>,
}

impl Reporter {
    pub(super) fn new(js: Context, state: WorkerState) -> Self {
        Self {
            js,
            state: Arc::new(Mutex::new(state)),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, WorkerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports what is so now.
    pub(super) async fn report(&self) -> Result<(), ClusterError> {
        let (key, text) = {
            let state = self.state();
            (key_of(&state.name), serde_json::to_vec(&*state))
        };
        let text = text.map_err(ClusterError::of("the worker"))?;
        let workers = places::workers(&self.js).await?;
        let put = workers.put(key, text.into()).await;
        put.map(|_| ())
            .map_err(ClusterError::of("the bucket of workers"))
    }

    /// Reports again and again, for as long as it is polled: whatever else the worker waits for, nobody takes it for dead.
    pub(super) async fn go_on(self) {
        loop {
            if let Err(error) = self.report().await {
                tracing::debug!(%error, "the server does not answer");
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Says that the worker is gone.
    pub(super) async fn leave(&self) {
        let key = key_of(&self.state().name);
        if let Ok(workers) = places::workers(&self.js).await {
            let _ = workers.purge(key).await;
        }
    }
}

fn key_of(name: &str) -> String {
    short_hash(&[name])
}
