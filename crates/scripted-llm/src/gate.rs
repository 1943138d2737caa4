//! Holds calls back at an exact moment.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Semaphore, watch};

/// Lets a number of calls through and holds the others until it is opened.
#[derive(Debug)]
pub(crate) struct Gate {
    /// A permit for each call that may still pass; closed when the gate is opened. `None`: the gate is open.
    permits: Mutex<Option<Arc<Semaphore>>>,
    held: watch::Sender<usize>,
}

impl Gate {
    pub(crate) fn new(after: Option<usize>) -> Self {
        let gate = Self {
            permits: Mutex::new(None),
            held: watch::Sender::new(0),
        };
        if let Some(after) = after {
            gate.close_after(after);
        }
        gate
    }

    /// Lets `after` more calls pass and holds all further ones. Calls held by an earlier setting continue.
    pub(crate) fn close_after(&self, after: usize) {
        self.replace(Some(Arc::new(Semaphore::new(
            after.min(Semaphore::MAX_PERMITS),
        ))));
    }

    /// Lets all calls pass, held ones first.
    pub(crate) fn open(&self) {
        self.replace(None);
    }

    fn replace(&self, permits: Option<Arc<Semaphore>>) {
        let mut current = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = std::mem::replace(&mut *current, permits) {
            old.close();
        }
    }

    /// Waits until the call may pass.
    pub(crate) async fn pass(&self) {
        let permits = self
            .permits
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let Some(permits) = permits else { return };
        if let Ok(permit) = permits.try_acquire() {
            permit.forget();
            return;
        }
        let _held = Held::new(&self.held);
        // An error means that the gate was opened.
        if let Ok(permit) = permits.acquire().await {
            permit.forget();
        }
    }

    pub(crate) fn held(&self) -> usize {
        *self.held.borrow()
    }

    /// Waits until at least `count` calls are held.
    pub(crate) async fn wait_held(&self, count: usize) {
        // The sender lives as long as `self`, so the wait cannot fail.
        let _ = self.held.subscribe().wait_for(|held| *held >= count).await;
    }
}

/// Counts one held call for as long as it lives.
struct Held<'a>(&'a watch::Sender<usize>);

impl<'a> Held<'a> {
    fn new(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|held| *held += 1);
        Self(count)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|held| *held = held.saturating_sub(1));
    }
}
