//! The reply cache: stores every good reply under a key of its request.
//!
//! Runs resume from it. [`Cached`] is the layer around a model, [`Cache`] has the rules (ages, single flight, counters), and a
//! [`ReplyStore`] keeps the replies: [`SqliteStore`], or your own store. A reply is stored before its caller gets it, so that
//! the same call in the next run is answered from the cache, even if the process is killed.

mod bounds;
mod cached;
mod checkpoints;
mod contents;
mod earlier;
mod error;
mod file;
mod flight;
mod kept_pace;
mod key;
mod merge;
mod pages;
mod prune;
mod repair;
mod reply_form;
mod row;
mod settings;
mod sqlite;
mod store;
mod writer;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, SystemTime},
};

use schema::{CallContext, text::counted};
use tokio::sync::SetOnce;

pub use cached::Cached;
pub use contents::{CacheContents, CacheGroup};
pub use error::CacheError;
pub use kept_pace::{EndpointHash, KeptPace};
pub use key::{CacheKey, KeyMaker};
pub use prune::{PruneFilter, Pruned, Unshrunk};
pub use settings::{CacheMode, CacheSettings, CacheStats, CachedRow};
pub use sqlite::SqliteStore;
pub use store::{ReplyStore, StoreError, StoredReply};

pub(crate) use reply_form::ReplyForm;

use flight::{Flight, Flights};

/// How long the pace of an endpoint is kept.
const PACE_KEPT: Duration = Duration::from_secs(3600);
/// Attempts a second that a kept pace may have: anything else is damaged or of another program.
const SENSIBLE_PACES: std::ops::RangeInclusive<f64> = 0.1..=100_000.0;

/// A store of replies and the rules of its use. Clones share both.
///
/// ```
/// use llm_client::{Cache, CacheSettings};
///
/// let folder = tempfile::tempdir()?;
/// let cache = Cache::open(folder.path().join("replies.sqlite"), CacheSettings::default())?;
/// assert_eq!(cache.count()?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cache {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Arc<dyn ReplyStore>,
    settings: CacheSettings,
    /// When the cache was opened, in whole microseconds, as stored times are.
    opened: SystemTime,
    flights: Flights,
    counters: Counters,
    trouble: SetOnce<String>,
}

#[derive(Debug, Default)]
struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
    stored: AtomicU64,
    not_stored: AtomicU64,
    damaged: AtomicU64,
}

impl Cache {
    /// Opens a cache in the SQLite file at `path`. The file and its folder are created if they do not exist. Several processes may
    /// have the file open at once. Dropping the last clone closes it.
    ///
    /// # Errors
    /// When the file cannot be created, read or written, is damaged, belongs to another program, or was written by a newer
    /// version of Probity.
    pub fn open(path: impl AsRef<Path>, settings: CacheSettings) -> Result<Self, CacheError> {
        let store = SqliteStore::open(path, settings.max_bytes)?;
        Ok(Self::new(Arc::new(store), settings))
    }

    /// Creates a cache in your own store. `max_bytes` of the settings has no effect here: keeping a limit is up to the store.
    #[must_use]
    pub fn new(store: Arc<dyn ReplyStore>, settings: CacheSettings) -> Self {
        Self {
            shared: Arc::new(Shared {
                store,
                settings,
                opened: row::time(row::micros(SystemTime::now())),
                flights: Flights::default(),
                counters: Counters::default(),
                trouble: SetOnce::new(),
            }),
        }
    }

    /// The store's name; for a file, its path.
    #[must_use]
    pub fn name(&self) -> String {
        self.shared.store.name()
    }

