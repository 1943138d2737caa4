//! How fast attempts may start at an endpoint, learned from its refusals. Pure: the caller passes the time.

mod announced;
mod paced;
mod recent;

use std::time::Duration;

use schema::ChatReply;
use tokio::time::Instant;

use self::{announced::Announced, paced::Paced, recent::Recent};

/// The slowest pace, in attempts a second: an endpoint that takes nothing gets an attempt now and then.
const SLOWEST: f64 = 0.2;
/// Slots that were missed, because timers are late, are made up for within this time.
const LATE: Duration = Duration::from_millis(10);
/// Fewer refusals than this are too small a sample for their share.
const FEW: u32 = 3;
/// The share of refusals that shows, at an endpoint without a known rate, that there is one.
const SHOWN: f64 = 0.05;
/// The longest wait that an endpoint may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(120);
/// How many times as many attempts as at first may be in flight in addition after [`OPENING_DOUBLES`]; twice as many in the next, and so on.
const OPENING_NEXT: f64 = 2.0;
/// See [`OPENING_NEXT`].
const OPENING_DOUBLES: Duration = Duration::from_millis(250);
/// So many answers without a refusal end the opening.
const OPENING_ANSWERS: u32 = 64;

/// The pace of one endpoint.
///
/// - Opening: few attempts are in flight at first, until some are answered, so that an endpoint that takes five a second does not refuse 60
///   at once.
/// - Free: nothing is known that limits the rate.
/// - Paced, when more than 5 % of attempts are refused, or were in an earlier run: see [`Paced`].
///
/// Each of them is slower where the endpoint says that little is left of its limits: see [`Announced`].
#[derive(Debug)]
pub(crate) struct Pace {
    state: State,
    announced: Announced,
    /// Attempts a second that the endpoint was known to take when the pace was given up, because it kept nobody waiting.
    given_up: Option<f64>,
    /// The endpoint asked for a wait until then, and takes nothing before.
    held_until: Option<Instant>,
    recent: Recent,
}

#[derive(Debug)]
enum State {
    Opening(Opening),
    Free,
    Paced(Box<Paced>),
}

#[derive(Debug)]
struct Opening {
    /// Attempts that may be in flight at first.
    first: f64,
    began: Option<Instant>,
    started: u32,
    answered: u32,
}

/// Attempts a second, and how that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PaceRate {
    /// From what the endpoint took and refused.
    Learned(f64),
    /// The endpoint said how much is left of its limits.
    Announced(f64),
}

impl PaceRate {
    /// Attempts a second.
    pub(crate) fn a_second(self) -> f64 {
        let (Self::Learned(rate) | Self::Announced(rate)) = self;
        rate
    }
}

/// Why the pace changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing was refused for a while.
    InUse,
    /// The endpoint refused too many attempts.
    RateLimited,
    /// A slower pace did not help.
    Undone,
}

/// An attempt that was refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    /// When it began.
    pub(crate) began: Instant,
    /// The number that [`Pace::start`] gave it.
    pub(crate) number: u32,
    /// The wait that the endpoint asks for.
    pub(crate) asked: Option<Duration>,
    /// Attempts that are in flight and not refused.
    pub(crate) accepted: f64,
    /// How long an answer takes.
    pub(crate) round_trip: Duration,
}

impl Pace {
    /// An endpoint at which `first` attempts may be in flight at first.
    pub(crate) fn opening(first: usize, now: Instant) -> Self {
        let opening = Opening {
            first: u32::try_from(first).map_or(f64::INFINITY, f64::from),
            began: None,
            started: 0,
            answered: 0,
        };
        Self {
            state: State::Opening(opening),
            ..Self::free(now)
        }
    }

    /// An endpoint that takes what comes, until it refuses.
    pub(crate) fn free(now: Instant) -> Self {
        Self {
            state: State::Free,
            announced: Announced::new(now),
            given_up: None,
            held_until: None,
            recent: Recent::new(now),
        }
    }

    /// An endpoint that took `rate` attempts a second in an earlier run.
    pub(crate) fn known(rate: f64, now: Instant) -> Self {
        Self {
            state: State::Paced(Box::new(Paced::known(rate, now))),
            ..Self::free(now)
        }
    }

    /// Attempts a second that the endpoint is known to take, for later runs.
    pub(crate) fn learned(&self) -> Option<f64> {
        match &self.state {
            State::Paced(paced) => paced.learned(),
            _ => self.given_up,
        }
    }

    /// Attempts a second, if the endpoint limits them.
    pub(crate) fn rate(&self, now: Instant) -> Option<PaceRate> {
        let announced = self.announced.rate(now).map(PaceRate::Announced);
        let learned = match &self.state {
            State::Paced(paced) => Some(PaceRate::Learned(paced.rate())),
            _ => None,
        };
        let all = announced.into_iter().chain(learned);
        all.min_by(|a, b| a.a_second().total_cmp(&b.a_second()))
    }

