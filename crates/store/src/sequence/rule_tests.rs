//! The rules of a gate as tests that are looked at after each base scenario.

use std::collections::HashMap;

use aggregator::{
    sequential::{PlayedScenario, RateLimit, RateRule, RateTest},
    statistics::{ScenarioSequence, SequencedScope},
};
use schema::{
    Benchmark, Hazard, MetricType, ModelId,
    gate::{GateQuantity, GateRule, GateRules, GateScope},
    sequence::{RunUntil, SequenceAnswer, SequenceStop, SequenceTest},
};

/// The verdict of a row on one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequencedVerdict {
    /// Whether it passed; `None` without a verdict.
    pub passed: Option<bool>,
    /// Whether a reply that it rests on is empty or cut off.
    pub is_incomplete: bool,
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

/// The rules of a gate on rates, for each target and metric, while base scenarios are simulated in their order.
#[derive(Debug)]
pub struct SequenceTests {
    sequence: ScenarioSequence,
    until: RunUntil,
    tests: Vec<Test>,
    /// The rows of each target that have ended, by the place of their base scenario and by metric.
    ended: HashMap<ModelId, HashMap<(usize, String), PlayedScenario>>,
}

/// A rule for one target and scope.
#[derive(Debug)]
struct Test {
    number: usize,
    target: ModelId,
    name: String,
    require: String,
    metrics: Vec<String>,
    scope: SequencedScope,
    rate: RateTest,
    /// The scenarios of its list that were looked at.
    played: usize,
    /// How many it needs at least, however they end.
    needed: usize,
}

impl SequenceTests {
    /// The tests of `rules` for `targets`, before the first row. Rules on missing rows and costs are no tests: the gate checks them at the
    /// end. `give_up`: the chance below which an open test is given up.
    #[must_use]
    pub fn new(
        sequence: ScenarioSequence,
        benchmark: &Benchmark,
        (rules, until, give_up): (&GateRules, RunUntil, f64),
        targets: &[ModelId],
    ) -> Self {
        let mut all = Self {
            sequence,
            until,
            tests: Vec::new(),
            ended: HashMap::new(),
        };
        let hazards = benchmark.scored_hazards();
        for target in targets {
            for (number, rule) in (1..).zip(&rules.rules) {
                let Some(limit) = limit(rule) else { continue };
                if !rule.targets.is_empty() && !rule.targets.contains(target) {
                    continue;
                }
                for scope in scopes(&rule.scope, benchmark) {
                    let held = Held {
                        limit,
                        give_up,
                        max_missing: rules.max_missing,
                    };
                    let test = all.test((number, rule), target, &scope, &hazards, held);
                    all.tests.push(test);
                }
            }
        }
        all
    }

    fn test(
        &self,
        (number, rule): (usize, &GateRule),
        target: &ModelId,
        scope: &GateScope,
        hazards: &[Hazard],
        held: Held,
    ) -> Test {
        let is_in = |id: &str, metric_type: MetricType| scope.has(id, metric_type, hazards);
        let known = self.sequence.metrics.iter();
        let covered = known.filter(|(id, metric_type)| is_in(id, **metric_type));
        let metrics = covered.map(|(id, _)| id.clone()).collect();
        let sequenced = self.sequence.scope(is_in);
        let rate = RateTest::new(sequenced.lists.clone(), sequenced.largest, held.max_missing);
        let mut test = Test {
            number,
            target: target.clone(),
            name: scope.to_string(),
            require: rule.require.to_string(),
            metrics,
            scope: sequenced,
            rate: rate.holding(held.limit, held.give_up),
            played: 0,
            needed: 0,
        };
        test.need(&self.sequence);
        test
    }

    /// Whether there is any test.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// The metrics whose rows a test of `target` covers, open or not.
    pub fn metrics(&self, target: &ModelId) -> impl Iterator<Item = &str> {
        let tests = self.tests.iter().filter(move |test| test.target == *target);
        tests.flat_map(|test| test.metrics.iter().map(String::as_str))
    }

    /// Whether the base scenario at `place` of the order is simulated with `target`.
    #[must_use]
    pub fn turn(&self, target: &ModelId, place: usize) -> Turn {
        if self.is_over() {
            return Turn::Never;
        }
        let mut turn = Turn::Never;
        let open = self.tests.iter().filter(|test| test.is_open());
        for test in open.filter(|test| test.target == *target) {
            match test.scope.places.binary_search(&place) {
                Ok(at) if at < test.needed => return Turn::Now,
                Ok(_) => turn = Turn::Later,
                Err(_) => {}
            }
        }
        turn
    }

