//! A rule with the bettors at its limit.

use schema::sequence::SequenceAnswer;

use super::{
    FEWEST_DECIDED, FEWEST_GIVEN_UP, capital::number, grid::Bettor, lists::ScenarioLists,
    rate::RateLimit, rate::RateRule,
};

/// A rule, its answer, and the bettors at its limit, which say how likely it still is to be decided.
#[derive(Clone, Debug)]
pub(super) struct HeldRule {
    pub(super) rule: RateRule,
    give_up: f64,
    above: Bettor,
    below: Bettor,
    answer: SequenceAnswer,
}

impl HeldRule {
    pub(super) fn new(rule: RateRule, give_up: f64, prior: f64, lists: &ScenarioLists) -> Self {
        let bettor = |mean| Bettor::new(mean, prior, 1.0, lists.clone());
        Self {
            rule,
            give_up,
            above: bettor(rule.rate),
            below: bettor(1.0 - rule.rate),
            answer: SequenceAnswer::Open,
        }
    }

    /// Plays a scenario, of whose rows these shares passed, failed, and were judged.
    pub(super) fn play(&mut self, passed: f64, failed: f64, judged: f64) {
        self.above.play(passed, judged);
        self.below.play(failed, judged);
    }

    pub(super) fn answer(&self) -> SequenceAnswer {
        self.answer
    }

    /// Whether the bettors at the limit alone have shown that the rate is above it, and below it.
    pub(super) fn by_itself(&self) -> [bool; 2] {
        [self.above.has_excluded(), self.below.has_excluded()]
    }

    /// The chance that the rest of the list shows the rate on either side of the limit: that of the likelier one.
    pub(super) fn chance(&self) -> f64 {
        self.above.chance().max(self.below.chance())
    }

    /// The fewest scenarios after which the limit is passed on either side, `played` and `fewest` included, if all rows from here on passed, or all
    /// failed: `rows` are those of the next scenarios, of which the largest has `largest`. All of them, where none decides it.
    pub(super) fn earliest(
        &self,
        played: u64,
        fewest: u64,
        rows: impl Iterator<Item = u64> + Clone,
        largest: f64,
    ) -> u64 {
        let after = |passes: bool| {
            let (mut held, mut played) = (self.clone(), played);
            for rows in rows.clone() {
                let share = number(rows) / largest;
                let (passed, failed) = if passes { (share, 0.0) } else { (0.0, share) };
                held.play(passed, failed, share);
                played += 1;
                if played >= fewest && held.by_itself().contains(&true) {
                    break;
                }
            }
            played
        };
        after(true).min(after(false))
    }

    /// Answers after `played` of `listed` scenarios, when the rate is shown to be above the limit, or below it. The first answer stands.
    pub(super) fn decide(&mut self, [above, below]: [bool; 2], played: u64, listed: u64) {
        if self.answer != SequenceAnswer::Open {
            return;
        }
        let (passes, fails) = match self.rule.limit {
            RateLimit::AtLeast => (above, below),
            RateLimit::AtMost => (below, above),
        };
        self.answer = if played >= FEWEST_DECIDED && passes {
            SequenceAnswer::Pass
        } else if played >= FEWEST_DECIDED && fails {
            SequenceAnswer::Fail
        } else if played >= listed {
            SequenceAnswer::UsedUp
        } else if played >= FEWEST_GIVEN_UP && self.chance() < self.give_up {
            SequenceAnswer::GivenUp
        } else {
            SequenceAnswer::Open
        };
    }
}