    /// Whether attempts may start as they like.
    pub(crate) fn is_free(&self, now: Instant) -> bool {
        matches!(self.state, State::Free) && self.announced.is_free(now)
    }

    /// Starts an attempt. Returns its number since the last change of pace.
    ///
    /// # Errors
    ///
    /// The time to ask again: none may start before.
    pub(crate) fn start(&mut self, now: Instant) -> Result<u32, Instant> {
        if let Some(until) = self.held_until {
            if now < until {
                return Err(until);
            }
            self.held_until = None;
        }
        self.announced.may_start(now)?;
        let number = match &mut self.state {
            State::Free => 0,
            State::Opening(opening) => opening.start(now)?,
            State::Paced(paced) if paced.is_forgotten(now) => {
                self.given_up = paced.learned();
                self.state = State::Free;
                0
            }
            State::Paced(paced) => paced.start(now)?,
        };
        self.announced.started(now);
        Ok(number)
    }

    /// Records an answer to an attempt that began at `began`, after which `newer` others did.
    pub(crate) fn answered(&mut self, reply: &ChatReply, began: Instant, newer: f64, now: Instant) {
        self.announced.heard(reply, began, newer, now);
        self.recent.answered(now);
        if let State::Opening(opening) = &mut self.state {
            opening.answered += 1;
            if opening.answered >= OPENING_ANSWERS && self.recent.all_refused() == 0 {
                self.state = State::Free;
            }
        }
    }

    /// Records a refusal.
    pub(crate) fn refused(&mut self, attempt: Refused, now: Instant) -> Change {
        self.recent.refused(now);
        self.announced.refused();
        let State::Paced(paced) = &mut self.state else {
            self.limits_the_rate(&attempt, now);
            return Change::RateLimited;
        };
        if paced.is_from_before(&attempt) {
            return Change::RateLimited;
        }
        let is_closed = paced.is_closed(&attempt);
        let change = paced.refused(&attempt, now);
        match attempt.asked {
            // At the right pace, a wait in whole seconds is for the refused attempt alone.
            Some(asked) if is_closed => {
                let until = now + asked.min(LONGEST_ASKED);
                let until = self.held_until.map_or(until, |held| held.max(until));
                self.held_until = Some(until);
                paced.is_held(until);
            }
            None if is_closed => paced.probe(now),
            _ => {}
        }
        change
    }

    /// Paces the endpoint if it refuses more than it would by chance.
    fn limits_the_rate(&mut self, attempt: &Refused, now: Instant) {
        let answered = f64::from(self.recent.all_answered()).max(attempt.accepted);
        let refused = self.recent.all_refused();
        let share = f64::from(refused) / (f64::from(refused) + answered);
        if refused < FEW || share <= SHOWN {
            return;
        }
        // What it takes may be a store that it had: a second's worth is the most common one.
        let seconds = attempt.round_trip.as_secs_f64().max(1.0);
        let rate = self
            .recent
            .answers_a_second(now)
            .max(attempt.accepted / seconds);
        self.state = State::Paced(Box::new(Paced::new(rate, now)));
    }
}

impl Opening {
    fn start(&mut self, now: Instant) -> Result<u32, Instant> {
        let began = *self.began.get_or_insert(now);
        let in_flight = f64::from(self.started.saturating_sub(self.answered));
        let more = (in_flight + 1.0 - self.first).max(0.0) / (self.first * OPENING_NEXT);
        let at = began + OPENING_DOUBLES.mul_f64((1.0 + more).log2());
        if now < at {
            return Err(at);
        }
        self.started = self.started.saturating_add(1);
        Ok(self.started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pace of an hour of trouble must not be that of the next run.
    #[test]
    fn a_pace_that_was_too_slow_is_learned_as_what_it_grew_to() {
        let began = Instant::now();
        let mut pace = Pace::known(5.0, began);
        assert_eq!(pace.learned(), Some(5.0));
        let mut now = began;
        let minute = Duration::from_secs(60);
        // Attempts always wait.
        for _ in 0..6000 {
            let is_known = pace.learned().is_some_and(|rate| rate > 50.0);
            if !is_known && pace.start(now).is_err() {
                now += Duration::from_millis(20);
            }
        }
        let grown = pace.learned().unwrap();
        assert!(grown > 50.0, "{grown}");
        now += 2 * minute;
        assert_eq!(pace.start(now), Ok(0));
        assert!(pace.is_free(now));
        assert_eq!(pace.learned(), Some(grown));
    }
}
