//! One rule or width for one target, or one pair of targets, while base scenarios are simulated.

use std::collections::{BTreeMap, HashMap, HashSet};

use aggregator::{
    sequential::{
        BaselineTest, DifferenceTest, PlayedBeside, PlayedDifference, PlayedScenario, RateLimit,
        RateLook, RateRule, RateTest, SideRows, WidthTest,
    },
    statistics::{ScenarioSequence, SequencedBase, SequencedScope},
};
use schema::{
    Hazard, MetricType, ModelId,
    gate::{GateQuantity, GateRequirement, GateRule, GateScope, GateSide},
    sequence::{SequenceAnswer, SequenceTest},
};

use super::{baseline_units::BaselineUnits, rule_tests::SequencedVerdict};

/// The rows of a target that have ended, by the place of their base scenario and by metric.
pub(super) type EndedRows = HashMap<(usize, String), EndedScenario>;

/// The rows of a base scenario and metric that have ended.
#[derive(Debug, Default)]
pub(super) struct EndedScenario {
    rows: PlayedScenario,
    /// The rows of each scenario.
    units: HashMap<String, SideRows>,
}

impl EndedScenario {
    pub(super) fn add(&mut self, scenario: &str, verdict: SequencedVerdict) {
        let rows = &mut self.rows;
        match verdict.passed {
            Some(true) => rows.passed += 1,
            Some(false) => rows.failed += 1,
            None => rows.missing += 1,
        }
        let unit = self.units.entry(scenario.to_owned()).or_default();
        if let Some(passed) = verdict.passed.filter(|_| verdict.may_differ) {
            let place = usize::from(passed);
            rows.incomplete[place] += 1;
            unit.incomplete[place] += 1;
        }
        unit.rows += 1;
        unit.judged += u64::from(verdict.passed.is_some());
        unit.passed += u64::from(verdict.passed == Some(true));
    }

    fn ended(&self) -> u64 {
        self.rows.passed + self.rows.failed + self.rows.missing
    }
}

/// A rule for one target and scope, or the comparison of two targets.
#[derive(Debug)]
pub(super) struct OpenTest {
    /// The rule's number in the gate.
    number: Option<usize>,
    target: ModelId,
    other: Option<ModelId>,
    name: String,
    require: String,
    pub(super) metrics: Vec<String>,
    pub(super) scope: SequencedScope,
    question: Question,
    /// The scenarios of its list that were looked at.
    played: usize,
    /// How many it needed at least, however they ended, at any look while it was open.
    pub(super) reach: usize,
}

#[derive(Debug)]
enum Question {
    Rate(Box<RateTest>),
    Width(WidthTest),
    Difference(Box<DifferenceTest>),
    /// With the rows of the target in the baseline.
    Baseline(Box<BaselineTest>, BaselineUnits),
}

/// How rules are held against rates.
#[derive(Clone, Copy)]
pub(super) struct Held<'a> {
    pub(super) sequence: &'a ScenarioSequence,
    pub(super) hazards: &'a [Hazard],
    pub(super) give_up: f64,
    pub(super) max_missing: f64,
}

impl Held<'_> {
    /// A rule on the difference from a baseline.
    fn beside(
        self,
        require: GateRequirement,
        scope: &SequencedScope,
        before: &BaselineUnits,
        is_in: impl Fn(&str, MetricType) -> bool,
    ) -> Question {
        let sequence = self.sequence;
        let order = sequence.order.iter();
        let known: HashSet<&str> = order.map(|base| base.id.as_str()).collect();
        let in_scope = |metric: &str| {
            let of_type = sequence.metrics.get(metric);
            of_type.is_some_and(|of_type| is_in(metric, *of_type))
        };
        let unmatched = before.unmatched(|base| known.contains(base), in_scope);
        let side = match require.side {
            GateSide::AtLeast => RateLimit::AtLeast,
            GateSide::AtMost => RateLimit::AtMost,
        };
        let test = sequence
            .baseline_test(scope, self.max_missing)
            .with_unmatched(unmatched)
            .holding(side, require.limit, self.give_up);
        Question::Baseline(Box::new(test), before.clone())
    }
}

