//! When the server was away.

use std::{
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};

use async_nats::jetstream::Context;

/// Notes when the connection to the server was made again.
#[derive(Clone)]
pub(super) struct Away(Arc<Mutex<Connections>>);

struct Connections {
    made: u64,
    made_again: Option<Instant>,
}

impl Away {
    pub(super) fn new(js: &Context) -> Self {
        Self(Arc::new(Mutex::new(Connections {
            made: connections(js),
            made_again: None,
        })))
    }

    /// How long ago the connection was made again, if it was.
    pub(super) fn ended(&self, js: &Context) -> Option<Duration> {
        let made = connections(js);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if made != known.made {
            known.made = made;
            known.made_again = Some(Instant::now());
        }
        known.made_again.map(|since| since.elapsed())
    }
}

/// How often the connection was made.
pub(super) fn connections(js: &Context) -> u64 {
    js.client().statistics().connects.load(Ordering::Relaxed)
}
