//! The ends that a worker sent last: a server that loses its files loses those that the run has not taken yet.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use async_nats::jetstream::Context;

use crate::{message::EndMessage, parcel, places::Places};

/// How long an end is kept that was sent.
const KEPT: Duration = Duration::from_secs(60);
/// The most ends that are kept.
const MOST_KEPT: usize = 1000;

/// The end of a unit of a run.
#[derive(Clone)]
pub(super) struct SentEnd {
    pub(super) run: String,
    pub(super) unit: String,
    pub(super) end: Arc<EndMessage>,
}

impl SentEnd {
    /// Publishes it. Returns whether the server has it.
    pub(super) async fn publish(&self, js: &Context) -> bool {
        // They may have been created again.
        let Ok(places) = Places::find(js, &self.run).await else {
            return false;
        };
        let name = format!("end-{}", self.unit);
        let Ok(packed) = parcel::pack(&places.objects, &name, &*self.end).await else {
            return false;
        };
        match js.publish(places.end_subject(&self.unit), packed).await {
            Ok(sent) => sent.await.is_ok(),
            Err(_) => false,
        }
    }
}

/// The ends that were sent last.
#[derive(Clone, Default)]
pub(super) struct SentEnds(Arc<Mutex<VecDeque<(Instant, SentEnd)>>>);

impl SentEnds {
    pub(super) fn keep(&self, end: SentEnd) {
        let mut sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sent.push_back((Instant::now(), end));
        let is_old = |(at, _): &(Instant, SentEnd)| at.elapsed() > KEPT;
        while sent.len() > MOST_KEPT || sent.front().is_some_and(is_old) {
            sent.pop_front();
        }
    }

    /// Whether there are any of `run`.
    pub(super) fn has(&self, run: &str) -> bool {
        let sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sent.iter().any(|(_, end)| end.run == run)
    }

    /// Publishes those of `run` again; the run drops those that it has. Returns whether the server has all.
    pub(super) async fn publish_again(&self, js: &Context, run: &str) -> bool {
        let of_run: Vec<SentEnd> = {
            let sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let ends = sent.iter().map(|(_, end)| end);
            ends.filter(|end| end.run == run).cloned().collect()
        };
        let mut has_all = true;
        for end in of_run {
            has_all &= end.publish(js).await;
        }
        has_all
    }
}
