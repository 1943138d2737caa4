//! An endpoint that takes so many attempts a second and no more.

use std::time::Duration;

use tokio::time::Instant;

use super::{Change, FEW, LATE, Refused, SLOWEST};

/// The share of refusals that is no reason to be slower.
const TOLERATED: f64 = 0.03;
/// What is left of a rate that was found: a little below what the endpoint takes, so that its refusals end.
const BELOW_FOUND: f64 = 0.99;
/// The next pace, as a share of the last, where that may be all it takes.
const TRIED: f64 = 0.98;
/// So many attempts at that pace show whether it was enough.
const TRIED_FOR: u32 = 20;
/// Where refusals are more than this share, or the rate that was found is less than [`FAR_BELOW`] of the pace, it is not enough.
const MANY: f64 = 0.2;
/// See [`MANY`].
const FAR_BELOW: f64 = 0.6;
/// More than most attempts are refused.
const MOST: f64 = 0.5;
/// A rate that was found from fewer attempts than this falls to half of what it was, at most.
const SURE: f64 = 5.0;
/// A rate is found over so many seconds, if there were refusals enough.
const LONG_ENOUGH: f64 = 5.0;
/// A pace that grew by this factor was too slow for most of the time.
const GROWN: f64 = 1.5;

/// The growth of a pace that is a guess, in its first second, as a share.
const FIRST_GROWTH: f64 = 0.25;
/// The growth of a pace that was found twice.
const LEAST_GROWTH: f64 = 0.002;
/// The largest growth in a second, as a share.
const LARGEST_GROWTH: f64 = 3.0;
/// How far a rate that was found once may be off, as a share.
const UNKNOWN: f64 = 0.15;
/// Growth doubles with each of these in which next to nothing is refused, while the pace is a guess.
const FIRST_PATIENCE: Duration = Duration::from_secs(1);
/// The same for a pace that was found, and the time of [`PATIENT_FOR`] attempts more, up to [`MOST_PATIENCE`].
const PATIENCE: Duration = Duration::from_secs(2);
/// See [`PATIENCE`].
const PATIENT_FOR: f64 = 40.0;
/// See [`PATIENCE`].
const MOST_PATIENCE: Duration = Duration::from_secs(8);
/// How often the pace grows.
const GROWS_EVERY: Duration = Duration::from_millis(100);

/// The first wait while an endpoint takes nothing at all. Each further one is twice as long.
const FIRST_PROBE: Duration = Duration::from_millis(100);
/// The longest such wait.
const LONGEST_PROBE: Duration = Duration::from_secs(2);

/// Fewer attempts do not show whether a slower pace helped.
const ENOUGH: f64 = 100.0;
/// Nor does a pace that is not below this share of the other.
const SLOWER: f64 = 0.93;
/// How many times as many refusals as are tolerated, among the attempts since the second last one, are too many.
const DENSE: f64 = 2.0;
/// The share of refusals, among the last ones, below which they may come by chance.
const THIN: f64 = 0.2;

/// The share of refusals is of at least so many attempts and a second, if there are as many.
const SAMPLE: u32 = 200;
/// An endpoint that has kept nobody waiting for so long has no known rate any more.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

/// Attempts start evenly, at the rate that the endpoint took. From one time that it refuses to the next it takes just what it allows, so the
/// rate is known better with each cut. Between them the pace grows: slowly at first, faster the longer nothing is refused.
#[derive(Debug)]
pub(super) struct Paced {
    /// Attempts a second.
    rate: f64,
    /// When the next attempt may start.
    next: Instant,
    /// The share of refusals that is no reason for a cut.
    tolerated: f64,
    /// Attempts since the last cut.
    epoch: Epoch,
    /// The newest of them, for the share that is refused.
    sample: Epoch,
    /// The epoch as it was one and two seconds ago, or a little more.
    marks: [Epoch; 2],
    /// The pace at the beginning of the epoch.
    began_at: f64,
    /// The numbers of the last two attempts that were refused, the newest first.
    last_refused: [u32; 2],
    /// How many in a row were refused, up to the last one.
    in_a_row: u32,
    /// Attempts that the endpoint took in earlier epochs, and their seconds.
    earlier: (f64, f64),
    /// The rate that was found at the last cut.
    found: Option<f64>,
    /// The rate to fall to if the present one, slightly lower than the last, is refused at once.
    else_to: Option<f64>,
    /// A faster pace, to see whether this one helps.
    trial: Option<Trial>,
    /// The growth in the first second after the last cut, as a share.
    growth: f64,
    /// How long it takes until growth doubles.
    patience: Duration,
    /// The next wait if the endpoint takes nothing.
    probe: Duration,
    /// Since when next to nothing is refused.
    quiet_since: Instant,
    grown_at: Instant,
    /// Until when an attempt last had to wait.
    kept_waiting: Instant,
}

