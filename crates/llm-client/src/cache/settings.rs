//! The settings and counts of the cache.

use std::{sync::Arc, time::Duration};

use schema::{CallContext, Purpose};

/// The settings of the cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CacheMode {
    /// Stored replies are used.
    #[default]
    Use,
    /// Everything is requested again, once: replies stored before the cache was opened are ignored and replaced.
    Refresh,
    /// Like [`Refresh`](Self::Refresh) for calls of these rows; for all others stored replies are used.
    RefreshRows(Arc<[CachedRow]>),
    /// Like [`Refresh`](Self::Refresh) for calls to targets. Stored replies of user, judge and other models are used where their request is
    /// the same as before: where the target says what it said.
    RefreshTargets,
    /// Only stored replies are used: a call without one fails, and nothing is sent.
    Only,
}

impl CacheMode {
    /// Whether a reply to a call of `context` that was stored before the cache was opened is ignored.
    pub(super) fn refreshes(&self, context: &CallContext) -> bool {
        match self {
            Self::Use | Self::Only => false,
            Self::Refresh => true,
            Self::RefreshTargets => context.purpose == Purpose::TargetTurn,
            Self::RefreshRows(rows) => rows.iter().any(|row| row.made(context)),
        }
    }
}

/// The calls of one sample of a row: a conversation and its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedRow {
    /// [`CallContext::row`] of the conversation's calls. Those of its judges begin with it, followed by `__` and the metric.
    pub row: String,
    /// [`CallContext::sample`]: which repetition of the row, from 0.
    pub sample: u32,
}

impl CachedRow {
    /// Whether a call of `context` is one of the row's.
    fn made(&self, context: &CallContext) -> bool {
        let rest = context.row.strip_prefix(self.row.as_str());
        self.sample == context.sample
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
    }
}

/// Counts since a cache was opened.
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
