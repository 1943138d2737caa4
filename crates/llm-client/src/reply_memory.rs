//! The memory that all replies in flight take together.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// ReplyMemory for the replies that are being read.
///
/// A reply takes room as it grows, and a reply without room waits: nothing more is read from its server. One reply at a time may exceed
/// the sum, so that partly read replies do not wait for each other. All replies together take at most the sum plus one reply.
#[derive(Debug)]
pub(crate) struct ReplyMemory {
    bytes: Arc<Semaphore>,
    /// Held by the reply that may exceed the sum.
    beyond: Arc<Semaphore>,
    sum: usize,
    longest: usize,
}

impl ReplyMemory {
    /// ReplyMemory for `sum` bytes in all, and for replies of at most `longest` bytes.
    pub(crate) fn new(sum: usize, longest: usize) -> Self {
        let sum = sum.min(Semaphore::MAX_PERMITS).min(u32::MAX as usize);
        Self {
            bytes: Arc::new(Semaphore::new(sum)),
            beyond: Arc::new(Semaphore::new(1)),
            sum,
            longest,
        }
    }

    /// The longest reply, in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// The bytes for all replies together.
    pub(crate) fn sum(&self) -> usize {
        self.sum
    }
}

/// The room that one reply has taken. Dropping it returns the room.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    bytes: Option<OwnedSemaphorePermit>,
    beyond: Option<OwnedSemaphorePermit>,
}

impl Taken {
    /// Takes `more` bytes, as soon as they are available.
    pub(crate) async fn take(&mut self, room: &ReplyMemory, more: usize, waited: &Waited) {
        if self.beyond.is_some() {
            return;
        }
        let count = u32::try_from(more).unwrap_or(u32::MAX);
        if let Ok(permit) = Arc::clone(&room.bytes).try_acquire_many_owned(count) {
            return self.add(permit);
        }
        let _counting = waited.count();
        // Neither semaphore is closed.
        tokio::select! {
            biased;
            Ok(permit) = Arc::clone(&room.bytes).acquire_many_owned(count) => self.add(permit),
            Ok(permit) = Arc::clone(&room.beyond).acquire_owned() => self.beyond = Some(permit),
            else => {}
        }
    }

    fn add(&mut self, permit: OwnedSemaphorePermit) {
        match &mut self.bytes {
            Some(bytes) => bytes.merge(permit),
            None => self.bytes = Some(permit),
        }
    }
}

/// How long a reply has waited for room.
#[derive(Debug, Default)]
pub(crate) struct Waited(AtomicU64);

impl Waited {
    /// The total time.
    pub(crate) fn sum(&self) -> Duration {
        Duration::from_micros(self.0.load(Relaxed))
    }

    /// Measures until the returned value is dropped, for example by a timeout.
    fn count(&self) -> Counting<'_> {
        Counting(self, Instant::now())
    }
}

struct Counting<'a>(&'a Waited, Instant);

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        let micros = u64::try_from(self.1.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.0.0.fetch_add(micros, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn one_reply_at_a_time_grows_beyond_the_sum() {
        let room = ReplyMemory::new(100, 1000);
        let waited = Waited::default();
        let [mut first, mut second, mut third] = [0; 3].map(|_| Taken::default());
        first.take(&room, 60, &waited).await;
        second.take(&room, 40, &waited).await;
        // Both replies are partly read, and no room is left: one continues, however much it needs.
        first.take(&room, 300, &waited).await;
        first.take(&room, 300, &waited).await;
        assert!(second.take(&room, 10, &waited).now_or_never().is_none());
        let mut second_grows = Box::pin(second.take(&room, 10, &waited));
        assert!(second_grows.as_mut().now_or_never().is_none());
        assert!(third.take(&room, 1, &waited).now_or_never().is_none());
        drop(first);
        second_grows.await;
        drop(second);
        third.take(&room, 100, &waited).await;
        assert!(third.beyond.is_none());
        drop(third);
        assert_eq!(room.bytes.available_permits(), 100);
        assert_eq!(room.beyond.available_permits(), 1);
    }
}