/// Attempts since some time.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began: Instant,
    started: u32,
    refused: u32,
}

/// What an endpoint did at a pace at which few attempts were refused, but too many.
#[derive(Clone, Copy, Debug)]
struct Trial {
    rate: f64,
    /// Attempts a second.
    started: f64,
    /// Those that were not refused.
    taken: f64,
}

impl Paced {
    /// An endpoint of which a first guess is that it takes `rate` attempts a second.
    pub(super) fn new(rate: f64, now: Instant) -> Self {
        let rate = rate.max(SLOWEST);
        Self {
            rate,
            next: now + Duration::from_secs_f64(1.0 / rate),
            tolerated: TOLERATED,
            epoch: Epoch::new(now),
            sample: Epoch::new(now),
            marks: [Epoch::new(now); 2],
            began_at: rate,
            last_refused: [0; 2],
            in_a_row: 0,
            earlier: (0.0, 0.0),
            found: None,
            else_to: None,
            trial: None,
            growth: FIRST_GROWTH,
            patience: FIRST_PATIENCE,
            probe: FIRST_PROBE,
            quiet_since: now,
            grown_at: now,
            kept_waiting: now,
        }
    }

    /// An endpoint that took `rate` attempts a second not long ago. The pace begins a little below, and grows as slowly as one that was found
    /// twice.
    pub(super) fn known(rate: f64, now: Instant) -> Self {
        let mut paced = Self {
            found: Some(rate),
            ..Self::new(rate * BELOW_FOUND, now)
        };
        paced.begin(rate, 0.0, now);
        paced
    }

    /// Attempts a second that the endpoint is known to take. `None` while that is a guess, and where it made no difference to the refusals.
    pub(super) fn learned(&self) -> Option<f64> {
        let found = self.found.filter(|_| self.tolerated <= TOLERATED)?;
        let has_grown = self.rate > GROWN * self.began_at;
        Some(if has_grown { self.rate } else { found })
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// Starts an attempt; see [`Pace::start`](super::Pace::start).
    pub(super) fn start(&mut self, now: Instant) -> Result<u32, Instant> {
        self.grow(now);
        if now < self.next {
            self.kept_waiting = self.next;
            return Err(self.next);
        }
        let slot = Duration::from_secs_f64(1.0 / self.rate);
        let earliest = now.checked_sub(LATE).unwrap_or(now);
        self.next = self.next.max(earliest) + slot;
        self.epoch.started = self.epoch.started.saturating_add(1);
        self.sample.started = self.sample.started.saturating_add(1);
        Ok(self.epoch.started)
    }

    /// Whether the pace has kept nobody waiting for long.
    pub(super) fn is_forgotten(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.kept_waiting) >= FORGOTTEN_AFTER
    }

    /// Whether the attempt says nothing about the present pace.
    pub(super) fn is_from_before(&self, attempt: &Refused) -> bool {
        attempt.began < self.epoch.began
    }

    /// Whether the endpoint takes nothing at present: nothing since the last cut, or none of the last few.
    pub(super) fn is_closed(&self, attempt: &Refused) -> bool {
        let is_next = attempt.number == self.last_refused[0].saturating_add(1);
        self.took_nothing(attempt) || (is_next && self.in_a_row + 1 >= FEW)
    }

    fn took_nothing(&self, attempt: &Refused) -> bool {
        attempt.number <= self.epoch.refused + 1
    }

    /// The endpoint asked all to wait.
    pub(super) fn is_held(&mut self, until: Instant) {
        self.quiet_since = until;
        self.kept_waiting = until;
    }

    /// Waits for an endpoint that takes nothing and does not say for how long.
    pub(super) fn probe(&mut self, now: Instant) {
        self.next = self.next.max(now + self.probe);
        self.probe = (2 * self.probe).min(LONGEST_PROBE);
    }

