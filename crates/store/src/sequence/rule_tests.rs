//! The rules of a gate, or the comparisons of targets, as tests that are looked at after each base scenario.

use std::collections::HashMap;

use aggregator::statistics::ScenarioSequence;
use schema::{
    Benchmark, MetricType, ModelId,
    gate::{GateRules, GateScope, GroupScope},
    sequence::{RunUntil, SequenceAnswer, SequenceStop, SequenceTest},
};

use super::{
    baseline_units::BaselineUnits,
    open_test::{EndedRows, Held, OpenTest},
};

/// The fewest base scenarios of a round.
const ROUND: usize = 16;

/// The verdict of a row on one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequencedVerdict {
    /// Whether it passed; `None` without a verdict.
    pub passed: Option<bool>,
    /// Whether it could be another one, because a reply that it rests on is empty or cut off: bounds count it as missing.
    pub may_differ: bool,
}

/// Whether the rows of a base scenario with a target are simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Now: an open test needs it, however the rows before it end.
    Now,
    /// Perhaps, depending on how the rows before it end.
    Later,
    /// Not: no open test covers it.
    Never,
}

/// The rules of a gate on rates, for each target and metric, the comparisons of all pairs of targets, or the widths of intervals, while base
/// scenarios are simulated in their order.
///
/// Base scenarios begin in rounds: a place of the order begins when all tests that were open have looked at the rounds before it. A test that is
/// given up, and a rule that fails while others are open, take effect at the end of a round. So which rows are simulated follows from their
/// verdicts alone, whichever ends first.
#[derive(Debug)]
pub struct SequenceTests {
    sequence: ScenarioSequence,
    until: RunUntil,
    tests: Vec<OpenTest>,
    /// Where the round ends: the place of the order after its last.
    end: usize,
    /// The tests that were open when the round began.
    round: Vec<bool>,
    /// No further round begins.
    is_over: bool,
    /// The rows of each target that have ended.
    ended: HashMap<ModelId, EndedRows>,
}

