//! Several calls within one item: each is recorded as a `... turn` message, and the item's end summarises them.
//!
//! Scripts for ModelBench's journals expect one response of the SUT for each item, one translation of it, and one response of
//! each annotator. So the calls of a conversation, and the calls of a judge that is called more than once, have other names, and
//! one message of each kind is written when the item ends.

mod calls;
mod sum;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schema::{Event, EventBody, ItemKey, Journal};

use self::calls::{Calls, Release};

/// A journal that names the calls of an item by their number, and passes all events on to another journal.
///
/// An item begins with its `queuing item` and ends with its `item finished` or `item failed`. Events outside of such an item are
/// passed on unchanged. `one_reply` in `queuing item` means that the SUT is called once: its call then keeps the plain names.
#[derive(Debug, Default)]
pub struct ItemTurns<J> {
    inner: J,
    items: Mutex<HashMap<Arc<ItemKey>, Calls>>,
}

impl<J> ItemTurns<J> {
    /// A journal that passes its events on to `inner`.
    pub fn new(inner: J) -> Self {
        Self {
            inner,
            items: Mutex::default(),
        }
    }

    /// The wrapped journal.
    pub fn inner(&self) -> &J {
        &self.inner
    }

    fn items(&self) -> MutexGuard<'_, HashMap<Arc<ItemKey>, Calls>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J: Journal> ItemTurns<J> {
    /// Passes on the held-back events: no more events will follow.
    pub fn release(&self) {
        let left = std::mem::take(&mut *self.items());
        for mut calls in left.into_values() {
            for event in calls.release(Release::AsResponses) {
                self.inner.record(event);
            }
        }
    }
}

impl<J: Journal> Journal for ItemTurns<J> {
    fn record(&self, event: Event) {
        let Some(item) = event.item.clone() else {
            return self.inner.record(event);
        };
        // Recording may wait for the disk, and other threads must not wait for it meanwhile.
        let (before, event) = {
            let mut items = self.items();
            match &event.body {
                EventBody::QueuingItem(queued) => {
                    items.insert(item, Calls::begin(queued));
                    (Vec::new(), Some(event))
                }
                EventBody::ItemFinished(_) | EventBody::ItemFailed(_) => {
                    let before = items.remove(&item).map(|calls| calls.end(&event));
                    (before.unwrap_or_default(), Some(event))
                }
                _ => match items.get_mut(&item) {
                    Some(calls) => calls.take(event),
                    None => (Vec::new(), Some(event)),
                },
            }
        };
        before
            .into_iter()
            .chain(event)
            .for_each(|event| self.inner.record(event));
    }
}