    /// Records a refusal, and falls to the rate that the endpoint takes if there were too many.
    pub(super) fn refused(&mut self, attempt: &Refused, now: Instant) -> Change {
        let took_nothing = self.took_nothing(attempt);
        let share = self.count(attempt, now);
        if took_nothing {
            // Slightly slower was not enough.
            self.rate = self.else_to.take().unwrap_or(self.rate);
            self.quiet_since = now;
            return Change::RateLimited;
        }
        let is_thin = self.is_thin(attempt);
        let is_dense = self.is_dense(attempt);
        self.last_refused = [attempt.number, self.last_refused[0]];
        let is_tried = self.else_to.is_some() && attempt.number <= TRIED_FOR;
        let are_too_many = self.sample.refused >= FEW && share > self.tolerated;
        if !is_tried && !are_too_many && !is_dense {
            return Change::RateLimited;
        }
        let since = attempt.began.saturating_duration_since(self.epoch.began);
        let seconds = since.as_secs_f64().max(1e-3);
        let started = f64::from(attempt.number.max(self.epoch.refused));
        let taken = (started - f64::from(self.epoch.refused)).max(1.0);
        let trial = is_thin.then_some(Trial {
            rate: self.rate,
            started: started / seconds,
            taken: taken / seconds,
        });
        let found = self.find(attempt, taken, seconds);
        if let (Some(now_is), Some(before)) = (trial, self.trial)
            && started >= ENOUGH
            && before.was_in_vain(&now_is)
        {
            self.rate = before.rate;
            self.tolerated = (2.0 * share).min(0.9);
            (self.trial, self.else_to) = (None, None);
            self.begin(found, share, now);
            return Change::Undone;
        }
        self.trial = match (trial, self.trial) {
            (Some(now_is), Some(before)) if before.is_worth_keeping(&now_is) => Some(before),
            (trial, _) => trial,
        };
        self.cut(found, taken, (share, is_thin), is_tried);
        self.begin(found, share, now);
        Change::RateLimited
    }

    /// Counts a refusal. Returns the share of them.
    fn count(&mut self, attempt: &Refused, now: Instant) -> f64 {
        let is_next = attempt.number == self.last_refused[0].saturating_add(1);
        self.in_a_row = if is_next { self.in_a_row + 1 } else { 1 };
        self.epoch.refused = self.epoch.refused.saturating_add(1);
        self.sample.refused = self.sample.refused.saturating_add(1);
        let share = self.sample.share_refused();
        if share > self.tolerated / 2.0 {
            self.quiet_since = now;
        }
        share
    }

    /// Whether the last refusals are far apart.
    fn is_thin(&self, attempt: &Refused) -> bool {
        let [_, first] = self.last_refused;
        f64::from(attempt.number.saturating_sub(first)) * THIN > 2.0
    }

    /// Whether so many of the last attempts were refused that it does not matter how few were before them.
    fn is_dense(&self, attempt: &Refused) -> bool {
        let [_, first] = self.last_refused;
        let span = attempt.number.saturating_sub(first).saturating_add(1);
        first > 0 && f64::from(FEW) > DENSE * self.tolerated * f64::from(span)
    }

    /// The rate that the endpoint takes: in this epoch it took `taken` attempts in `seconds`.
    fn find(&mut self, attempt: &Refused, taken: f64, seconds: f64) -> f64 {
        if self.rate > GROWN * self.began_at {
            // The pace was below what the endpoint takes for most of the time.
            self.earlier = (0.0, 0.0);
            return self.taken_lately(attempt).max(taken / seconds);
        }
        // From one refusal to the next, over several of them: a short time says little.
        let (taken, seconds) = (taken + self.earlier.0, seconds + self.earlier.1);
        let kept = (LONG_ENOUGH / seconds).min(1.0);
        self.earlier = (taken * kept, seconds * kept);
        taken / seconds
    }

    /// What the endpoint took in the last two seconds or so, in attempts a second.
    fn taken_lately(&self, attempt: &Refused) -> f64 {
        let mark = self.marks[1];
        let seconds = attempt.began.saturating_duration_since(mark.began);
        let started = attempt.number.saturating_sub(mark.started);
        let refused = self.epoch.refused.saturating_sub(mark.refused);
        f64::from(started.saturating_sub(refused)) / seconds.as_secs_f64().max(1.0)
    }

