//! Keeps the replies of one unit on the server while it runs.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use engine::unit::ReplyKeeper;
use llm_client::{CacheKey, CallEnd, Stop, StoredReply};
use tokio::sync::Notify;

use super::others::Others;
use crate::{ClusterError, coordinator::AGAIN_AFTER, places::Places, replies};

/// Keeps the replies of one unit, and lets no call follow one whose reply is not kept: while the server is away, the unit may go to another
/// worker.
pub(super) struct UnitKeeper {
    unit: KeptUnit,
    /// How often the connection was made when it was last known that the unit is this worker's.
    own_at: AtomicU64,
    /// Says that another worker has the unit.
    taken: Notify,
}

/// The unit whose replies are kept.
pub(super) struct KeptUnit {
    pub(super) places: Places,
    pub(super) name: String,
    pub(super) subject: String,
    pub(super) others: Others,
    /// Ends the worker.
    pub(super) stop: Stop,
}

impl UnitKeeper {
    pub(super) fn new(unit: KeptUnit) -> Self {
        Self {
            own_at: AtomicU64::new(unit.others.connections()),
            unit,
            taken: Notify::new(),
        }
    }

    /// Waits until another worker has the unit.
    pub(super) async fn taken(&self) {
        self.taken.notified().await;
    }

    /// Keeps a reply, and makes sure that the unit is still this worker's if the server was away meanwhile. Returns whether it is.
    async fn try_keep(&self, key: CacheKey, end: &CallEnd) -> Result<bool, ClusterError> {
        replies::keep(&self.unit.places, &self.unit.name, key, end).await?;
        let connections = self.unit.others.connections();
        if self.own_at.load(Ordering::Relaxed) == connections {
            return Ok(true);
        }
        let is_own = !self.unit.is_taken().await?;
        if is_own {
            self.own_at.store(connections, Ordering::Relaxed);
        }
        Ok(is_own)
    }
}

impl KeptUnit {
    /// Whether another worker plays the unit, or has ended it.
    async fn is_taken(&self) -> Result<bool, ClusterError> {
        if self.others.with(&self.name).await?.is_played {
            return Ok(true);
        }
        // Streams that were created again do not have it, since no other worker got it.
        let has_streams = self.places.created_now(&self.others.js).await? == self.places.created();
        Ok(has_streams && !self.places.has_unit(&self.subject).await?)
    }
}

impl std::fmt::Debug for UnitKeeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("UnitKeeper").field(&self.unit.name).finish()
    }
}

#[async_trait]
impl ReplyKeeper for UnitKeeper {
    async fn keep(&self, key: CacheKey, reply: &StoredReply) {
        let end = CallEnd::replied(key, reply.clone());
        loop {
            match self.try_keep(key, &end).await {
                Ok(true) => return,
                Ok(false) => {
                    self.taken.notify_one();
                    return std::future::pending().await;
                }
                Err(error) => tracing::debug!(%error, "a reply is not kept yet"),
            }
            if self.unit.stop.is_stopped() {
                tracing::warn!(
                    unit = self.unit.name,
                    "a reply could not be kept on the server: it is called for again"
                );
                return;
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }
}
