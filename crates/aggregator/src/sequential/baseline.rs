//! The difference of one target from a baseline, whose rows are all there before.

use schema::sequence::SequenceAnswer;

use super::{
    DifferenceTest, FEWEST_DECIDED, PlayedDifference, RateLimit, RateRule,
    capital::number,
    difference::{PRIOR, mean_of, shares},
    held_rule::HeldRule,
    lists::ScenarioLists,
};

/// The rows of one scenario and metric on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideRows {
    /// Rows that passed.
    pub passed: u64,
    /// Rows with a verdict.
    pub judged: u64,
    /// Those that did not pass, and those that did, that rest on an empty or cut-off reply: bounds count them as missing.
    pub incomplete: [u64; 2],
    /// All rows.
    pub rows: u64,
}

impl SideRows {
    /// The rate of the rows with a verdict.
    fn rate(self) -> f64 {
        number(self.passed) / number(self.judged.max(1))
    }

    /// The rate here less that of the other side; `None` where one has no verdict.
    #[must_use]
    pub fn difference(self, other: Self) -> Option<f64> {
        (self.judged > 0 && other.judged > 0).then(|| self.rate() - other.rate())
    }

    /// The rate of `all` rows if the missing ones had passed, or failed.
    fn filled(self, all: u64, missing_passed: bool) -> f64 {
        let [_, incomplete] = self.incomplete;
        let passed = self.passed - incomplete.min(self.passed);
        let missing = self.missing(all);
        let passed = if missing_passed {
            passed + missing
        } else {
            passed
        };
        number(passed) / number(all.max(1))
    }

    /// The missing ones of `all` rows.
    fn missing(self, all: u64) -> u64 {
        let incomplete: u64 = self.incomplete.iter().sum();
        all.saturating_sub(self.judged - incomplete.min(self.judged))
    }
}

/// A base scenario that the target has played, beside its rows in the baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlayedBeside {
    /// Over the scenarios and metrics with a verdict on both sides.
    pub measured: PlayedDifference,
    /// Over all of them, with missing rows failed here and passed in the baseline.
    pub lowest: f64,
    /// The other way round.
    pub highest: f64,
    /// All scenarios and metrics.
    pub units: u64,
    /// All rows of each side, those that only the other side has included.
    pub rows: u64,
    /// The missing rows here, and in the baseline.
    pub missing: [u64; 2],
}

impl PlayedBeside {
    /// Adds a scenario and metric. A row that only one side has is missing on the other.
    pub fn add(&mut self, here: SideRows, before: SideRows) {
        let all = here.rows.max(before.rows);
        if all == 0 {
            return;
        }
        if let Some(difference) = here.difference(before) {
            self.measured.difference += difference;
            self.measured.units += 1;
        }
        self.lowest += here.filled(all, false) - before.filled(all, true);
        self.highest += here.filled(all, true) - before.filled(all, false);
        self.units += 1;
        self.rows += all;
        let [of_here, of_before] = &mut self.missing;
        *of_here += here.missing(all);
        *of_before += before.missing(all);
    }
}

/// What is known of a difference from a baseline after some scenarios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BaselineLook {
    /// The scenarios played.
    pub scenarios: u64,
    /// The scenarios and metrics with a verdict on both sides.
    pub units: u64,
    /// Their mean difference, -1 to 1; `None` without any.
    pub difference: Option<f64>,
    /// The interval of the measured difference, which holds at all looks at once with 95%.
    pub measured: (f64, f64),
    /// The same whatever the missing rows of both sides would have been.
    pub bounds: (f64, f64),
    /// The missing rows here, and in the baseline.
    pub missing: [u64; 2],
    /// The share of missing rows of the side that has the larger one.
    pub missing_share: f64,
}

/// A rule on the difference of a target from a baseline, scenario by scenario.
#[derive(Clone, Debug)]
pub struct BaselineTest {
    lists: ScenarioLists,
    /// The units of the largest scenario.
    largest: u64,
    max_missing: f64,
    measured: DifferenceTest,
    /// With the missing rows against each end; from the first missing row on.
    bounds: Option<Box<[DifferenceTest; 2]>>,
    rows: u64,
    missing: [u64; 2],
    /// Rows of the baseline whose base scenarios are not in the order.
    unmatched: u64,
    held: Option<Box<HeldRule>>,
}