impl OpenTest {
    /// A rule on a rate of `target`, or on its difference from `before`; `None` for other rules, and for a difference where the baseline does
    /// not have the target.
    pub(super) fn of_rule(
        (number, rule): (usize, &GateRule),
        target: &ModelId,
        (scope, before): (&GateScope, Option<&BaselineUnits>),
        held: Held<'_>,
    ) -> Option<Self> {
        let is_in = |id: &str, metric_type: MetricType| scope.has(id, metric_type, held.hazards);
        let sequenced = held.sequence.scope(is_in);
        let question = match (limit(rule), rule.require.quantity) {
            (Some(limit), _) => {
                let rate =
                    RateTest::new(sequenced.lists.clone(), sequenced.largest, held.max_missing);
                Question::Rate(Box::new(rate.holding(limit, held.give_up)))
            }
            (None, GateQuantity::Difference) => {
                held.beside(rule.require, &sequenced, before?, is_in)
            }
            (None, _) => return None,
        };
        let mut test = Self::new(target, sequenced, question);
        test.number = Some(number);
        test.name = scope.to_string();
        test.require = rule.require.to_string();
        test.covers(held.sequence, is_in);
        Some(test)
    }

    /// Whether two targets differ, over all metrics.
    pub(super) fn of_pair(target: &ModelId, other: &ModelId, held: Held<'_>) -> Self {
        let sequenced = held.sequence.scope(|_, _| true);
        let difference = held.sequence.difference_test(&sequenced, 1);
        let question = Question::Difference(Box::new(difference.giving_up(held.give_up)));
        let mut test = Self::new(target, sequenced, question);
        test.other = Some(other.clone());
        test.covers(held.sequence, |_, _| true);
        test
    }

    /// Whether the interval of a rate of `target` is at most `width` wide.
    pub(super) fn of_width(
        width: f64,
        target: &ModelId,
        scope: &GateScope,
        held: Held<'_>,
    ) -> Self {
        let is_in = |id: &str, metric_type: MetricType| scope.has(id, metric_type, held.hazards);
        let sequenced = held.sequence.scope(is_in);
        let question = Question::Width(WidthTest::new(sequenced.lists.clone(), width));
        let mut test = Self::new(target, sequenced, question);
        test.name = scope.to_string();
        test.require = format!("width <= {width}");
        test.covers(held.sequence, is_in);
        test
    }

    fn new(target: &ModelId, scope: SequencedScope, question: Question) -> Self {
        Self {
            number: None,
            target: target.clone(),
            other: None,
            name: GateScope::All.to_string(),
            require: "differ".to_owned(),
            metrics: Vec::new(),
            scope,
            question,
            played: 0,
            reach: 0,
        }
    }

    fn covers(&mut self, sequence: &ScenarioSequence, is_in: impl Fn(&str, MetricType) -> bool) {
        let known = sequence.metrics.iter();
        let covered = known.filter(|(id, metric_type)| is_in(id, **metric_type));
        self.metrics = covered.map(|(id, _)| id.clone()).collect();
        self.need(sequence);
    }

    /// Whether it is about a target.
    pub(super) fn is_of(&self, target: &ModelId) -> bool {
        self.target == *target || self.other.as_ref() == Some(target)
    }

