//! What a run that stops when decided needs.

use schema::sequence::SequenceAnswer;

use super::{
    capital::number,
    held_rule::HeldRule,
    lists::ScenarioLists,
    rate::{PlayedScenario, RateRule, prior},
};
use crate::statistics::power::SplitMix64;

/// The question how often a rule is decided, and after how many scenarios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequencePlan {
    /// The rule.
    pub rule: RateRule,
    /// The rate that is taken to be true, 0 to 1.
    pub rate: f64,
    /// How alike the rows of one scenario are: their intraclass correlation, 0 to 1.
    pub icc: f64,
    /// The base scenarios of the list.
    pub scenarios: u64,
    /// The rows of each.
    pub rows: u64,
    /// The chance below which the rule is given up, 0: never.
    pub give_up: f64,
}

/// How simulated runs ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlannedSequence {
    /// The scenarios that each run played, the fewest first.
    pub scenarios: Vec<u64>,
    /// The share of runs in which the rule passed, 0 to 1.
    pub pass: f64,
    /// In which it failed.
    pub fail: f64,
    /// In which it was given up.
    pub given_up: f64,
    /// In which all scenarios did not decide it.
    pub used_up: f64,
}

impl PlannedSequence {
    /// The scenarios that are enough in this share of runs, 0 to 1; `None` without runs.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<u64> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share of the runs"
        )]
        let at = (share * self.scenarios.len() as f64).ceil() as usize;
        self.scenarios.get(at.saturating_sub(1)).copied()
    }
}

/// Simulates `runs` runs. Rows of one scenario are drawn by Pólya's urn, the same ones for the same `seed`.
#[must_use]
pub fn plan_sequence(plan: &SequencePlan, runs: u32, seed: u64) -> PlannedSequence {
    let mut draws = SplitMix64::new(seed);
    let mut planned = PlannedSequence::default();
    let each = 1.0 / f64::from(runs.max(1));
    let lists = ScenarioLists::one(plan.scenarios);
    let largest = number(plan.rows.max(1));
    for _ in 0..runs {
        let mut test = HeldRule::new(plan.rule, plan.give_up, prior(largest), &lists);
        let mut played = plan.scenarios;
        for scenarios in 1..=plan.scenarios {
            // Rows are drawn after a stop too, so that a run does not depend on how the one before it ended.
            let PlayedScenario { passed, failed, .. } = draw(plan, &mut draws);
            if test.answer() == SequenceAnswer::Open {
                test.play(number(passed) / largest, number(failed) / largest, 1.0);
                test.decide(test.by_itself(), scenarios, plan.scenarios);
                played = scenarios;
            }
        }
        planned.scenarios.push(played);
        match test.answer() {
            // Of two targets, and of a width; this is a rule.
            SequenceAnswer::Differ | SequenceAnswer::Narrow => {}
            SequenceAnswer::Pass => planned.pass += each,
            SequenceAnswer::Fail => planned.fail += each,
            SequenceAnswer::GivenUp => planned.given_up += each,
            SequenceAnswer::UsedUp | SequenceAnswer::Open => planned.used_up += each,
        }
    }
    planned.scenarios.sort_unstable();
    planned
}

/// The rows of a scenario.
fn draw(plan: &SequencePlan, draws: &mut SplitMix64) -> PlayedScenario {
    let mut scenario = PlayedScenario::default();
    for row in 0..plan.rows {
        let (passed, before) = (number(scenario.passed), number(row));
        let chance = match row {
            0 => plan.rate,
            _ => {
                (plan.rate * (1.0 - plan.icc) + plan.icc * passed)
                    / (1.0 - plan.icc + plan.icc * before)
            }
        };
        match draws.next_unit() < chance {
            true => scenario.passed += 1,
            false => scenario.failed += 1,
        }
    }
    scenario
}
