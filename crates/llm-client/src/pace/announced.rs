//! What an endpoint says is left of its limits, as a pace.

use std::time::Duration;

use schema::{ChatReply, RateLeft, RateUnit, Usage};
use tokio::time::Instant;

use super::{FEW, LATE, LONGEST_ASKED, SLOWEST};

/// The weight of the newest reply in the average of tokens.
const NEWEST: f64 = 0.1;
/// A pace that has kept nobody waiting for so long limits nothing.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);
/// While attempts wait, newer replies may say that more is left.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// The growth of the pace with each attempt that is answered although nothing was left.
const DOUBTED: f64 = 2.0;

/// Spreads what is left of the limits of an endpoint over the time until they are reset. At an endpoint whose limit fills up steadily, this comes to
/// what it takes, with half of the limit in store.
///
/// - Limits that are reset after more than two minutes are not spread: a run is not meant to last a day.
/// - Where next to nothing is left, an attempt is made every five seconds. If they are answered all the same, more than were left, what the endpoint
///   takes counts and not what it says: the pace grows with each.
#[derive(Debug)]
pub(super) struct Announced {
    limits: [Option<LimitPace>; RateUnit::ALL.len()],
    /// When the next attempt may start.
    next: Instant,
    /// When an attempt last had to wait.
    kept_waiting: Option<Instant>,
    tokens: Tokens,
}

/// The pace that one limit sets.
#[derive(Clone, Copy, Debug)]
struct LimitPace {
    /// Attempts a second.
    rate: f64,
    /// When the limit is reset: the pace says nothing from then on.
    until: Instant,
    exhausted: Option<Exhausted>,
}

/// Next to nothing was left of a limit.
#[derive(Clone, Copy, Debug)]
struct Exhausted {
    since: Instant,
    /// Attempts that began later and are no surprise if they are answered.
    expected: f64,
    /// The pace, which grows with each that is.
    rate: f64,
}

/// Tokens of an attempt, on average.
#[derive(Clone, Copy, Debug, Default)]
struct Tokens {
    input: Option<f64>,
    output: Option<f64>,
}

impl Announced {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            limits: [None; RateUnit::ALL.len()],
            next: now,
            kept_waiting: None,
            tokens: Tokens::default(),
        }
    }

    /// The slowest pace that a limit sets at `now`, and until when.
    fn slowest(&self, now: Instant) -> Option<LimitPace> {
        let paces = self.limits.iter().flatten();
        paces
            .filter(|pace| now < pace.until)
            .min_by(|a, b| a.rate.total_cmp(&b.rate))
            .copied()
    }

    /// Attempts a second, if that has kept attempts waiting lately.
    pub(super) fn rate(&self, now: Instant) -> Option<f64> {
        let waited = self.kept_waiting?;
        let is_in_use = now.saturating_duration_since(waited) < FORGOTTEN_AFTER;
        self.slowest(now)
            .filter(|_| is_in_use)
            .map(|pace| pace.rate)
    }

    /// Whether a limit sets a pace at `now`.
    pub(super) fn is_free(&self, now: Instant) -> bool {
        self.slowest(now).is_none()
    }

    /// Whether an attempt may start.
    ///
    /// # Errors
    ///
    /// The time to ask again.
    pub(super) fn may_start(&mut self, now: Instant) -> Result<(), Instant> {
        match self.slowest(now) {
            Some(pace) if now < self.next => {
                self.kept_waiting = Some(now);
                Err(self.next.min(pace.until).min(now + LOOK_AGAIN))
            }
            _ => Ok(()),
        }
    }

    /// An attempt starts.
    pub(super) fn started(&mut self, now: Instant) {
        if let Some(pace) = self.slowest(now) {
            let earliest = now.checked_sub(LATE).unwrap_or(now);
            self.next = self.next.max(earliest) + Duration::from_secs_f64(1.0 / pace.rate);
        }
    }

    /// Takes what the endpoint says in the reply to an attempt that began at `began`, after which `newer` others did.
    pub(super) fn heard(&mut self, reply: &ChatReply, began: Instant, newer: f64, now: Instant) {
        if let Some(usage) = &reply.usage {
            self.tokens.add(usage);
        }
        for said in &reply.rates_left {
            let Some(tokens) = self.tokens.of(said.unit) else {
                continue;
            };
            if let Some(limit) = self.limits.get_mut(said.unit as usize) {
                *limit = LimitPace::new(said, tokens, (began, newer), *limit, now);
            }
        }
        if let Some(pace) = self.slowest(now) {
            let next = now + Duration::from_secs_f64(1.0 / pace.rate);
            self.next = self.next.min(next);
        }
    }

    /// An attempt was refused: what the endpoint says may well be so.
    pub(super) fn refused(&mut self) {
        for pace in self.limits.iter_mut().flatten() {
            if let Some(exhausted) = &mut pace.exhausted {
                exhausted.expected = f64::from(FEW);
                exhausted.rate = SLOWEST;
                pace.rate = SLOWEST;
            }
        }
    }
}

impl LimitPace {
    /// The pace of a limit of which the endpoint says what is left, in the reply to an attempt that began at `began`, after which `newer` others
    /// did. An attempt takes `each`.
    fn new(
        said: &RateLeft,
        each: f64,
        (began, newer): (Instant, f64),
        before: Option<Self>,
        now: Instant,
    ) -> Option<Self> {
        // The endpoint may have counted when the attempt began.
        let until = began + said.resets_in.min(LONGEST_ASKED);
        if said.resets_in > LONGEST_ASKED || until <= now {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "so many tokens are no limit")]
        let left = said.left as f64 / each.max(1.0);
        let rate = (left - newer).max(0.0) / (until - now).as_secs_f64();
        if rate >= SLOWEST {
            return Some(Self {
                rate,
                until,
                exhausted: None,
            });
        }
        let before = before.filter(|before| now < before.until);
        let exhausted = match before.and_then(|before| before.exhausted) {
            Some(before) if began > before.since => before.answered(),
            Some(before) => before,
            None => Exhausted {
                since: now,
                expected: left + f64::from(FEW),
                rate: SLOWEST,
            },
        };
        Some(Self {
            rate: exhausted.rate,
            until,
            exhausted: Some(exhausted),
        })
    }
}

impl Exhausted {
    /// An attempt was answered nevertheless.
    fn answered(self) -> Self {
        if self.expected >= 1.0 {
            let expected = self.expected - 1.0;
            return Self { expected, ..self };
        }
        let rate = self.rate * DOUBTED;
        Self { rate, ..self }
    }
}

impl Tokens {
    #[expect(clippy::cast_precision_loss, reason = "an average")]
    fn add(&mut self, usage: &Usage) {
        let sent = usage.input_tokens.saturating_sub(usage.cached_input_tokens);
        let average = |before: Option<f64>, newest: u64| {
            let newest = newest as f64;
            Some(before.map_or(newest, |before| before + NEWEST * (newest - before)))
        };
        self.input = average(self.input, sent);
        self.output = average(self.output, usage.output_tokens);
    }

    /// How many of `unit` an attempt takes.
    fn of(&self, unit: RateUnit) -> Option<f64> {
        match unit {
            RateUnit::Requests => Some(1.0),
            RateUnit::Tokens => Some(self.input? + self.output?),
            RateUnit::InputTokens => self.input,
            RateUnit::OutputTokens => self.output,
        }
    }
}
