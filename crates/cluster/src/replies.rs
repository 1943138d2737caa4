//! The replies of units in flight, in a bucket: one that is delivered again goes on where it was.

use futures::StreamExt;
use llm_client::{CacheKey, CallEnd};

use crate::{ClusterError, parcel, places::Places};

/// The subjects of the replies of `unit` in the bucket.
fn subjects(places: &Places, unit: &str) -> String {
    format!("{}{unit}.>", places.replies.prefix)
}

/// Keeps the reply that ends a call of `unit` with `key`.
pub(crate) async fn keep(
    places: &Places,
    unit: &str,
    key: CacheKey,
    end: &CallEnd,
) -> Result<(), ClusterError> {
    let name = format!("{unit}.{key:?}");
    let text = parcel::pack(&places.objects, &name, end).await?;
    let put = places.replies.put(&name, text).await;
    put.map(|_| ())
        .map_err(ClusterError::of("the bucket of replies"))
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
