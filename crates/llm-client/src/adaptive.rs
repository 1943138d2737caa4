//! How many attempts may be in flight at an endpoint, learned from its replies. Pure: the caller passes the time.

use std::time::Duration;

use tokio::time::Instant;

/// The share of refusals in a window that does not cause a cut.
const TOLERATED: f64 = 0.05;
/// A window with fewer refusals than this is too small a sample for their share.
const FEW: u32 = 3;
/// The fewest replies in a complete window.
const REPLIES: u32 = 10;
/// A cut leaves at least this share of the limit.
const DEEPEST_CUT: f64 = 0.5;
/// The limit after a cut, as a share of what the endpoint accepted: the endpoint needs room to catch up.
const BELOW_TAKEN: f64 = 0.9;
/// The first growth after a cut, as a share of the limit. Each window without refusals doubles it.
const FIRST_GROWTH: f64 = 0.005;
/// How often growth doubles, at most.
const DOUBLINGS: u32 = 7;
/// After a cut that did not help, this many times the observed share of refusals is tolerated.
const TOLERATED_AGAIN: f64 = 2.0;
/// The share of that tolerance that is left after each window without a cut.
const TOLERANCE_KEPT: f64 = 0.98;
/// The weight of a new duration in the average.
const NEWEST: f64 = 0.1;
/// How long a refused attempt keeps its permit before any reply was timed.
const FIRST_HOLD: Duration = Duration::from_millis(250);
/// The longest time that a refused attempt keeps its permit.
const LONGEST_HOLD: Duration = Duration::from_secs(5);

/// The limit of one endpoint. It doubles per round trip until an attempt is refused. From then on it changes once per window,
/// which is one round trip of an answered attempt and no shorter than [`LimitSettings::window`](crate::LimitSettings::window):
///
/// - More than 5 % refused: the limit is cut to what the endpoint accepted, at most by half.
/// - Less: the limit doubles up to the last level without a cut, and grows slowly above it, faster with each window without a
///   cut.
/// - The window after a cut had as many refusals and fewer answers: the load does not cause the refusals, so the cut is undone
///   and that share of refusals is tolerated for a while.
#[derive(Debug)]
pub(crate) struct AdaptiveLimit {
    /// Between 1 and `most`, and not always whole.
    limit: f64,
    most: f64,
    /// The last level at which a window had no cut. The limit returns to it quickly.
    good: f64,
    /// True until the first cut.
    slow_start: bool,
    /// The share of refusals that does not cause a cut.
    tolerated: f64,
    /// The average time to an answer. `None` before the first answer.
    round_trip: Option<Duration>,
    shortest_window: Duration,
    window: Window,
    last_cut: Option<Instant>,
    /// Whether the previous window led to a cut.
    was_cut: bool,
    /// The window that led to the cut whose effect the current window measures.
    trial: Option<Trial>,
    /// Consecutive windows without a cut in which the limit was used.
    clean: u32,
}

/// The replies since the last review of the limit.
#[derive(Debug)]
struct Window {
    began: Instant,
    answered: u32,
    refused: u32,
    /// Whether the limit kept attempts waiting.
    full: bool,
}

/// The window that led to a cut.
#[derive(Clone, Copy, Debug)]
struct Trial {
    limit: f64,
    refused: f64,
    /// Answers per second.
    rate: f64,
}

/// Why the limit changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The limit was in use, and there was no reason for a cut.
    Grown,
    /// The endpoint refused too many attempts.
    Cut,
    /// The previous cut had not helped.
    Undone,
}

impl AdaptiveLimit {
    pub(crate) fn new(
        initial: usize,
        most: usize,
        shortest_window: Duration,
        now: Instant,
    ) -> Self {
        Self {
            limit: as_float(initial),
            most: as_float(most),
            good: as_float(most),
            slow_start: true,
            tolerated: TOLERATED,
            round_trip: None,
            shortest_window,
            window: Window::new(now),
            last_cut: None,
            was_cut: false,
            trial: None,
            clean: 0,
        }
    }

    pub(crate) fn limit(&self) -> usize {
        whole(self.limit)
    }

    /// Records an attempt that was answered `took` after it began. `full`: no other attempt could have begun meanwhile.
    pub(crate) fn answered(&mut self, took: Duration, full: bool) -> Option<Change> {
        let average = self.round_trip.map_or(took, |trip| {
            trip.mul_f64(1.0 - NEWEST) + took.mul_f64(NEWEST)
        });
        self.round_trip = Some(average);
        self.window.answered = self.window.answered.saturating_add(1);
        self.window.full |= full;
        if !(full && self.slow_start && self.limit < self.most) {
            return None;
        }
        self.limit = (self.limit + 1.0).min(self.most);
        Some(Change::Grown)
    }

