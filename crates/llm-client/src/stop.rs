//! Stopping a run gracefully.

use tokio_util::sync::CancellationToken;

/// A switch that stops a run: once it is thrown no new call is made, calls in flight finish, and cached replies are still
/// served. Clones share the switch.
///
/// ```
/// let stop = llm_client::Stop::new();
/// let same = stop.clone();
/// stop.stop();
/// assert!(same.is_stopped());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(CancellationToken);

impl Stop {
    /// A switch that has not been thrown.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Throws the switch. It cannot be reset.
    pub fn stop(&self) {
        self.0.cancel();
    }

    /// Whether the switch was thrown.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until the switch is thrown.
    pub async fn stopped(&self) {
        self.0.cancelled().await;
    }
}
