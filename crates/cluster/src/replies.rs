//! The replies of units in flight, in a bucket: one that is delivered again goes on where it was.

use std::time::Duration;

use async_trait::async_trait;
use engine::unit::ReplyKeeper;
use futures::StreamExt;
use llm_client::{CacheKey, CallEnd, StoredReply};

use crate::{ClusterError, parcel, places::Places};

/// How often a reply is kept before the worker goes on without: the server may be away for a moment.
const TRIES: u32 = 60;

/// Keeps the replies of one unit.
pub(crate) struct UnitKeeper {
    pub(crate) places: Places,
    pub(crate) unit: String,
}

impl std::fmt::Debug for UnitKeeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("UnitKeeper").field(&self.unit).finish()
    }
}

#[async_trait]
impl ReplyKeeper for UnitKeeper {
    async fn keep(&self, key: CacheKey, reply: &StoredReply) {
        let name = format!("{}.{key:?}", self.unit);
        let end = CallEnd::replied(key, reply.clone());
        for _ in 0..TRIES {
            let Ok(text) = parcel::pack(&self.places.objects, &name, &end).await else {
                tokio::time::sleep(Duration::from_millis(500)).await;
                continue;
            };
            match self.places.replies.put(&name, text).await {
                Ok(_) => return,
                Err(error) => tracing::debug!(%error, "a reply is not kept yet"),
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        tracing::warn!(
            unit = self.unit,
            "a reply could not be kept on the server: if this worker dies now, it is called for again"
        );
    }
}

/// The subjects of the replies of `unit` in the bucket.
fn subjects(places: &Places, unit: &str) -> String {
    format!("{}{unit}.>", places.replies.prefix)
}

/// The replies that are kept for `unit`.
pub(crate) async fn kept(places: &Places, unit: &str) -> Result<Vec<CallEnd>, ClusterError> {
    let what = || "the bucket of replies";
    let stream = &places.replies.stream;
    let found = stream.info_with_subjects(subjects(places, unit)).await;
    let mut names = found.map_err(ClusterError::of(what()))?;
    let mut kept = Vec::new();
    while let Some(name) = names.next().await {
        let (name, _) = name.map_err(ClusterError::of(what()))?;
        let last = stream.get_last_raw_message_by_subject(&name).await;
        let message = last.map_err(ClusterError::of(what()))?;
        kept.push(parcel::unpack(&places.objects, &message.payload).await?);
    }
    Ok(kept)
}

/// Removes the replies that are kept for `unit`.
pub(crate) async fn purge(places: &Places, unit: &str) -> Result<(), ClusterError> {
    let purged = places
        .replies
        .stream
        .purge()
        .filter(subjects(places, unit))
        .await;
    purged
        .map(|_| ())
        .map_err(ClusterError::of("the bucket of replies"))
}
