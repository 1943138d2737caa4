//! The speed at which the rows of a target end.

use std::collections::VecDeque;

/// The most moments that are kept.
const KEPT: usize = 4096;
/// The speed is known after this many rows, or after as many as are in progress at once: the first rows say little.
const FEWEST: usize = 3;
/// The speed is computed from this many of the last rows, or from twice the number in progress if that is more: rows from the cache at the
/// start soon no longer count, while rows that end together do.
const RECENT: usize = 8;
/// A longer estimate is not shown: 99 days.
const LONGEST: f64 = 99.0 * 24.0 * 3600.0;

/// The moments, in seconds, at which the last rows ended.
#[derive(Clone, Debug, Default)]
pub(super) struct RowPace {
    began: Option<f64>,
    ends: VecDeque<f64>,
    dropped: bool,
}

impl RowPace {
    /// A row begins.
    pub(super) fn begin(&mut self, at: f64) {
        self.began.get_or_insert(at);
    }

    /// A row ends.
    pub(super) fn end(&mut self, at: f64) {
        if self.ends.len() == KEPT {
            self.ends.pop_front();
            self.dropped = true;
        }
        self.ends.push_back(at);
    }

    /// Seconds that `left` rows take from `now` on, while `running` rows are in progress. `None` if unknown.
    pub(super) fn left(&self, now: f64, running: u64, left: u64) -> Option<f64> {
        if left == 0 {
            return Some(0.0);
        }
        let running = usize::try_from(running).unwrap_or(KEPT).min(KEPT / 2);
        if self.ends.len() < FEWEST.max(running) {
            return None;
        }
        let recent = RECENT.max(2 * running);
        let (since, rows) = match self.ends.len().checked_sub(recent + 1) {
            Some(first) => (*self.ends.get(first)?, recent),
            None if self.dropped => (*self.ends.front()?, self.ends.len() - 1),
            None => (self.began?, self.ends.len()),
        };
        let seconds = now - since;
        #[expect(clippy::cast_precision_loss, reason = "rows are far fewer than 2^53")]
        let estimate = left as f64 * seconds / rows as f64;
        (seconds >= 1.0 && estimate <= LONGEST).then_some(estimate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_known_after_a_wave_of_rows_and_follows_the_last_ones() {
        let mut pace = RowPace::default();
        pace.begin(100.0);
        for _ in 0..3 {
            pace.end(110.0);
        }
        assert_eq!(pace.left(110.0, 4, 17), None, "4 are in progress");
        pace.end(110.0);
        assert_eq!(pace.left(110.0, 4, 16), Some(40.0));
        assert_eq!(pace.left(110.0, 4, 0), Some(0.0));
        for n in 1..=10 {
            pace.end(110.0 + f64::from(n) * 10.0);
        }
        assert_eq!(pace.left(210.0, 2, 6), Some(60.0));
        assert_eq!(pace.left(1e9, 2, 100_000), None);
    }
}
