//! How the cache is used.

use std::time::Duration;

/// How the cache is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSettings {
    /// Whether stored replies are used.
    pub mode: CacheMode,
    /// Replies older than this are requested again, and replaced. `None`: they never age.
    pub max_age: Option<Duration>,
    /// The file grows no larger than this, in bytes; a reply that does not fit is returned without being stored. `None`: no limit.
    /// The write-ahead log beside the file is not counted.
    pub max_bytes: Option<u64>,
}

/// Whether stored replies are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheMode {
    /// Stored replies are used.
    #[default]
    Use,
    /// Everything is requested again, once: replies stored before the cache was opened are ignored and replaced.
    Refresh,
}

/// What happened since a cache was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Calls that were answered from the cache.
    pub hits: u64,
    /// Calls that had to be made.
    pub misses: u64,
    /// Replies that were stored.
    pub stored: u64,
    /// Replies that could not be stored; see [`Cache::trouble`](crate::Cache::trouble).
    pub not_stored: u64,
    /// Stored replies that were found damaged. They were not used: the calls were made again.
    pub damaged: u64,
}
