//! A rate whose scenarios end when its interval is narrow enough.

use schema::sequence::SequenceAnswer;

use super::{PlayedScenario, RateLook, ScenarioLists};
use crate::{
    interval::clustered::{Sums, clustered_rate},
    statistics::Cluster,
};

/// The fewest scenarios whose interval counts.
const FEWEST: u64 = 10;
/// So many rows more, as many of which passed as failed, leave an interval narrow enough.
const MORE_ROWS: f64 = 4.0;

/// The rate of one target in one scope, scenario by scenario, until its interval is at most so wide.
///
/// The interval is the ordinary one, of a list whose length is fixed: when scenarios end depends on how wide it is, and hardly on where it lies.
/// It has to be narrow enough also as if two more rows had passed and two had failed, as in Frey, "Fixed-width sequential confidence intervals
/// for a proportion" (2010): a rate that is high by luck would end too early. Without that, independent rows miss the rate in up to 6.1% of runs,
/// with it in less than 5%.
#[derive(Clone, Debug)]
pub struct WidthTest {
    lists: ScenarioLists,
    width: f64,
    scenarios: Vec<Cluster>,
    rows: PlayedScenario,
    incomplete: u64,
    answer: SequenceAnswer,
}

impl WidthTest {
    /// The test over `lists`, until the interval is at most `width` wide (0 to 1).
    #[must_use]
    pub fn new(lists: ScenarioLists, width: f64) -> Self {
        Self {
            lists,
            width,
            scenarios: Vec::new(),
            rows: PlayedScenario::default(),
            incomplete: 0,
            answer: SequenceAnswer::Open,
        }
    }

    /// Plays the next scenario of the order.
    pub fn play(&mut self, scenario: &PlayedScenario) {
        let PlayedScenario { passed, failed, .. } = *scenario;
        let judged = Cluster::of_verdicts(passed, passed + failed);
        self.scenarios.push(judged);
        self.rows.passed += passed;
        self.rows.failed += failed;
        self.rows.missing += scenario.missing;
        self.incomplete += scenario.incomplete.iter().sum::<u64>();
        if self.answer == SequenceAnswer::Open {
            let played = self.played();
            self.answer = if played >= FEWEST && is_narrow(&self.scenarios, self.width) {
                SequenceAnswer::Narrow
            } else if played >= self.lists.scenarios(played) {
                SequenceAnswer::UsedUp
            } else {
                SequenceAnswer::Open
            };
        }
    }

    /// What is known of it. The first answer stands.
    #[must_use]
    pub fn answer(&self) -> SequenceAnswer {
        self.answer
    }

    /// What is known of the rate, with the ordinary interval.
    #[must_use]
    pub fn look(&self) -> RateLook {
        let rate = clustered_rate(&self.scenarios);
        let ends = rate.as_ref().map(|rate| (rate.lower, rate.upper));
        let (lower, upper) = ends.unwrap_or((0.0, 1.0));
        RateLook {
            scenarios: self.played(),
            passed: self.rows.passed,
            rows: self.rows.passed + self.rows.failed,
            missing: self.rows.missing + self.incomplete,
            estimate: rate.map(|rate| rate.estimate),
            lower,
            upper,
            bounds_used: false,
        }
    }

    /// About the fewest scenarios whose interval is narrow enough, the ones played so far included, if all rows from here on passed, or all failed:
    /// the number of rows of the next scenarios is `rows`. All of them, where none is.
    #[must_use]
    pub fn earliest_decision(&self, rows: impl Iterator<Item = u64>) -> u64 {
        let rows: Vec<u64> = rows.collect();
        let fewest = |passes: bool| {
            let rest = rows.iter().map(|rows| {
                let passed = if passes { *rows } else { 0 };
                Cluster::of_verdicts(passed, *rows)
            });
            let mut all = self.scenarios.clone();
            all.extend(rest);
            // Narrower with each one, but for a few.
            let mut within = self.scenarios.len()..all.len();
            while !within.is_empty() {
                let middle = within.start + within.len() / 2;
                match all
                    .get(..=middle)
                    .is_some_and(|first| is_narrow(first, self.width))
                {
                    true => within.end = middle,
                    false => within.start = middle + 1,
                }
            }
            (within.start as u64 + 1).min(all.len() as u64)
        };
        fewest(true).min(fewest(false)).max(FEWEST)
    }

