//! One call at a time for each key.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use super::CacheKey;

/// The keys that are being asked for, each with a channel for those that wait for it. Dropping the sender wakes them.
#[derive(Debug, Default)]
pub(super) struct Flights {
    under_way: Mutex<HashMap<CacheKey, Option<watch::Sender<()>>>>,
}

/// The right to ask for a key. Dropping it, with or without an answer, lets the next one have it.
#[derive(Debug)]
pub(super) struct Flight<'a> {
    flights: &'a Flights,
    key: CacheKey,
}

impl Flights {
    /// Waits until nobody else asks for `key`.
    pub(super) async fn enter(&self, key: CacheKey) -> Flight<'_> {
        loop {
            let mut landed = match self.under_way().entry(key) {
                Entry::Vacant(free) => {
                    free.insert(None);
                    return Flight { flights: self, key };
                }
                Entry::Occupied(mut taken) => taken
                    .get_mut()
                    .get_or_insert_with(|| watch::channel(()).0)
                    .subscribe(),
            };
            // Nothing is ever sent: it ends when the sender is gone.
            while landed.changed().await.is_ok() {}
        }
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<CacheKey, Option<watch::Sender<()>>>> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.flights.under_way().remove(&self.key);
    }
}