impl SequenceTests {
    /// The tests for `targets`, before the first row, that answer `questions`. Rules on missing rows and costs are no tests, nor are
    /// differences of a target that the baseline does not have, nor rules on rows that there are none of: the gate checks them at the end.
    /// `give_up`: the chance below which an open test is given up.
    #[must_use]
    pub fn new(
        sequence: ScenarioSequence,
        benchmark: &Benchmark,
        (questions, until, give_up): (SequenceQuestions<'_>, RunUntil, f64),
        targets: &[ModelId],
    ) -> Self {
        let hazards = benchmark.scored_hazards();
        let held = Held {
            sequence: &sequence,
            hazards: &hazards,
            give_up,
            max_missing: match questions {
                SequenceQuestions::Rules(of) => of.rules.max_missing,
                SequenceQuestions::Pairs | SequenceQuestions::Width(_) => 0.0,
            },
        };
        let tests = match questions {
            SequenceQuestions::Rules(rules) => of_rules(rules, benchmark, targets, held),
            SequenceQuestions::Pairs => of_pairs(targets, held),
            SequenceQuestions::Width(width) => of_width(width, benchmark, targets, held),
        };
        let asks = |test: &OpenTest| !test.scope.places.is_empty();
        let mut all = Self {
            round: Vec::new(),
            end: 0,
            is_over: false,
            tests: tests.into_iter().filter(asks).collect(),
            until,
            ended: HashMap::new(),
            sequence,
        };
        all.begin_rounds();
        all
    }

    /// Begins the next round when the tests of this one have looked at it.
    fn begin_rounds(&mut self) {
        let has_ended = |all: &Self| {
            let mut of_round = all.tests.iter().zip(&all.round);
            of_round.all(|(test, is_in)| !is_in || test.has_reached(all.end))
        };
        while !self.is_over && has_ended(self) {
            self.round = self.tests.iter().map(OpenTest::is_open).collect();
            let is_last = self.end >= self.sequence.order.len();
            self.is_over = is_last || self.is_known() || !self.round.contains(&true);
            self.end += ROUND.max(self.end / 4);
        }
    }

    /// Whether the answer of the gate is known: a rule has failed.
    fn is_known(&self) -> bool {
        let failed = |test: &OpenTest| test.answer() == SequenceAnswer::Fail;
        self.until == RunUntil::Decided && self.tests.iter().any(failed)
    }

    /// The type of a metric; `None`: it is not in the sequence.
    #[must_use]
    pub fn metric_type(&self, metric: &str) -> Option<MetricType> {
        self.sequence.metrics.get(metric).copied()
    }

    /// Whether there is any test.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// The metrics whose rows a test of `target` covers, open or not.
    pub fn metrics(&self, target: &ModelId) -> impl Iterator<Item = &str> {
        let tests = self.tests.iter().filter(move |test| test.is_of(target));
        tests.flat_map(|test| test.metrics.iter().map(String::as_str))
    }

    /// Whether the base scenario at `place` of the order is simulated with `target`.
    #[must_use]
    pub fn turn(&self, target: &ModelId, place: usize) -> Turn {
        if self.is_over {
            return Turn::Never;
        }
        let mut turn = Turn::Never;
        let tests = self.tests.iter().zip(&self.round);
        for (test, is_in) in tests.filter(|(test, _)| test.is_of(target)) {
            match test.scope.places.binary_search(&place) {
                Ok(at) if *is_in && place < self.end && at < test.reach => return Turn::Now,
                Ok(_) if test.is_open() => turn = Turn::Later,
                Ok(_) | Err(_) => {}
            }
        }
        turn
    }

    /// Counts a row of `target` that has ended, of a scenario and metric of the base scenario at `place`, and looks at the tests that this
    /// makes ready. Returns whether one was answered.
    pub fn ended(
        &mut self,
        target: &ModelId,
        (place, metric, scenario): (usize, &str, &str),
        verdict: SequencedVerdict,
    ) -> bool {
        let of_target = self.ended.entry(target.clone()).or_default();
        let rows = of_target.entry((place, metric.to_owned())).or_default();
        rows.add(scenario, verdict);
        let mut answered = false;
        for test in self.tests.iter_mut().filter(|test| test.is_of(target)) {
            answered |= test.look(&self.sequence, &self.ended);
        }
        self.begin_rounds();
        answered
    }

    /// Why the run stopped.
    #[must_use]
    pub fn stop(&self) -> SequenceStop {
        let any = |answer: SequenceAnswer| {
            let mut tests = self.tests.iter();
            tests.any(|test| test.answer() == answer)
        };
        if !self.is_over {
            SequenceStop::Interrupted
        } else if self.is_known() {
            SequenceStop::Decided
        } else if any(SequenceAnswer::Open) {
            SequenceStop::Interrupted
        } else if any(SequenceAnswer::GivenUp) {
            SequenceStop::GivenUp
        } else if any(SequenceAnswer::UsedUp) {
            SequenceStop::UsedUp
        } else if any(SequenceAnswer::Narrow) {
            SequenceStop::Narrow
        } else {
            SequenceStop::Decided
        }
    }

    /// What is known of each test, for `sequence.json`.
    #[must_use]
    pub fn known(&self) -> Vec<SequenceTest> {
        self.tests.iter().map(OpenTest::known).collect()
    }
}

/// What ends the scenarios.
#[derive(Clone, Copy, Debug)]
pub enum SequenceQuestions<'a> {
    /// Whether the rules of a gate are met.
    Rules(SequenceRules<'a>),
    /// Whether the targets of each pair differ.
    Pairs,
    /// Whether the interval of each target's rate is at most so wide.
    Width(&'a WidthQuestion),
}

/// How wide intervals may be.
#[derive(Clone, Debug, PartialEq)]
pub struct WidthQuestion {
    /// The width, 0 to 1.
    pub width: f64,
    /// The rows whose rate it is.
    pub scope: GateScope,
}

/// The rules of a gate, and what those on differences compare with.
#[derive(Clone, Copy, Debug)]
pub struct SequenceRules<'a> {
    /// The rules.
    pub rules: &'a GateRules,
    /// The rows of each target in the baseline.
    pub before: &'a HashMap<ModelId, BaselineUnits>,
}

fn of_rules(
    of: SequenceRules<'_>,
    benchmark: &Benchmark,
    targets: &[ModelId],
    held: Held<'_>,
) -> Vec<OpenTest> {
    let mut tests = Vec::new();
    for target in targets {
        let before = of.before.get(target);
        for (number, rule) in (1..).zip(&of.rules.rules) {
            if rule.targets.is_empty() || rule.targets.contains(target) {
                let scopes = scopes(&rule.scope, benchmark);
                tests.extend(scopes.iter().filter_map(|scope| {
                    OpenTest::of_rule((number, rule), target, (scope, before), held)
                }));
            }
        }
    }
    tests
}

/// The comparison of each target with those after it.
fn of_pairs(targets: &[ModelId], held: Held<'_>) -> Vec<OpenTest> {
    let pairs = targets.iter().enumerate().flat_map(|(at, target)| {
        let others = targets.iter().skip(at + 1);
        others.map(move |other| OpenTest::of_pair(target, other, held))
    });
    pairs.collect()
}

/// All rows of each target, or each of its metrics.
fn of_width(
    question: &WidthQuestion,
    benchmark: &Benchmark,
    targets: &[ModelId],
    held: Held<'_>,
) -> Vec<OpenTest> {
    let scopes = scopes(&question.scope, benchmark);
    let of_target = targets.iter().flat_map(|target| {
        let scopes = scopes.iter();
        scopes.map(move |scope| OpenTest::of_width(question.width, target, scope, held))
    });
    of_target.collect()
}

/// The scopes of a rule: one for each metric where it is about each, and of a rate of safety results one for each group.
fn scopes(scope: &GateScope, benchmark: &Benchmark) -> Vec<GateScope> {
    match scope {
        GateScope::Safety(rate, GroupScope::Each) => {
            let metrics = benchmark.metrics.iter();
            metrics
                .filter_map(|metric| rate.group_of(&metric.id))
                .map(|group| GateScope::Safety(*rate, GroupScope::One(group.to_owned())))
                .collect()
        }
        GateScope::EachMetric => {
            let metrics = benchmark.metrics.iter();
            metrics
                .map(|metric| GateScope::Metric(metric.id.clone()))
                .collect()
        }
        scope => vec![scope.clone()],
    }
}