    fn played(&self) -> u64 {
        self.scenarios.len() as u64
    }
}

/// Whether the interval of these scenarios is at most so wide.
fn is_narrow(scenarios: &[Cluster], width: f64) -> bool {
    let Some(sums) = Sums::of(scenarios) else {
        return false;
    };
    let rows = sums.effective_rows();
    let drawn_to_half = (sums.rate() * rows + MORE_ROWS / 2.0) / (rows + MORE_ROWS);
    [sums.rate(), drawn_to_half].into_iter().all(|rate| {
        let (lower, upper) = sums.limits(rate);
        upper - lower <= width
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The share of runs that end with an interval without `rate`, of scenarios with one row: computed from all sequences of verdicts.
    fn misses(rate: f64, width: f64, most: usize) -> f64 {
        let of = |passed: usize, rows: usize| -> Vec<Cluster> {
            let row = |at| Cluster::of_verdicts(u64::from(at < passed), 1);
            (0..rows).map(row).collect()
        };
        let mut going = BTreeMap::from([(0, 1.0)]);
        let mut missed = 0.0;
        for rows in 1..=most {
            let mut next: BTreeMap<usize, f64> = BTreeMap::new();
            for (passed, share) in going {
                *next.entry(passed).or_default() += share * (1.0 - rate);
                *next.entry(passed + 1).or_default() += share * rate;
            }
            next.retain(|passed, share| {
                let all = of(*passed, rows);
                let ends = rows >= 10 && is_narrow(&all, width) || rows == most;
                let interval = clustered_rate(&all).unwrap();
                if ends && !(interval.lower..=interval.upper).contains(&rate) {
                    missed += *share;
                }
                !ends
            });
            going = next;
        }
        missed
    }

    #[test]
    fn an_interval_that_is_narrow_enough_misses_the_rate_in_less_than_one_in_twenty_runs() {
        for rate in [0.5, 0.59, 0.64, 0.66, 0.68, 0.78, 0.81, 0.9, 0.97] {
            let missed = misses(rate, 0.3, 60);
            assert!(missed < 0.05, "{rate}: {missed}");
        }
    }

    #[test]
    fn it_ends_when_the_interval_is_narrow_and_not_before_ten_scenarios() {
        let passes = |times: usize, width: f64| {
            let mut test = WidthTest::new(ScenarioLists::one(60), width);
            let scenario = PlayedScenario {
                passed: 4,
                ..PlayedScenario::default()
            };
            let open = |_: &usize| {
                let earliest = test.earliest_decision(std::iter::repeat_n(4, 60));
                assert!(earliest > test.played(), "{earliest}");
                test.play(&scenario);
                test.answer() == SequenceAnswer::Open
            };
            let open = (0..times).take_while(open).count() as u64;
            (
                open + 1,
                test.answer(),
                test.look().upper - test.look().lower,
            )
        };
        let (ended, answer, wide) = passes(60, 0.9);
        assert_eq!((ended, answer), (10, SequenceAnswer::Narrow));
        assert!(wide <= 0.9);
        let (ended, answer, wide) = passes(60, 0.15);
        assert!(ended > 20 && wide <= 0.15, "{ended} {wide}");
        assert_eq!(answer, SequenceAnswer::Narrow);
        let (ended, answer, _) = passes(60, 0.01);
        assert_eq!((ended, answer), (60, SequenceAnswer::UsedUp));
    }
}
