//! One call at a time for each key.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use super::CacheKey;

/// The keys with a call under way, each with a channel for the calls that wait for it. Dropping the sender wakes them.
#[derive(Debug, Default)]
pub(super) struct Flights {
    under_way: Mutex<HashMap<CacheKey, watch::Sender<()>>>,
}

/// The right to call for a key. Dropping it, with or without a reply, passes it on.
#[derive(Debug)]
pub(super) struct Flight<'a> {
    flights: &'a Flights,
    key: CacheKey,
}

impl Flights {
    /// Waits until no other call for `key` is under way.
    pub(super) async fn enter(&self, key: &CacheKey) -> Flight<'_> {
        loop {
            let mut landed = match self.try_enter(key) {
                Ok(flight) => return flight,
                Err(landed) => landed,
            };
            // Nothing is ever sent: the wait ends when the sender is dropped.
            while landed.changed().await.is_ok() {}
        }
    }

    fn try_enter(&self, key: &CacheKey) -> Result<Flight<'_>, watch::Receiver<()>> {
        match self.under_way().entry(*key) {
            Entry::Vacant(free) => {
                free.insert(watch::channel(()).0);
                Ok(Flight {
                    flights: self,
                    key: *key,
                })
            }
            Entry::Occupied(taken) => Err(taken.get().subscribe()),
        }
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<CacheKey, watch::Sender<()>>> {
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