    /// How many replies the store holds, old ones included.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn count(&self) -> Result<u64, StoreError> {
        self.shared.store.count()
    }

    /// The counts since the cache was opened.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        let counters = &self.shared.counters;
        CacheStats {
            hits: counters.hits.load(Relaxed),
            misses: counters.misses.load(Relaxed),
            stored: counters.stored.load(Relaxed),
            not_stored: counters.not_stored.load(Relaxed),
            damaged: counters.damaged.load(Relaxed),
        }
    }

    /// The reason why a reply could not be stored, of the first such reply: for example, a full disk. The reply was still returned;
    /// the next run requests it again.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.shared.trouble.get().cloned()
    }

    /// Waits for a reply that could not be stored, and returns the reason: [`Cache::trouble`].
    pub async fn until_trouble(&self) -> String {
        self.shared.trouble.wait().await.clone()
    }

    /// Attempts a second that `endpoint` took, if a run learned it in the last hour.
    pub(crate) fn pace(&self, endpoint: &EndpointHash) -> Option<f64> {
        let kept = match self.shared.store.pace(endpoint) {
            Ok(kept) => kept?,
            Err(error) => {
                tracing::debug!(%error, "the kept pace of an endpoint is ignored");
                return None;
            }
        };
        // One from the future is of no known age.
        let is_new = kept.learned.elapsed().is_ok_and(|age| age <= PACE_KEPT);
        (is_new && SENSIBLE_PACES.contains(&kept.rate)).then_some(kept.rate)
    }

    /// Keeps for the next run that `endpoint` takes `rate` attempts a second. Waits for nothing.
    pub(crate) fn keep_pace(&self, endpoint: EndpointHash, rate: f64) {
        let learned = SystemTime::now();
        self.shared
            .store
            .keep_pace(endpoint, KeptPace { rate, learned });
    }

    /// The reply stored under `key`, however old: for one that a call has just found there. `None` if it cannot be read.
    pub async fn reply(&self, key: &CacheKey) -> Option<StoredReply> {
        self.shared.store.get(key).await.ok().flatten()
    }

    /// Waits until no other call for `key` is under way.
    async fn enter(&self, key: &CacheKey) -> Flight<'_> {
        self.shared.flights.enter(key).await
    }

    /// The reply stored under `key`, if the settings allow its use.
    async fn get(
        &self,
        key: &CacheKey,
        context: &CallContext,
    ) -> Result<Option<StoredReply>, StoreError> {
        let stored = self.shared.store.get(key).await?;
        Ok(stored.filter(|stored| self.is_usable(stored, context)))
    }

    /// Stores `reply`. A failure is counted, and logged the first time; the caller still gets the reply.
    async fn put(&self, key: &CacheKey, reply: &StoredReply) {
        let counters = &self.shared.counters;
        let Err(error) = self.shared.store.put(key, reply).await else {
            counters.stored.fetch_add(1, Relaxed);
            return;
        };
        counters.not_stored.fetch_add(1, Relaxed);
        let problem = error.to_string();
        if self.shared.trouble.set(problem.clone()).is_ok() {
            tracing::warn!(
                "{problem}. Replies that are not stored will be requested, and cost, again in a later run"
            );
        }
    }

    /// Whether the settings allow `stored` to be used for a call of `context`.
    fn is_usable(&self, stored: &StoredReply, context: &CallContext) -> bool {
        let settings = &self.shared.settings;
        let is_ignored = stored.created < self.shared.opened && settings.mode.refreshes(context);
        // After the clock was set back, a reply may be from the future; it counts as new.
        let age = stored.created.elapsed().unwrap_or_default();
        !is_ignored && settings.max_age.is_none_or(|most| age <= most)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let damaged = self.counters.damaged.load(Relaxed);
        if damaged > 0 {
            tracing::warn!(
                "the response cache {} held {}: the calls were made again, and the new replies stored instead. If this happens \
                 again, check the disk",
                self.store.name(),
                counted(damaged, "damaged reply", "damaged replies")
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_that_is_old_or_absurd_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let endpoint = EndpointHash::new("http://h/v1", Some("key"));
        let hour = Duration::from_secs(3600);
        let now = SystemTime::now();
        for (number, (rate, learned, found)) in [
            (5.0, now, Some(5.0)),
            (5.0, now - hour / 2, Some(5.0)),
            (5.0, now - hour - Duration::from_secs(1), None),
            (5.0, now + hour, None),
            (0.0, now, None),
            (-5.0, now, None),
            (f64::INFINITY, now, None),
            (1e9, now, None),
        ]
        .into_iter()
        .enumerate()
        {
            let path = folder.path().join(format!("{number}.sqlite"));
            let store = SqliteStore::open(&path, None).unwrap();
            store.keep_pace(endpoint, KeptPace { rate, learned });
            drop(store);
            let cache = Cache::open(&path, CacheSettings::default()).unwrap();
            assert_eq!(cache.pace(&endpoint), found, "{rate} {learned:?}");
        }
    }
}
