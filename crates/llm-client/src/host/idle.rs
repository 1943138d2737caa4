//! The connections of HTTP/1.1 that wait for a request.

use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::Line;

/// Idle connections, the one that was used last at the end.
pub(crate) struct Idle {
    lines: Mutex<Vec<Line>>,
    most: usize,
    /// Those that are idle for so long are not used again.
    limit: Duration,
}

impl Idle {
    /// Room for `most` connections, which are closed after `limit`.
    pub(crate) fn new(most: usize, limit: Duration) -> Self {
        Self {
            lines: Mutex::default(),
            most,
            limit,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one that was used last.
    pub(crate) fn take(&self) -> Option<Line> {
        let mut lines = self.lock();
        let line = lines.pop()?;
        if line.since().elapsed() < self.limit {
            return Some(line);
        }
        // The others wait for longer still.
        let old = mem::take(&mut *lines);
        drop(lines);
        drop(old);
        None
    }

    /// The one that has been idle for longest.
    pub(crate) fn take_oldest(&self) -> Option<Line> {
        let mut lines = self.lock();
        (!lines.is_empty()).then(|| lines.remove(0))
    }

    /// Keeps `line` for another request, and closes those that have been idle for too long.
    pub(crate) fn give(&self, line: Line) {
        let now = line.since();
        let mut lines = self.lock();
        let is_old = |line: &&Line| now.saturating_duration_since(line.since()) >= self.limit;
        let count = lines.iter().take_while(is_old).count();
        let old: Vec<_> = lines.drain(..count).collect();
        let further = if lines.len() < self.most {
            lines.push(line);
            None
        } else {
            Some(line)
        };
        drop(lines);
        // Closing a connection takes the system a while.
        drop((old, further));
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }
}
