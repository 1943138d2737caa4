//! How many attempts may be in flight, learned from the replies of an endpoint. Pure: the caller brings the time.

use std::time::Duration;

use tokio::time::Instant;

/// The share of refusals in a window that is not a reason to slow down.
const TOLERATED: f64 = 0.05;
/// Fewer refusals than this in a window say nothing about their share.
const FEW: u32 = 3;
/// A window has at least so many replies.
const REPLIES: u32 = 10;
/// No cut leaves less of the limit than this.
const DEEPEST_CUT: f64 = 0.5;
/// A cut goes below what the endpoint took by this much, so that it catches up.
const BELOW_TAKEN: f64 = 0.9;
/// The first growth after a cut, as a share of the limit. Each window without refusals doubles it.
const FIRST_GROWTH: f64 = 0.005;
/// How often growth doubles, at most.
const DOUBLINGS: u32 = 7;
/// Where a cut did not help, so many times the share of refusals is tolerated from then on.
const TOLERATED_AGAIN: f64 = 2.0;
/// What is left of that tolerance after each window without a cut.
const TOLERANCE_KEPT: f64 = 0.98;
/// How much of a new duration goes into the average.
const NEWEST: f64 = 0.1;
/// How long a refused attempt keeps its place before any reply was timed.
const FIRST_HOLD: Duration = Duration::from_millis(250);
/// How long it keeps it at most.
const LONGEST_HOLD: Duration = Duration::from_secs(5);

/// The limit of one endpoint. It doubles per round trip until something is refused. From then on it changes once per window,
/// which is one round trip of an answered attempt and no shorter than [`LimitSettings::window`](crate::LimitSettings::window):
///
/// - More than 5 % refused: it is cut to what the endpoint took, at most by half.
/// - Less: it doubles up to the last level that went well, and grows slowly above it, faster with each window that goes well.
/// - The window after a cut had as many refusals and fewer answers: refusals do not come from the load, so the cut is undone and
///   that share of refusals is tolerated for a while.
#[derive(Debug)]
pub(crate) struct AdaptiveLimit {
    /// Between 1 and `most`. Grows by fractions.
    limit: f64,
    most: f64,
    /// The last level at which a window went well. The limit returns to it quickly.
    good: f64,
    /// Whether nothing was ever cut.
    slow_start: bool,
    /// The share of refusals that is not a reason for a cut.
    tolerated: f64,
    /// How long an answer takes on average. `None`: there was none.
    round_trip: Option<Duration>,
    shortest_window: Duration,
    window: Window,
    last_cut: Option<Instant>,
    /// Whether the window before led to a cut.
    was_cut: bool,
    /// The window before the cut that the current window judges.
    trial: Option<Trial>,
    /// Windows in a row that went well while the limit was used.
    clean: u32,
}

/// The replies since the last review of the limit.
#[derive(Debug)]
struct Window {
    began: Instant,
    answered: u32,
    refused: u32,
    /// Whether the limit held attempts back.
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
    /// It was in use, and nothing was against more.
    Grown,
    /// The endpoint refused too many.
    Cut,
    /// The cut before had not helped.
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

    /// An attempt was answered `took` after it began. `full`: no other could have begun meanwhile.
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

    /// An attempt that began at `began` was refused. One from before the last cut says nothing about the limit of now.
    pub(crate) fn refused(&mut self, began: Instant, full: bool) {
        self.window.full |= full;
        if self.last_cut.is_none_or(|cut| began >= cut) {
            self.window.refused = self.window.refused.saturating_add(1);
        }
    }

    /// How long a refused attempt that took `took` keeps its place: as long as an answer takes. So refusals, which mostly come
    /// at once, do not let others in faster than answers do, and weigh as much as these.
    pub(crate) fn hold(&self, took: Duration) -> Duration {
        self.round_trip
            .unwrap_or(FIRST_HOLD)
            .min(LONGEST_HOLD)
            .saturating_sub(took)
    }

    /// Reviews the limit once a window is complete. `accepted` are the attempts in flight that were not refused.
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
        // After a pause refusals come first, while the answers are still on their way.
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
        // A level that was good is so no more where the window before was a reason to cut as well.
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
    /// Whether the cut to `limit` left the share of refusals as it was and cost more than half as many answers as places.
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