    pub(super) fn answer(&self) -> SequenceAnswer {
        let answer = match &self.question {
            Question::Rate(rate) => rate.answer(),
            Question::Width(width) => width.answer(),
            Question::Difference(difference) => difference.answer(),
            Question::Baseline(test, _) => test.answer(),
        };
        // A longer list was announced than there is.
        let is_out = answer == SequenceAnswer::Open && self.played >= self.scope.places.len();
        if is_out {
            SequenceAnswer::UsedUp
        } else {
            answer
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.answer() == SequenceAnswer::Open
    }

    /// Whether all its scenarios before `place` of the order were looked at; where it is answered, those that it had needed.
    pub(super) fn has_reached(&self, place: usize) -> bool {
        let before = self.scope.places.partition_point(|of| *of < place);
        self.played
            >= match self.is_open() {
                true => before,
                false => before.min(self.reach),
            }
    }

    /// Looks at the scenarios of its list that have ended whole. Returns whether this answered it.
    pub(super) fn look(
        &mut self,
        sequence: &ScenarioSequence,
        ended: &HashMap<ModelId, EndedRows>,
    ) -> bool {
        let was_open = self.is_open();
        while self.look_at_next(sequence, ended).is_some() {
            self.played += 1;
            if self.is_open() {
                self.need(sequence);
            }
        }
        was_open && !self.is_open()
    }

    fn look_at_next(
        &mut self,
        sequence: &ScenarioSequence,
        ended: &HashMap<ModelId, EndedRows>,
    ) -> Option<()> {
        let place = *self.scope.places.get(self.played)?;
        let rows_of = |target| whole(&self.metrics, sequence, place, ended.get(target)?);
        let rows = rows_of(&self.target)?;
        match (&mut self.question, &self.other) {
            (Question::Difference(difference), Some(other)) => {
                difference.play(&compared(&rows, &rows_of(other)?));
            }
            (Question::Rate(rate), _) => rate.play(&added(&rows)),
            (Question::Width(width), _) => width.play(&added(&rows)),
            (Question::Baseline(test, before), _) => {
                test.play(&beside(&self.metrics, (sequence, place), &rows, before));
            }
            (Question::Difference(_), None) => return None,
        }
        Some(())
    }

    /// Computes how many scenarios it needs at least: always the next one.
    fn need(&mut self, sequence: &ScenarioSequence) {
        let places = self.scope.places.iter().skip(self.played);
        let rest = places.map(|place| sequence.order.get(*place));
        let counted = |base: Option<&SequencedBase>, rows_of: &dyn Fn(&str) -> u64| -> u64 {
            let of_metrics = self.metrics.iter();
            let counted = of_metrics
                .filter_map(|metric| Some(base?.scenarios.get(metric)? * rows_of(metric)));
            counted.sum()
        };
        let rows = |base| counted(base, &|metric| sequence.rows_of(metric));
        let units = |base| counted(base, &|_| 1);
        let earliest = match &self.question {
            Question::Rate(rate) => rate.earliest_decision(rest.map(rows)),
            Question::Width(width) => width.earliest_decision(rest.map(rows)),
            Question::Difference(difference) => difference.earliest_decision(rest.map(units)),
            Question::Baseline(test, _) => test.earliest_decision(rest.map(units)),
        };
        let earliest = usize::try_from(earliest).unwrap_or(usize::MAX);
        self.reach = self.reach.max(earliest).max(self.played + 1);
    }

    /// What is known of it, for `sequence.json`.
    pub(super) fn known(&self) -> SequenceTest {
        let look = self.question.look();
        SequenceTest {
            rule: self.number,
            target: self.target.clone(),
            other: self.other.clone(),
            scope: self.name.clone(),
            require: self.require.clone(),
            answer: self.answer(),
            scenarios: look.scenarios,
            of: self.scope.places.len() as u64,
            rows: look.rows,
            estimate: look.estimate,
            lower: look.lower,
            upper: look.upper,
            // Before the first scenario nothing is known.
            chance: match look.scenarios {
                0 => 1.0,
                _ => look.chance,
            },
        }
    }
}

/// What a test has found so far.
struct Look {
    scenarios: u64,
    rows: u64,
    estimate: Option<f64>,
    lower: f64,
    upper: f64,
    chance: f64,
}

impl Look {
    fn of(rate: RateLook, chance: f64) -> Self {
        Self {
            scenarios: rate.scenarios,
            rows: rate.rows,
            estimate: rate.estimate,
            lower: rate.lower,
            upper: rate.upper,
            chance,
        }
    }
}

impl Question {
    fn look(&self) -> Look {
        match self {
            Self::Rate(rate) => Look::of(rate.look(), rate.chance().unwrap_or_default()),
            // Whatever comes, an interval gets narrower.
            Self::Width(width) => Look::of(width.look(), 1.0),
            Self::Difference(difference) => {
                let look = difference.look();
                Look {
                    scenarios: look.scenarios,
                    rows: look.units,
                    estimate: look.difference,
                    lower: look.lower,
                    upper: look.upper,
                    chance: difference.chance(),
                }
            }
            Self::Baseline(test, _) => {
                let look = test.look();
                let (lower, upper) = test.decisive();
                Look {
                    scenarios: look.scenarios,
                    rows: look.units,
                    estimate: look.difference,
                    lower,
                    upper,
                    chance: test.chance(),
                }
            }
        }
    }
}

/// The rows of a base scenario in these metrics, if all have ended.
fn whole<'e>(
    metrics: &[String],
    sequence: &ScenarioSequence,
    place: usize,
    ended: &'e EndedRows,
) -> Option<Vec<&'e EndedScenario>> {
    let base = sequence.order.get(place)?;
    let mut all = Vec::new();
    for metric in metrics {
        let Some(scenarios) = base.scenarios.get(metric) else {
            continue;
        };
        let rows = ended.get(&(place, metric.clone()))?;
        if rows.ended() < scenarios * sequence.rows_of(metric) {
            return None;
        }
        all.push(rows);
    }
    Some(all)
}

