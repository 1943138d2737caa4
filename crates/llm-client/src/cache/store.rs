//! The store of replies: the extension point, and the stored data.

use std::{
    error::Error,
    fmt,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use schema::{JsonText, Spend};
use serde::{Deserialize, Serialize};

use super::{CacheKey, EndpointHash, KeptPace, error::CacheError};
use crate::ReplyBody;

/// Stores replies by key. An extension point: implement it to keep replies elsewhere than in a file, and pass the store to
/// [`Cache::new`](crate::Cache::new). `examples/reply_store.rs` is a store in memory.
///
/// A call to a model waits for `get` before it is made and for `put` after it. Calls for different keys come at the same time;
/// within one process, two calls for the same key do not.
#[async_trait]
pub trait ReplyStore: fmt::Debug + Send + Sync {
    /// The reply stored under `key`; `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] makes the call go to the model, whose reply is then stored; [`StoreError::Failed`] fails the call.
    async fn get(&self, key: &CacheKey) -> Result<Option<StoredReply>, StoreError>;

    /// Stores `reply` under `key`, in place of an existing one. When it returns, the reply outlives the process.
    ///
    /// # Errors
    /// When the reply could not be stored. The caller gets the reply anyway, and the run reports the first failure.
    async fn put(&self, key: &CacheKey, reply: &StoredReply) -> Result<(), StoreError>;

    /// The number of stored replies, for messages and journals. A store that cannot count returns 0.
    ///
    /// # Errors
    /// When it cannot be read.
    fn count(&self) -> Result<u64, StoreError> {
        Ok(0)
    }

    /// The pace of `endpoint` that was kept last, however old. By default none is kept.
    ///
    /// # Errors
    /// When it cannot be read: the run goes on without it.
    fn pace(&self, _endpoint: &EndpointHash) -> Result<Option<KeptPace>, StoreError> {
        Ok(None)
    }

    /// Keeps the pace of `endpoint` for later runs, in place of an earlier one. Called every few seconds at most, from where calls start, so it
    /// must not wait. One that cannot be kept is of no consequence: the next run learns it again.
    fn keep_pace(&self, _endpoint: EndpointHash, _pace: KeptPace) {}

    /// Its name in messages and journals.
    fn name(&self) -> String {
        "custom".to_owned()
    }
}

/// The errors of a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is a reply under the key, and it is damaged.
    #[error("the stored reply is damaged")]
    Damaged,
    /// The store cannot be used. The text of the source is shown to people: it names the store and says what to do.
    #[error(transparent)]
    Failed(Box<dyn Error + Send + Sync>),
}

impl From<CacheError> for StoreError {
    fn from(error: CacheError) -> Self {
        Self::Failed(Box::new(error))
    }
}

/// A reply as it is stored. The request is not part of it: it grows with every turn, and the caller has just made it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredReply {
    /// When it was stored, in whole microseconds.
    pub created: SystemTime,
    /// How long the call took, in whole microseconds.
    pub run_time: Duration,
    /// The attempts before it that failed but were billed.
    pub failed_attempts: Spend,
    /// The reply in Probity's own form. `None`: stored by a version that kept only the wire text.
    pub body: Option<ReplyBody>,
    /// The response body as it came over the wire, if the model has one. It is parsed again by today's settings, and `body` is used
    /// if that fails.
    pub wire: Option<JsonText>,
    /// The model's name on the wire. `None`: stored by an earlier version.
    pub model: Option<String>,
    /// The endpoint's address, without keys. `None`: stored by an earlier version.
    pub endpoint: Option<String>,
}
