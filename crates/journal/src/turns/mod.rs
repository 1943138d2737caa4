//! Several calls within one item: each is recorded as a `... turn` message, and one message sums them up.
//!
//! Scripts for ModelBench's journals expect one response of the SUT for each item, one translation of it, and one response of
//! each annotator. So the calls of a conversation, and the calls of a judge that is called more than once, have other names. One message
//! of each kind sums them up: of the conversation before a judge is called, of the judges when the item ends.
//!
//! An item that comes whole from the cache and that an earlier journal has is written by reference to that journal: see `held`.

mod calls;
mod held;
mod sum;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schema::{Event, EventBody, ItemKey, Journal};

use self::{calls::Calls, held::HeldItem};
use crate::EarlierItems;

/// A journal that names the calls of an item by their number, and passes all events on to another journal.
///
/// An item begins with its `queuing item` and ends with its `item finished` or `item failed`. Events outside of such an item are
/// passed on unchanged. `one_reply` in `queuing item` means that the SUT is called once: its call then keeps the plain names.
#[derive(Debug, Default)]
pub struct ItemTurns<J> {
    inner: J,
    items: Mutex<HashMap<Arc<ItemKey>, SharedItem>>,
    earlier: Option<Arc<dyn EarlierItems>>,
}

/// An item; `None` after its end.
type SharedItem = Arc<Mutex<Option<OpenItem>>>;

/// An item that has not ended.
#[derive(Debug)]
struct OpenItem {
    calls: Calls,
    /// Its events, as long as it may come whole from the cache.
    held: Option<HeldItem>,
}

impl OpenItem {
    /// The events to pass on instead of `event`.
    fn take(&mut self, event: Event) -> Vec<Event> {
        let is_kept = self.held.as_mut().is_some_and(|held| held.take(&event));
        let events = self.calls.take(event);
        self.pass_on(is_kept, events)
    }

    /// `events`, and those that were held back before: `is_kept` says that all of them still wait.
    fn pass_on(&mut self, is_kept: bool, events: Vec<Event>) -> Vec<Event> {
        match (self.held.take(), is_kept) {
            (Some(mut held), true) => {
                held.hold(events);
                self.held = Some(held);
                Vec::new()
            }
            (Some(held), false) => held.release().into_iter().chain(events).collect(),
            (None, _) => events,
        }
    }

    /// The last events of the item, which `ended` ends.
    fn end(mut self, ended: Event, earlier: Option<&dyn EarlierItems>) -> Vec<Event> {
        let is_kept = self.held.as_mut().is_some_and(|held| held.take(&ended));
        let OpenItem { calls, held } = self;
        let mut events = calls.end(&ended);
        events.push(ended);
        match (held, earlier) {
            (Some(mut held), Some(earlier)) if is_kept => {
                held.hold(events);
                held.end(earlier)
            }
            (Some(held), _) => held.release().into_iter().chain(events).collect(),
            (None, _) => events,
        }
    }
}

impl<J> ItemTurns<J> {
    /// A journal that passes its events on to `inner`.
    pub fn new(inner: J) -> Self {
        Self {
            inner,
            items: Mutex::default(),
            earlier: None,
        }
    }

    /// Sets who finds items in earlier journals: rows that come whole from the cache are then written by reference to these.
    #[must_use]
    pub fn with_earlier(mut self, earlier: Arc<dyn EarlierItems>) -> Self {
        self.earlier = Some(earlier);
        self
    }

    /// The wrapped journal.
    pub fn inner(&self) -> &J {
        &self.inner
    }

    fn items(&self) -> MutexGuard<'_, HashMap<Arc<ItemKey>, SharedItem>> {
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
            let Some(open) = lock(&open).take() else {
                continue;
            };
            let held = open.held.map(HeldItem::release).unwrap_or_default();
            for event in held.into_iter().chain(open.calls.release_all()) {
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
                    let earlier = self.earlier.as_deref();
                    let held = earlier.and_then(|earlier| HeldItem::begin(&event, earlier));
                    let waits = held.is_some();
                    let calls = Calls::begin(queued);
                    let open = SharedItem::new(Mutex::new(Some(OpenItem { calls, held })));
                    self.items().insert(Arc::clone(item), open);
                    if waits {
                        return;
                    }
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
            (EventBody::ItemFinished(_) | EventBody::ItemFailed(_), _) => match open.take() {
                Some(item) => item.end(event, self.earlier.as_deref()),
                None => vec![event],
            },
            (_, Some(item)) => item.take(event),
            (_, None) => vec![event],
        };
        events
            .into_iter()
            .for_each(|event| self.inner.record(event));
    }
}
