//! A rate, and a rule on it.

use schema::sequence::SequenceAnswer;

use super::{
    FEWEST_DECIDED, capital::number, grid::Grid, held_rule::HeldRule, lists::ScenarioLists,
};

/// The steps of the grid between 0 and 1.
const STEPS: usize = 1000;

/// The rows of a base scenario that a test covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlayedScenario {
    /// Rows that passed.
    pub passed: u64,
    /// Rows that failed.
    pub failed: u64,
    /// Rows without a verdict.
    pub missing: u64,
    /// Those of `failed`, and those of `passed`, that rest on an empty or cut-off reply: bounds count them as missing.
    pub incomplete: [u64; 2],
}

/// Which end of the interval a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLimit {
    /// `lower >= N`.
    AtLeast,
    /// `upper <= N`.
    AtMost,
}

/// A rule on a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateRule {
    /// Which end of the interval it is about.
    pub limit: RateLimit,
    /// The limit, 0 to 1.
    pub rate: f64,
}

/// What is known of a rate after some scenarios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLook {
    /// The scenarios played.
    pub scenarios: u64,
    /// Rows that passed.
    pub passed: u64,
    /// Rows with a verdict.
    pub rows: u64,
    /// Rows without a verdict, and those whose verdict rests on an empty or cut-off reply.
    pub missing: u64,
    /// `passed` of `rows`; `None` without rows.
    pub estimate: Option<f64>,
    /// Lower end of the interval that holds at all looks at once with 95%, 0 to 1.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// Whether too many verdicts are missing to leave them out: the ends are then those with all of them against the end.
    pub bounds_used: bool,
}

/// Both sides of an interval.
#[derive(Clone, Debug)]
struct Sides {
    above: Grid,
    below: Grid,
}

impl Sides {
    fn lower(&self) -> f64 {
        on_grid(self.above.excluded())
    }

    fn upper(&self) -> f64 {
        on_grid(STEPS - self.below.excluded())
    }
}

#[expect(clippy::cast_precision_loss, reason = "at most 1,000")]
fn on_grid(step: usize) -> f64 {
    step as f64 / STEPS as f64
}

/// The rate of one target in one scope, scenario by scenario.
#[derive(Clone, Debug)]
pub struct RateTest {
    lists: ScenarioLists,
    /// The rows of the largest scenario.
    largest: f64,
    max_missing: f64,
    judged: Sides,
    /// With the missing rows against each end; from the first missing row on.
    bounds: Option<Box<Sides>>,
    scenarios: u64,
    passed: u64,
    rows: u64,
    missing: u64,
    incomplete: u64,
    held: Option<Box<HeldRule>>,
}

impl RateTest {
    /// The test over `lists`, whose largest scenario has `largest` rows. While more than `max_missing` (0 to 1) of the rows played have no
    /// verdict, the interval's ends have all of them against it.
    #[must_use]
    pub fn new(lists: ScenarioLists, largest: u64, max_missing: f64) -> Self {
        let largest = number(largest.max(1));
        let grid = || {
            let means = (1..STEPS).map(on_grid);
            Grid::new(means, prior(largest), 1.0, lists.clone())
        };
        let judged = Sides {
            above: grid(),
            below: grid(),
        };
        Self {
            lists,
            largest,
            max_missing,
            judged,
            bounds: None,
            scenarios: 0,
            passed: 0,
            rows: 0,
            missing: 0,
            incomplete: 0,
            held: None,
        }
    }

    /// Holds `rule` against the rate, and gives it up where the chance that the rest of the list decides it is below `give_up` (0: never).
    /// Before the first scenario.
    #[must_use]
    pub fn holding(mut self, rule: RateRule, give_up: f64) -> Self {
        let prior = prior(self.largest);
        self.held = Some(Box::new(HeldRule::new(rule, give_up, prior, &self.lists)));
        self
    }

