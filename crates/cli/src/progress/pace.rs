//! The speed of rows, and the time until the rest of them end.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use schema::numbers::{about, rounded};

/// The most moments that are kept.
const KEPT: usize = 4096;

/// The speed is known after this many rows, or after as many as are in progress at once: the first rows say little.
const FEWEST: usize = 3;

/// The speed is computed from this many of the last rows, or from twice the number in progress if that is more: cached rows at the
/// start soon no longer count, while rows that end together do.
const RECENT: usize = 8;

/// A longer estimate is not shown.
const LONGEST: Duration = Duration::from_secs(99 * 24 * 60 * 60);

/// The moments at which the last rows ended.
#[derive(Debug)]
pub(super) struct Pace {
    began: Instant,
    ends: VecDeque<Instant>,
    dropped: bool,
}

impl Pace {
    /// The pace of rows whose work begins at `now`.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            began: now,
            ends: VecDeque::new(),
            dropped: false,
        }
    }

    /// Records the end of a row.
    pub(super) fn row(&mut self, now: Instant) {
        if self.ends.len() == KEPT {
            self.ends.pop_front();
            self.dropped = true;
        }
        self.ends.push_back(now);
    }

    /// Rows per second at `now`, while `in_work` rows are in progress. `None` if unknown.
    pub(super) fn rate(&self, now: Instant, in_work: u64) -> Option<f64> {
        let in_work = usize::try_from(in_work).unwrap_or(KEPT).min(KEPT / 2);
        if self.ends.len() < FEWEST.max(in_work) {
            return None;
        }
        let recent = RECENT.max(2 * in_work);
        let (since, rows) = match self.ends.len().checked_sub(recent + 1) {
            Some(first) => (*self.ends.get(first)?, recent),
            None if self.dropped => (*self.ends.front()?, self.ends.len() - 1),
            None => (self.began, self.ends.len()),
        };
        let seconds = now.duration_since(since).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a few thousand rows")]
        (seconds >= 1.0).then(|| rows as f64 / seconds)
    }

    /// The time that `left` rows will take from `now` on. `None` if unknown.
    pub(super) fn left(&self, now: Instant, in_work: u64, left: u64) -> Option<Duration> {
        #[expect(clippy::cast_precision_loss, reason = "rows are far fewer than 2^53")]
        let seconds = left as f64 / self.rate(now, in_work)?;
        let left = Duration::try_from_secs_f64(seconds).ok()?;
        (left <= LONGEST).then_some(left)
    }
}

/// `0.5/s`, or `4/min` if it is slow.
pub(super) fn rate_text(rate: f64) -> String {
    match rate {
        slow if slow < 0.095 => format!("{}/min", rounded(slow * 60.0, 1)),
        fast if fast >= 10.0 => format!("{}/s", rounded(fast, 0)),
        rate => format!("{}/s", rounded(rate, 1)),
    }
}

/// `about 40 s left`, rounded like an estimate.
pub(super) fn left_text(left: Duration) -> String {
    format!("about {} left", about(left.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_reported_before_a_whole_wave_has_ended() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut pace = Pace::new(start);
        assert_eq!(pace.left(at(3_600), 4, 20), None, "nothing has ended");
        for _ in 0..3 {
            pace.row(at(10));
        }
        assert_eq!(pace.left(at(10), 4, 17), None, "4 are in work");
        pace.row(at(10));
        let left = pace.left(at(10), 4, 16);
        assert_eq!(left, Some(Duration::from_secs(40)));
    }

    #[test]
    fn rows_from_the_cache_soon_count_no_more_and_years_are_never_reported() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut pace = Pace::new(start);
        for _ in 0..10_000 {
            pace.row(start);
        }
        for second in 1..=10 {
            pace.row(at(second * 10));
        }
        assert_eq!(pace.left(at(100), 2, 6), Some(Duration::from_secs(60)));
        // Nothing has happened for a day.
        assert_eq!(pace.left(at(86_400), 2, 100_000), None);
    }

    #[test]
    fn times_and_speeds_are_short() {
        let left = |seconds| left_text(Duration::from_secs(seconds));
        assert_eq!(left(42), "about 45 s left");
        assert_eq!(rate_text(0.05), "3.0/min");
        assert_eq!(rate_text(0.25), "0.3/s");
        assert_eq!(rate_text(10.5), "11/s");
        assert_eq!(rate_text(123.4), "123/s");
    }
}
