//! What a run that stops when decided needs.

use schema::sequence::SequenceAnswer;

use super::{
    capital::number,
    differ::Differ,
    difference::{PRIOR, PlayedDifference, shares},
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
    /// The share of runs in which the rule passed, or the targets were shown to differ, 0 to 1.
    pub pass: f64,
    /// In which it failed.
    pub fail: f64,
    /// In which it was given up.
    pub given_up: f64,
    /// In which all scenarios did not decide it.
    pub used_up: f64,
}

/// The question how often two targets are shown to differ, and after how many scenarios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairPlan {
    /// The rates that are taken to be true, 0 to 1.
    pub rates: [f64; 2],
    /// How alike the rows of one scenario are: their intraclass correlation, 0 to 1.
    pub icc: f64,
    /// The share of scenarios in which both have the same luck, 0 to 1.
    pub correlation: f64,
    /// The base scenarios of the list.
    pub scenarios: u64,
    /// The rows of each.
    pub rows: u64,
    /// The pairs whose differences are adjusted together.
    pub pairs: u64,
    /// The chance below which the pair is given up, 0: never.
    pub give_up: f64,
}

impl PlannedSequence {
    /// Counts a run.
    fn add(&mut self, played: u64, answer: SequenceAnswer) {
        self.scenarios.push(played);
        *match answer {
            SequenceAnswer::Pass | SequenceAnswer::Differ => &mut self.pass,
            SequenceAnswer::Fail => &mut self.fail,
            SequenceAnswer::GivenUp => &mut self.given_up,
            // A width is never planned.
            SequenceAnswer::UsedUp | SequenceAnswer::Open | SequenceAnswer::Narrow => {
                &mut self.used_up
            }
        } += 1.0;
    }

    /// The counts as shares of the runs.
    fn of(mut self, runs: u32) -> Self {
        self.scenarios.sort_unstable();
        let share = |count: f64| count / f64::from(runs.max(1));
        Self {
            pass: share(self.pass),
            fail: share(self.fail),
            given_up: share(self.given_up),
            used_up: share(self.used_up),
            ..self
        }
    }

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
    let lists = ScenarioLists::one(plan.scenarios);
    let largest = number(plan.rows.max(1));
    for _ in 0..runs {
        let mut test = HeldRule::new(plan.rule, plan.give_up, prior(largest), &lists);
        let mut played = plan.scenarios;
        for scenarios in 1..=plan.scenarios {
            if test.answer() != SequenceAnswer::Open {
                // A run does not depend on how the one before it ended.
                draws.skip((plan.scenarios + 1 - scenarios).saturating_mul(plan.rows));
                break;
            }
            let PlayedScenario { passed, failed, .. } = draw(plan, &mut draws);
            test.play(number(passed) / largest, number(failed) / largest, 1.0);
            test.decide(test.by_itself(), scenarios, plan.scenarios);
            played = scenarios;
        }
        planned.add(played, test.answer());
    }
    planned.of(runs)
}

/// Simulates `runs` runs of two targets, of which the first has the higher rate, as far as both answer scenarios alike.
#[must_use]
pub fn plan_pair(plan: &PairPlan, runs: u32, seed: u64) -> PlannedSequence {
    let mut draws = SplitMix64::new(seed);
    let mut planned = PlannedSequence::default();
    let lists = ScenarioLists::one(plan.scenarios);
    let rows = plan.rows.max(1);
    for _ in 0..runs {
        let aim = number(plan.pairs.max(1));
        let mut test = Differ::new(&lists, PRIOR, aim).giving_up(plan.give_up);
        let mut played = plan.scenarios;
        for scenarios in 1..=plan.scenarios {
            if test.answer() != SequenceAnswer::Open {
                draws.skip((plan.scenarios + 1 - scenarios).saturating_mul(plan.draws()));
                break;
            }
            let difference = plan.draw(&mut draws);
            let [up, down, units] = shares(
                &PlayedDifference {
                    difference,
                    units: rows,
                },
                number(rows),
            );
            test.play([up, down], units);
            played = scenarios;
        }
        planned.add(played, test.answer());
    }
    planned.of(runs)
}

impl PairPlan {
    /// How many numbers a scenario takes: whether both have the same luck, and the luck of each row.
    fn draws(&self) -> u64 {
        1 + 2 * self.rows.max(1)
    }