    /// Falls to the rate that was found, or only slightly where that may do: an endpoint that keeps no store of unused requests refuses
    /// every other attempt at a pace that is hardly too fast. Where refusals are far apart (`is_thin`) there is a store, and the rate is known.
    fn cut(&mut self, found: f64, taken: f64, (share, is_thin): (f64, bool), is_tried: bool) {
        let before = self.rate;
        let found = match self.else_to.take() {
            Some(rate) if is_tried => rate.min(before * 0.95),
            _ => found,
        };
        let next = (found * BELOW_FOUND).min(before * (1.0 - share / 2.0));
        let is_near = taken >= SURE && !is_thin && share < MANY && next > before * FAR_BELOW;
        self.rate = if is_near && !is_tried && next < before * TRIED {
            self.else_to = Some(next.max(SLOWEST));
            before * TRIED
        } else if taken < SURE && !is_tried {
            next.max(before / 2.0)
        } else {
            next
        };
        self.rate = self.rate.max(SLOWEST);
    }

    /// Begins an epoch after `found`, in attempts a second, was found, and `share` of the attempts was refused.
    fn begin(&mut self, found: f64, share: f64, now: Instant) {
        self.epoch = Epoch::new(now);
        self.sample = Epoch::new(now);
        self.marks = [Epoch::new(now); 2];
        self.began_at = self.rate;
        self.last_refused = [0; 2];
        self.in_a_row = 0;
        self.quiet_since = now;
        self.next = now + Duration::from_secs_f64(1.0 / self.rate);
        self.probe = FIRST_PROBE;
        let before = self.found.replace(found);
        // What an endpoint takes that refuses most is no measure of what it will take.
        let off = match before {
            _ if share > MOST => 1.0,
            Some(before) => (found / before - 1.0).abs(),
            None => UNKNOWN,
        };
        self.growth = (2.0 * off * off).clamp(LEAST_GROWTH, FIRST_GROWTH);
        let more = Duration::from_secs_f64(PATIENT_FOR / self.rate);
        self.patience = PATIENCE + more.min(MOST_PATIENCE);
    }

    /// Raises the pace by what the time since the last refusals is worth.
    fn grow(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.grown_at);
        if passed < GROWS_EVERY {
            return;
        }
        self.grown_at = now;
        self.roll(now);
        // A pace that keeps nobody waiting is not tried by growing.
        if now.saturating_duration_since(self.kept_waiting) > SECOND {
            return;
        }
        let quiet = now.saturating_duration_since(self.quiet_since);
        let doublings = quiet.as_secs_f64() / self.patience.as_secs_f64();
        let growth = (self.growth * doublings.min(20.0).exp2()).min(LARGEST_GROWTH);
        self.rate *= 1.0 + growth * passed.as_secs_f64().min(1.0);
    }

    fn roll(&mut self, now: Instant) {
        if now.saturating_duration_since(self.marks[0].began) >= SECOND {
            let mark = Epoch {
                began: now,
                ..self.epoch
            };
            self.marks = [mark, self.marks[0]];
        }
        let is_long = now.saturating_duration_since(self.sample.began) >= SECOND;
        if is_long && self.sample.started >= SAMPLE {
            self.tolerated = (self.tolerated * 0.9).max(TOLERATED);
            self.sample = Epoch::new(now);
        }
    }
}

impl Trial {
    /// Whether fewer attempts, as now, made the endpoint take about as much less: what limits the rate takes as much as before.
    fn was_in_vain(&self, now: &Self) -> bool {
        let lost = 1.0 - now.started / self.started;
        now.started < self.started * SLOWER && now.taken < self.taken * (1.0 - 0.5 * lost)
    }

    /// Whether the present pace is not yet so much slower that an effect would show, and no faster.
    fn is_worth_keeping(&self, now: &Self) -> bool {
        now.started >= self.started * SLOWER && now.started <= self.started
    }
}

impl Epoch {
    fn new(began: Instant) -> Self {
        Self {
            began,
            started: 0,
            refused: 0,
        }
    }

    fn share_refused(&self) -> f64 {
        f64::from(self.refused) / f64::from(self.started.max(self.refused).max(1))
    }
}
