//! Replies of the last one to two seconds.

use std::time::Duration;

use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Recent {
    began: Instant,
    answered: u32,
    refused: u32,
    /// Answers and refusals of the second before.
    before: (u32, u32),
}

impl Recent {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            began: now,
            answered: 0,
            refused: 0,
            before: (0, 0),
        }
    }

    pub(super) fn answered(&mut self, now: Instant) {
        self.roll(now);
        self.answered += 1;
    }

    pub(super) fn refused(&mut self, now: Instant) {
        self.roll(now);
        self.refused += 1;
    }

    fn roll(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.began);
        if passed < SECOND {
            return;
        }
        let is_next = passed < 2 * SECOND;
        let last = (self.answered, self.refused);
        self.before = if is_next { last } else { (0, 0) };
        (self.answered, self.refused) = (0, 0);
        self.began = if is_next { self.began + SECOND } else { now };
    }

    pub(super) fn all_answered(&self) -> u32 {
        self.answered + self.before.0
    }

    pub(super) fn all_refused(&self) -> u32 {
        self.refused + self.before.1
    }

    pub(super) fn answers_a_second(&self, now: Instant) -> f64 {
        let passed = now.saturating_duration_since(self.began).as_secs_f64();
        let seconds = match self.before {
            (0, 0) => 1.0,
            _ => 1.0 + passed,
        };
        f64::from(self.all_answered()) / seconds
    }
}