    /// Records that an attempt that began at `began` was refused. An attempt from before the last cut does not count against the
    /// current limit.
    pub(crate) fn refused(&mut self, began: Instant, full: bool) {
        self.window.full |= full;
        if self.last_cut.is_none_or(|cut| began >= cut) {
            self.window.refused = self.window.refused.saturating_add(1);
        }
    }

    /// How long a refused attempt that took `took` keeps its permit: as long as an answer takes. Refusals mostly come at once;
    /// without the hold they would admit new attempts faster than answers do, and weigh more than answers.
    pub(crate) fn hold(&self, took: Duration) -> Duration {
        self.round_trip
            .unwrap_or(FIRST_HOLD)
            .min(LONGEST_HOLD)
            .saturating_sub(took)
    }

    /// Reviews the limit once a window is complete. `accepted` is the number of attempts in flight that were not refused.
    pub(crate) fn review(&mut self, accepted: usize, now: Instant) -> Option<Change> {
        let lasted = now.duration_since(self.window.began);
        let replies = self.window.answered.saturating_add(self.window.refused);
        if replies < REPLIES
            || lasted
                < self
                    .shortest_window
                    .max(self.round_trip.unwrap_or_default())
        {
            return None;
        }
        let window = std::mem::replace(&mut self.window, Window::new(now));
        let seconds = lasted.as_secs_f64().max(1e-3);
        let rate = f64::from(window.answered) / seconds;
        // After a pause the refusals arrive first, while the answers are still on their way.
        let taken = f64::from(window.answered).max(as_float(accepted));
        let refused = f64::from(window.refused) / (f64::from(window.refused) + taken).max(1.0);
        let counts = window.refused >= FEW;
        if let Some(trial) = self.trial.take()
            && counts
            && trial.was_in_vain(self.limit, refused, rate)
        {
            return Some(self.undo(&trial, refused));
        }
        if counts && refused > self.tolerated {
            let carried = rate * self.round_trip.unwrap_or_default().as_secs_f64();
            let taken = as_float(accepted).max(carried);
            return self.cut(refused, rate, taken, now);
        }
        self.went_well(&window, refused)
    }

    fn undo(&mut self, trial: &Trial, refused: f64) -> Change {
        self.limit = trial.limit;
        self.good = self.good.max(trial.limit);
        self.tolerated = (refused * TOLERATED_AGAIN).clamp(TOLERATED, 0.9);
        self.was_cut = false;
        self.clean = 0;
        Change::Undone
    }

    fn cut(&mut self, refused: f64, rate: f64, taken: f64, now: Instant) -> Option<Change> {
        let before = self.limit;
        self.limit = (taken * BELOW_TAKEN)
            .max(before * DEEPEST_CUT)
            .clamp(1.0, before);
        // After two cuts in a row, the earlier level no longer counts.
        self.good = if self.was_cut {
            self.limit
        } else {
            self.limit.max(self.good.min(before * (1.0 - refused)))
        };
        self.trial = Some(Trial {
            limit: before,
            refused,
            rate,
        });
        self.slow_start = false;
        self.was_cut = true;
        self.clean = 0;
        self.last_cut = Some(now);
        (self.limit() < whole(before)).then_some(Change::Cut)
    }

    fn went_well(&mut self, window: &Window, refused: f64) -> Option<Change> {
        self.was_cut = false;
        self.tolerated = (self.tolerated * TOLERANCE_KEPT).max(TOLERATED);
        if !window.full || self.slow_start {
            return None;
        }
        let before = self.limit();
        if self.limit < self.good {
            self.limit = (self.limit * 2.0).min(self.good);
        } else if window.refused < FEW || refused < (self.tolerated * 0.8).max(TOLERATED / 2.0) {
            let growth = FIRST_GROWTH * f64::from(1_u32 << self.clean);
            self.limit = (self.limit * (1.0 + growth)).min(self.most);
            self.clean = (self.clean + 1).min(DOUBLINGS);
            self.good = self.limit;
        } else {
            self.clean = 0;
        }
        (self.limit() > before).then_some(Change::Grown)
    }
}

impl Trial {
    /// Whether the cut to `limit` did not lower the share of refusals, and lost more than half as many answers as permits.
    fn was_in_vain(&self, limit: f64, refused: f64, rate: f64) -> bool {
        let places_lost = 1.0 - limit / self.limit;
        refused > 0.7 * self.refused && rate < self.rate * (1.0 - 0.5 * places_lost)
    }
}

impl Window {
    fn new(began: Instant) -> Self {
        Self {
            began,
            answered: 0,
            refused: 0,
            full: false,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53")]
fn as_float(n: usize) -> f64 {
    n as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "limits are at least 1 and far below 2^53"
)]
fn whole(limit: f64) -> usize {
    (limit as usize).max(1)
}
