//! One call at a time for each key.

use std::{
    collections::hash_map::Entry,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use super::{
    CacheKey,
    part::{Part, PartMap},
};

/// The keys that are being asked for, each with a channel for those that wait for it. Dropping the sender wakes them.
#[derive(Debug, Default)]
pub(super) struct Flights {
    under_way: Mutex<PartMap<Option<watch::Sender<()>>>>,
}

/// The right to ask for a key. Dropping it, with or without an answer, lets the next one have it.
#[derive(Debug)]
pub(super) struct Flight<'a> {
    flights: &'a Flights,
    part: Part,
}

impl Flights {
    /// Waits until nobody else asks for `key`.
    pub(super) async fn enter(&self, key: &CacheKey) -> Flight<'_> {
        loop {
            let mut landed = match self.try_enter(key.part()) {
                Ok(flight) => return flight,
                Err(landed) => landed,
            };
            // Nothing is ever sent: it ends when the sender is gone. Apart, so that calls that need not wait stay small.
            Box::pin(async move { while landed.changed().await.is_ok() {} }).await;
        }
    }

    fn try_enter(&self, part: Part) -> Result<Flight<'_>, watch::Receiver<()>> {
        match self.under_way().entry(part) {
            Entry::Vacant(free) => {
                free.insert(None);
                Ok(Flight {
                    flights: self,
                    part,
                })
            }
            Entry::Occupied(mut taken) => Err(taken
                .get_mut()
                .get_or_insert_with(|| watch::channel(()).0)
                .subscribe()),
        }
    }

    fn under_way(&self) -> MutexGuard<'_, PartMap<Option<watch::Sender<()>>>> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.flights.under_way().remove(&self.part);
    }
}
