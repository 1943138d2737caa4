//! The time that a program has for a request.

use std::time::{Duration, Instant};

/// Counts a program's own time: it stands while the program waits for calls to the host.
#[derive(Debug)]
pub(crate) struct Clock {
    before: Duration,
    running_since: Option<Instant>,
    open_calls: u32,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            before: Duration::ZERO,
            running_since: Some(Instant::now()),
            open_calls: 0,
        }
    }

    /// The program waits for one more call.
    pub(crate) fn stop(&mut self) {
        self.open_calls += 1;
        if let Some(since) = self.running_since.take() {
            self.before += since.elapsed();
        }
    }

    /// A call has its answer.
    pub(crate) fn go_on(&mut self) {
        self.open_calls = self.open_calls.saturating_sub(1);
        if self.open_calls == 0 && self.running_since.is_none() {
            self.running_since = Some(Instant::now());
        }
    }

    pub(crate) fn own_time(&self) -> Duration {
        let running = self.running_since.map(|since| since.elapsed());
        self.before + running.unwrap_or_default()
    }
}