    /// Plays the next scenario of the order.
    pub fn play(&mut self, scenario: &PlayedScenario) {
        let PlayedScenario {
            passed,
            failed,
            missing,
            incomplete,
        } = *scenario;
        let [failed_incomplete, passed_incomplete] = incomplete;
        let incomplete: u64 = incomplete.iter().sum();
        if missing + incomplete > 0 && self.bounds.is_none() {
            // Until here, both are the same.
            self.bounds = Some(Box::new(self.judged.clone()));
        }
        let share = |rows: u64| number(rows) / self.largest;
        let (judged, planned) = (share(passed + failed), share(passed + failed + missing));
        self.judged.above.play(share(passed), judged);
        self.judged.below.play(share(failed), judged);
        if let Some(bounds) = &mut self.bounds {
            bounds
                .above
                .play(share(passed - passed_incomplete.min(passed)), planned);
            bounds
                .below
                .play(share(failed - failed_incomplete.min(failed)), planned);
        }
        if let Some(held) = &mut self.held {
            held.play(share(passed), share(failed), judged);
        }
        self.scenarios += 1;
        self.passed += passed;
        self.rows += passed + failed;
        self.missing += missing;
        self.incomplete += incomplete;
        self.decide();
    }

    /// What is known of the rate.
    #[must_use]
    pub fn look(&self) -> RateLook {
        let planned = number(self.rows + self.missing);
        let missing = self.missing + self.incomplete;
        let is_short = number(missing) > self.max_missing * planned;
        let (lower, upper) = match is_short {
            true => self.bounds(),
            false => self.judged(),
        };
        RateLook {
            scenarios: self.scenarios,
            passed: self.passed,
            rows: self.rows,
            missing,
            estimate: (self.rows > 0).then(|| number(self.passed) / number(self.rows)),
            lower,
            upper,
            bounds_used: is_short,
        }
    }

    /// The interval of the rows with a verdict.
    #[must_use]
    pub fn judged(&self) -> (f64, f64) {
        (self.judged.lower(), self.judged.upper())
    }

    /// The interval with all missing rows against each of its ends.
    #[must_use]
    pub fn bounds(&self) -> (f64, f64) {
        let (lower, upper) = self.judged();
        self.bounds.as_deref().map_or((lower, upper), |bounds| {
            (lower.min(bounds.lower()), upper.max(bounds.upper()))
        })
    }

    /// The answer to the rule; open without one. The first answer stands, whatever comes after it.
    #[must_use]
    pub fn answer(&self) -> SequenceAnswer {
        self.held
            .as_ref()
            .map_or(SequenceAnswer::Open, |held| held.answer())
    }

    /// The chance that the rest of the list decides the rule: by passing the limit from below, or from above, whichever is likelier.
    /// `None` without a rule.
    #[must_use]
    pub fn chance(&self) -> Option<f64> {
        self.held.as_ref().map(|held| held.chance())
    }

    /// The fewest scenarios that decide the rule, the ones played so far included, if all rows from here on passed, or all failed: the number
    /// of rows of the next scenarios is `rows`. What comes before these is simulated whatever happens; all of them, where the list does not
    /// decide it either way. Without a rule, the scenarios played.
    #[must_use]
    pub fn earliest_decision(&self, rows: impl Iterator<Item = u64> + Clone) -> u64 {
        match &self.held {
            None => self.scenarios,
            Some(held) => held.earliest(self.scenarios, FEWEST_DECIDED, rows, self.largest),
        }
    }

    fn decide(&mut self) {
        let look = self.look();
        let listed = self.lists.scenarios(self.scenarios);
        if let Some(held) = &mut self.held {
            let rate = held.rule.rate;
            held.decide(
                [look.lower >= rate, look.upper <= rate],
                self.scenarios,
                listed,
            );
        }
    }
}

/// How far scenarios of `largest` rows are taken to spread before the first one: half way between rows that are independent and rows that are
/// all alike.
pub(super) fn prior(largest: f64) -> f64 {
    (1.0 + (largest - 1.0) / 2.0) / largest
}