impl BaselineTest {
    /// The test over `lists`, whose largest scenario has `largest` units. While more than `max_missing` (0 to 1) of a side's rows have no verdict,
    /// the interval's ends have all of them against it.
    #[must_use]
    pub fn new(lists: &ScenarioLists, largest: u64, max_missing: f64) -> Self {
        Self {
            lists: lists.clone(),
            largest: largest.max(1),
            max_missing,
            measured: DifferenceTest::new(lists, largest, 1),
            bounds: None,
            rows: 0,
            missing: [0; 2],
            unmatched: 0,
            held: None,
        }
    }

    /// With `rows` of the baseline whose base scenarios are not in the order: they are missing here, and nothing bounds what they would have been.
    #[must_use]
    pub fn with_unmatched(self, rows: u64) -> Self {
        Self {
            unmatched: rows,
            ..self
        }
    }

    /// Holds a rule against the difference: `limit` is -1 to 1. It is given up where the chance that the rest of the list decides it is below
    /// `give_up` (0: never). Before the first scenario.
    #[must_use]
    pub fn holding(mut self, side: RateLimit, limit: f64, give_up: f64) -> Self {
        let rule = RateRule {
            limit: side,
            rate: mean_of(limit),
        };
        self.held = Some(Box::new(HeldRule::new(rule, give_up, PRIOR, &self.lists)));
        self
    }

    /// Plays the next scenario of the order.
    pub fn play(&mut self, scenario: &PlayedBeside) {
        let [here, before] = scenario.missing;
        if here + before > 0 && self.bounds.is_none() {
            // Until here, all are the same.
            self.bounds = Some(Box::new([self.measured.clone(), self.measured.clone()]));
        }
        self.measured.play(&scenario.measured);
        if let Some(bounds) = &mut self.bounds {
            let [lowest, highest] = &mut **bounds;
            let units = scenario.units;
            for (test, difference) in [(lowest, scenario.lowest), (highest, scenario.highest)] {
                test.play(&PlayedDifference { difference, units });
            }
        }
        if let Some(held) = &mut self.held {
            let [up, down, units] = shares(&scenario.measured, number(self.largest));
            held.play(up, down, units);
        }
        self.rows += scenario.rows;
        self.missing = [self.missing[0] + here, self.missing[1] + before];
        self.decide();
    }

    /// What is known of the difference.
    #[must_use]
    pub fn look(&self) -> BaselineLook {
        let look = self.measured.look();
        let measured = (look.lower, look.upper);
        let bounds = self.bounds.as_deref().map(|[lowest, highest]| {
            let (lowest, highest) = (lowest.look(), highest.look());
            (lowest.lower.min(look.lower), highest.upper.max(look.upper))
        });
        let [here, before] = self.missing;
        let here = here + self.unmatched;
        BaselineLook {
            scenarios: look.scenarios,
            units: look.units,
            difference: look.difference,
            measured,
            bounds: match self.unmatched {
                0 => bounds.unwrap_or(measured),
                _ => (-1.0, 1.0),
            },
            missing: [here, before],
            missing_share: number(here.max(before)) / number((self.rows + self.unmatched).max(1)),
        }
    }

    /// The interval that decides: the measured one, unless too much is missing.
    #[must_use]
    pub fn decisive(&self) -> (f64, f64) {
        let look = self.look();
        match look.missing_share <= self.max_missing {
            true => look.measured,
            false => look.bounds,
        }
    }

    /// The answer to the rule; open without one. The first answer stands.
    #[must_use]
    pub fn answer(&self) -> SequenceAnswer {
        let held = self.held.as_ref();
        held.map_or(SequenceAnswer::Open, |held| held.answer())
    }

    /// The chance that the rest of the list decides the rule, 0 without one.
    #[must_use]
    pub fn chance(&self) -> f64 {
        self.held.as_ref().map_or(0.0, |held| held.chance())
    }

    /// The fewest scenarios that decide the rule, the ones played so far included: see [`RateTest::earliest_decision`](super::RateTest::earliest_decision).
    /// `units` are those of the next scenarios.
    #[must_use]
    pub fn earliest_decision(&self, units: impl Iterator<Item = u64> + Clone) -> u64 {
        let played = self.measured.look().scenarios;
        match &self.held {
            None => played,
            Some(held) => held.earliest(played, FEWEST_DECIDED, units, number(self.largest)),
        }
    }

    fn decide(&mut self) {
        let (lower, upper) = self.decisive();
        let played = self.measured.look().scenarios;
        let listed = self.lists.scenarios(played);
        if let Some(held) = &mut self.held {
            let limit = 2.0 * held.rule.rate - 1.0;
            // The ends are on a grid, and the limit comes back from a mean.
            let near = 1e-9;
            held.decide(
                [lower >= limit - near, upper <= limit + near],
                played,
                listed,
            );
        }
    }
}