/// A base scenario as a rate's test plays it.
fn added(rows: &[&EndedScenario]) -> PlayedScenario {
    let mut all = PlayedScenario::default();
    for rows in rows {
        all.passed += rows.rows.passed;
        all.failed += rows.rows.failed;
        all.missing += rows.rows.missing;
        for (all, of_rows) in all.incomplete.iter_mut().zip(rows.rows.incomplete) {
            *all += of_rows;
        }
    }
    all
}

/// A base scenario as a difference's test plays it: the scenarios and metrics with a verdict of both targets.
fn compared(one: &[&EndedScenario], other: &[&EndedScenario]) -> PlayedDifference {
    let mut played = PlayedDifference::default();
    for (one, other) in one.iter().zip(other) {
        // In one order, so that the same verdicts give the same sum.
        let mut units: Vec<_> = one.units.iter().collect();
        units.sort_by_key(|(scenario, _)| *scenario);
        for (scenario, of_one) in units {
            let of_other = other.units.get(scenario);
            if let Some(difference) = of_other.and_then(|other| of_one.difference(*other)) {
                played.difference += difference;
                played.units += 1;
            }
        }
    }
    played
}

/// A base scenario as the test of a difference from a baseline plays it: all scenarios and metrics that one side has.
fn beside(
    metrics: &[String],
    (sequence, place): (&ScenarioSequence, usize),
    rows: &[&EndedScenario],
    before: &BaselineUnits,
) -> PlayedBeside {
    let base = sequence.order.get(place);
    let there = metrics
        .iter()
        .filter(|metric| base.is_some_and(|base| base.scenarios.contains_key(*metric)));
    // In one order, so that the same verdicts give the same sum.
    let mut sides: BTreeMap<(&str, &str), [SideRows; 2]> = BTreeMap::new();
    for (metric, rows) in there.zip(rows) {
        for (scenario, here) in &rows.units {
            sides.entry((scenario, metric)).or_default()[0] = *here;
        }
    }
    let id = base.map_or("", |base| base.id.as_str());
    for (scenario, metric, before) in before.of_base(id) {
        if metrics.iter().any(|known| known == metric) {
            sides.entry((scenario, metric)).or_default()[1] = before;
        }
    }
    let mut played = PlayedBeside::default();
    for [here, before] in sides.into_values() {
        played.add(here, before);
    }
    played
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