    /// The passed rows of the first target in a scenario, less those of the second: both have the same luck in a share of scenarios.
    fn draw(&self, draws: &mut SplitMix64) -> f64 {
        let is_alike = draws.next_unit() < self.correlation;
        let mut passed = [0.0; 2];
        for row in 0..self.rows.max(1) {
            let luck = draws.next_unit();
            let other = draws.next_unit();
            let luck = [luck, if is_alike { luck } else { other }];
            for ((passed, rate), luck) in passed.iter_mut().zip(self.rates).zip(luck) {
                if luck < urn(rate, self.icc, *passed, number(row)) {
                    *passed += 1.0;
                }
            }
        }
        let [first, second] = passed;
        first - second
    }
}

/// The chance that the next row of a scenario passes of which `passed` of `rows` did, by Pólya's urn.
fn urn(rate: f64, icc: f64, passed: f64, rows: f64) -> f64 {
    match rows > 0.0 {
        false => rate,
        true => (rate * (1.0 - icc) + icc * passed) / (1.0 - icc + icc * rows),
    }
}

/// The rows of a scenario.
fn draw(plan: &SequencePlan, draws: &mut SplitMix64) -> PlayedScenario {
    let mut scenario = PlayedScenario::default();
    for row in 0..plan.rows {
        let chance = urn(plan.rate, plan.icc, number(scenario.passed), number(row));
        match draws.next_unit() < chance {
            true => scenario.passed += 1,
            false => scenario.failed += 1,
        }
    }
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequential::DifferenceTest;

    fn pair(rates: [f64; 2]) -> PairPlan {
        PairPlan {
            rates,
            icc: 0.3,
            correlation: 0.3,
            scenarios: 60,
            rows: 4,
            pairs: 1,
            give_up: 0.05,
        }
    }

    #[test]
    fn equal_targets_are_seldom_shown_to_differ_and_others_soon() {
        let equal = plan_pair(&pair([0.8, 0.8]), 400, 1);
        assert!(equal.pass <= 0.05, "{}", equal.pass);
        assert!(equal.given_up > 0.5, "{}", equal.given_up);
        let far = plan_pair(&pair([0.9, 0.4]), 400, 1);
        assert!(far.pass > 0.95, "{}", far.pass);
        assert!(far.quantile(0.5).unwrap() <= 20, "{:?}", far.quantile(0.5));
        // What more pairs are adjusted for takes longer.
        let several = PairPlan {
            pairs: 10,
            ..pair([0.9, 0.4])
        };
        let several = plan_pair(&several, 400, 1);
        assert!(several.quantile(0.5) > far.quantile(0.5));
    }

    /// A plan ends where the test of a run does.
    #[test]
    fn a_pair_is_planned_as_it_is_tested() {
        let plan = pair([0.9, 0.6]);
        let planned = plan_pair(&plan, 50, 3);
        let mut draws = SplitMix64::new(3);
        let mut ended: Vec<u64> = (0..50)
            .map(|_| {
                let lists = ScenarioLists::one(plan.scenarios);
                let mut test =
                    DifferenceTest::new(&lists, plan.rows, plan.pairs).giving_up(plan.give_up);
                let all: Vec<f64> = (0..plan.scenarios).map(|_| plan.draw(&mut draws)).collect();
                let open = all.into_iter().take_while(|difference| {
                    test.play(&PlayedDifference {
                        difference: *difference,
                        units: plan.rows,
                    });
                    test.answer() == SequenceAnswer::Open
                });
                (open.count() as u64 + 1).min(plan.scenarios)
            })
            .collect();
        ended.sort_unstable();
        assert_eq!(ended, planned.scenarios);
    }

    #[test]
    fn a_scenario_takes_as_many_numbers_as_are_skipped() {
        let plan = pair([0.9, 0.6]);
        let [mut played, mut skipped] = [SplitMix64::new(1), SplitMix64::new(1)];
        plan.draw(&mut played);
        skipped.skip(plan.draws());
        assert_eq!(played.next_u64(), skipped.next_u64());
    }

    /// Both rates, how alike rows are, and how alike targets are, come out of the draws.
    #[test]
    fn draws_have_the_rates_that_are_planned() {
        let plan = PairPlan {
            correlation: 1.0,
            ..pair([0.7, 0.7])
        };
        let mut draws = SplitMix64::new(5);
        assert!((0..200).all(|_| plan.draw(&mut draws) == 0.0), "all alike");
        let plan = pair([0.8, 0.5]);
        let sum: f64 = (0..4000).map(|_| plan.draw(&mut draws)).sum();
        let mean = sum / 16_000.0;
        assert!((mean - 0.3).abs() < 0.03, "{mean}");
    }
}
