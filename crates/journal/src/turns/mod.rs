//! Several calls within one item: each is recorded as a `... turn` message, and one message sums them up.
//!
//! Scripts for ModelBench's journals expect one response of the SUT for each item, one translation of it, and one response of
//! each annotator. So the calls of a conversation, and the calls of a judge that is called more than once, have other names. One message
//! of each kind sums them up: of the conversation before a judge is called, of the judges when the item ends.

mod calls;
mod sum;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schema::{Event, EventBody, ItemKey, Journal};

use self::calls::Calls;

/// A journal that names the calls of an item by their number, and passes all events on to another journal.
///
/// An item begins with its `queuing item` and ends with its `item finished` or `item failed`. Events outside of such an item are
/// passed on unchanged. `one_reply` in `queuing item` means that the SUT is called once: its call then keeps the plain names.
#[derive(Debug, Default)]
pub struct ItemTurns<J> {
    inner: J,
    items: Mutex<HashMap<Arc<ItemKey>, OpenItem>>,
}

/// The calls of an item; `None` after its end.
type OpenItem = Arc<Mutex<Option<Calls>>>;

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

    fn items(&self) -> MutexGuard<'_, HashMap<Arc<ItemKey>, OpenItem>> {
        lock(&self.items)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<J: Journal> ItemTurns<J> {
    /// Passes on the held-back events: no more events will follow.
    pub fn release(&self) {
        let left = std::mem::take(&mut *self.items());
        for open in left.into_values() {
            for event in lock(&open)
                .take()
                .map(Calls::release_all)
                .unwrap_or_default()
            {
                self.inner.record(event);
            }
        }
    }
}

impl<J: Journal> Journal for ItemTurns<J> {
    fn record(&self, event: Event) {
        let open = match &event.item {
            None => None,
            Some(item) => match &event.body {
                EventBody::QueuingItem(queued) => {
                    let open = OpenItem::new(Mutex::new(Some(Calls::begin(queued))));
                    self.items().insert(Arc::clone(item), open);
                    None
                }
                EventBody::ItemFinished(_) | EventBody::ItemFailed(_) => self.items().remove(item),
                _ => self.items().get(item).cloned(),
            },
        };
        let Some(open) = open else {
            return self.inner.record(event);
        };
        // Recording may wait for the disk. Other items do not wait for it meanwhile; the events of this one stay in their order, for a call
        // leaves out what the one before it has.
        let mut open = lock(&open);
        let events = match (&event.body, &mut *open) {
            (EventBody::ItemFinished(_) | EventBody::ItemFailed(_), _) => {
                let mut events = open
                    .take()
                    .map(|calls| calls.end(&event))
                    .unwrap_or_default();
                events.push(event);
                events
            }
            (_, Some(calls)) => calls.take(event),
            (_, None) => vec![event],
        };
        events
            .into_iter()
            .for_each(|event| self.inner.record(event));
    }
}