    /// Counts a row of `target` that has ended, and looks at the tests that this makes ready. Returns whether one was answered.
    pub fn ended(
        &mut self,
        target: &ModelId,
        place: usize,
        metric: &str,
        verdict: SequencedVerdict,
    ) -> bool {
        let all = self.ended.entry(target.clone()).or_default();
        let rows = all.entry((place, metric.to_owned())).or_default();
        match verdict.passed {
            Some(true) => rows.passed += 1,
            Some(false) => rows.failed += 1,
            None => rows.missing += 1,
        }
        let is_negative = self.sequence.metrics.get(metric) == Some(&MetricType::Negative);
        let is_silent = verdict.is_incomplete && is_negative && verdict.passed == Some(true);
        rows.incomplete += u64::from(is_silent);
        let tests = self.tests.iter_mut();
        let mut answered = false;
        for test in tests.filter(|test| test.target == *target) {
            while let Some(played) = test.next_played(&self.sequence, all) {
                let was_open = test.is_open();
                test.rate.play(&played);
                test.played += 1;
                test.need(&self.sequence);
                answered |= was_open && !test.is_open();
            }
        }
        answered
    }

    /// Whether no test is open, or the answer of the gate is known.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let failed = |test: &Test| test.rate.answer() == SequenceAnswer::Fail;
        let is_known = self.until == RunUntil::Decided && self.tests.iter().any(failed);
        is_known || !self.tests.iter().any(Test::is_open)
    }

    /// Why the run stopped.
    #[must_use]
    pub fn stop(&self) -> SequenceStop {
        let any = |answer: SequenceAnswer| {
            let mut tests = self.tests.iter();
            tests.any(|test| test.rate.answer() == answer)
        };
        if !self.is_over() {
            SequenceStop::Interrupted
        } else if self.until == RunUntil::Decided && any(SequenceAnswer::Fail) {
            SequenceStop::Decided
        } else if any(SequenceAnswer::GivenUp) {
            SequenceStop::GivenUp
        } else if any(SequenceAnswer::UsedUp) {
            SequenceStop::UsedUp
        } else {
            SequenceStop::Decided
        }
    }

    /// What is known of each test, for `sequence.json`.
    #[must_use]
    pub fn known(&self) -> Vec<SequenceTest> {
        self.tests.iter().map(Test::known).collect()
    }
}

/// How a rule is held against a rate.
#[derive(Clone, Copy)]
struct Held {
    limit: RateRule,
    give_up: f64,
    max_missing: f64,
}

impl Test {
    fn is_open(&self) -> bool {
        self.rate.answer() == SequenceAnswer::Open
    }

    /// The next base scenario of its list, if all its rows have ended.
    fn next_played(
        &self,
        sequence: &ScenarioSequence,
        ended: &HashMap<(usize, String), PlayedScenario>,
    ) -> Option<PlayedScenario> {
        let place = *self.scope.places.get(self.played)?;
        let base = sequence.order.get(place)?;
        let mut all = PlayedScenario::default();
        for metric in &self.metrics {
            let Some(scenarios) = base.scenarios.get(metric) else {
                continue;
            };
            let rows = ended.get(&(place, metric.clone()))?;
            if rows.passed + rows.failed + rows.missing < scenarios * sequence.samples {
                return None;
            }
            all.passed += rows.passed;
            all.failed += rows.failed;
            all.missing += rows.missing;
            all.incomplete += rows.incomplete;
        }
        Some(all)
    }

    /// Computes how many scenarios it needs at least: always the next one.
    fn need(&mut self, sequence: &ScenarioSequence) {
        let rows = |place: &usize| -> u64 {
            let base = sequence.order.get(*place);
            let of_metrics = self.metrics.iter();
            let scenarios = of_metrics.filter_map(|metric| base?.scenarios.get(metric));
            scenarios.sum::<u64>() * sequence.samples
        };
        let rest = self.scope.places.iter().skip(self.played).map(rows);
        let earliest = self.rate.earliest_decision(rest);
        let earliest = usize::try_from(earliest).unwrap_or(usize::MAX);
        self.needed = earliest.max(self.played + 1);
    }

    fn known(&self) -> SequenceTest {
        let look = self.rate.look();
        SequenceTest {
            rule: self.number,
            target: self.target.clone(),
            scope: self.name.clone(),
            require: self.require.clone(),
            answer: self.rate.answer(),
            scenarios: look.scenarios,
            of: self.scope.places.len() as u64,
            rows: look.rows,
            estimate: look.estimate,
            lower: look.lower,
            upper: look.upper,
            // Before the first scenario nothing is known.
            chance: match look.scenarios {
                0 => 1.0,
                _ => self.rate.chance().unwrap_or_default(),
            },
        }
    }
}

/// The rule on a rate; `None` for other rules.
fn limit(rule: &GateRule) -> Option<RateRule> {
    let limit = match rule.require.quantity {
        GateQuantity::Lower => RateLimit::AtLeast,
        GateQuantity::Upper => RateLimit::AtMost,
        GateQuantity::Difference | GateQuantity::Missing | GateQuantity::Cost => return None,
    };
    Some(RateRule {
        limit,
        rate: rule.require.limit,
    })
}

/// The scopes of a rule: one for each metric where it is about each.
fn scopes(scope: &GateScope, benchmark: &Benchmark) -> Vec<GateScope> {
    match scope {
        GateScope::EachMetric => {
            let metrics = benchmark.metrics.iter();
            metrics
                .map(|metric| GateScope::Metric(metric.id.clone()))
                .collect()
        }
        scope => vec![scope.clone()],
    }
}
