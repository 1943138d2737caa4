//! Rates and differences of scenarios that are simulated in an order until rules are decided.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use schema::{
    MetricType, ModelId,
    sequence::SequenceStop,
    statistics::{OrdinaryInterval, RateStatistics, SequentialRate},
};

use super::{
    ScenarioIndex, Verdicts, difference::PairedUnit, rate_of_units::rate_of, target_rows::Unit,
};
use crate::sequential::{
    BaselineLook, BaselineTest, DifferenceLook, DifferenceTest, PlayedBeside, PlayedDifference,
    PlayedScenario, RateTest, ScenarioLists, SideRows,
};

/// The order of a benchmark's base scenarios, with what is planned of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScenarioSequence {
    /// The base scenarios in their order.
    pub order: Vec<SequencedBase>,
    /// The benchmark's metrics and their types.
    pub metrics: BTreeMap<String, MetricType>,
    /// Rows of each scenario and metric.
    pub samples: u64,
    /// The metrics that have one row of each scenario, however many `samples` there are.
    pub single: BTreeSet<String>,
    /// How many base scenarios there were, from how many on: see [`ScenarioLists`].
    pub lists: Vec<(u64, u64)>,
    /// The pairs of targets whose differences are adjusted together; 0 counts as 1.
    pub pairs: u64,
    /// How wide intervals may be, 0 to 1, where scenarios end by that: intervals and p-values are then those of a fixed list.
    pub width: Option<f64>,
    /// Why the run stopped.
    pub stopped: Option<SequenceStop>,
    /// Why targets have no further scenarios, where it is not as the run stopped.
    pub stopped_targets: BTreeMap<ModelId, SequenceStop>,
}

/// A base scenario in the order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SequencedBase {
    /// Its id.
    pub id: String,
    /// The number of its scenarios for each metric.
    pub scenarios: BTreeMap<String, u64>,
}

/// The part of a sequence that a rate is about: some of the metrics.
#[derive(Clone, Debug)]
pub struct SequencedScope {
    /// The places of its base scenarios in the order of the sequence.
    pub places: Vec<usize>,
    /// The rows of its largest base scenario.
    pub largest: u64,
    /// The scenarios and metrics of the base scenario that has the most.
    pub units: u64,
    /// Its lists.
    pub lists: ScenarioLists,
}

impl ScenarioSequence {
    /// The rows of each scenario of a metric.
    #[must_use]
    pub fn rows_of(&self, metric: &str) -> u64 {
        match self.single.contains(metric) {
            true => 1,
            false => self.samples,
        }
    }

    /// The test of the difference of two targets over `scope`, as one of `scopes` for each pair that are adjusted together (1: alone).
    #[must_use]
    pub fn difference_test(&self, scope: &SequencedScope, scopes: u64) -> DifferenceTest {
        DifferenceTest::new(&scope.lists, scope.units, scopes.max(1) * self.pairs.max(1))
    }

    /// The test of the difference of a target from a baseline over `scope`. While more than `max_missing` (0 to 1) of a side's rows have no
    /// verdict, its interval's ends have all of them against it.
    #[must_use]
    pub fn baseline_test(&self, scope: &SequencedScope, max_missing: f64) -> BaselineTest {
        BaselineTest::new(&scope.lists, scope.units, max_missing)
    }

    /// The part of the metrics for which `is_in` holds, given their types.
    #[must_use]
    pub fn scope(&self, is_in: impl Fn(&str, MetricType) -> bool) -> SequencedScope {
        let planned = |base: &SequencedBase| {
            let metrics = base.scenarios.iter().filter(|(id, _)| {
                let of_type = self.metrics.get(*id);
                of_type.is_some_and(|metric_type| is_in(id, *metric_type))
            });
            metrics.fold((0, 0), |(rows, units), (id, scenarios)| {
                (rows + scenarios * self.rows_of(id), units + scenarios)
            })
        };
        let (rows, units): (Vec<u64>, Vec<u64>) = self.order.iter().map(planned).unzip();
        let places: Vec<usize> = (0..rows.len())
            .filter(|place| rows.get(*place).is_some_and(|rows| *rows > 0))
            .collect();
        // Of a list of all metrics, those of the scope. Scenarios that are yet to come are taken to have as many of it.
        let within = |all: u64| {
            let known = places.iter().filter(|place| (**place as u64) < all);
            let (of, known) = (rows.len() as u64, known.count() as u64);
            known + all.saturating_sub(of) * (places.len() as u64) / of.max(1)
        };
        let mut lists = self.lists.iter();
        let first = lists.next().map_or(0, |(_, scenarios)| within(*scenarios));
        SequencedScope {
            largest: rows.iter().copied().max().unwrap_or(0).max(1),
            units: units.into_iter().max().unwrap_or(0).max(1),
            lists: lists.fold(ScenarioLists::one(first), |all, (from, scenarios)| {
                all.then(within(*from), within(*scenarios))
            }),
            places,
        }
    }

    /// The rate of `target` in one scope, over the scenarios before the first one that is not whole. `units` are sorted by base scenario.
    pub(super) fn rate(
        &self,
        (target, units): (&ModelId, &[Unit<'_>]),
        index: &ScenarioIndex,
        is_in: impl Fn(&str, MetricType) -> bool,
    ) -> RateStatistics {
        let scope = self.scope(&is_in);
        let of_bases = by_base(units);
        let prefix = self.prefix(&scope, &[&of_bases], &is_in);
        let mut test = RateTest::new(scope.lists.clone(), scope.largest, 1.0);
        let mut counted: Vec<Unit<'_>> = Vec::new();
        for base in &prefix {
            let of_scope = units_of(&of_bases, base)
                .iter()
                .filter(|unit| is_in(unit.metric, unit.metric_type));
            let before = counted.len();
            counted.extend(of_scope.copied());
            test.play(&played(counted.iter().skip(before)));
        }
        counted.sort_by_key(|unit| (unit.base, unit.scenario, unit.metric));
        let rate = rate_of(counted.iter(), index.alike());
        let in_scope = units
            .iter()
            .filter(|unit| is_in(unit.metric, unit.metric_type));
        let rows = |units: &mut dyn Iterator<Item = &Unit<'_>>| -> u64 {
            units.map(|unit| unit.counts.rows()).sum()
        };
        let beyond = rows(&mut in_scope.clone()) - rows(&mut counted.iter());
        let sequential = |ordinary| SequentialRate {
            scenarios: prefix.len() as u64,
            of: scope.places.len() as u64,
            rows_beyond: beyond,
            stopped: self.stopped_targets.get(target).copied().or(self.stopped),
            width: self.width,
            ordinary,
        };
        match self.width {
            Some(_) => RateStatistics {
                sequential: ordinary(&rate).map(sequential),
                ..rate
            },
            None => at_every_look(rate, &test, sequential),
        }
    }

    /// The difference of a target from a baseline in one scope as it is at every look, over the scenarios before the first one that the target
    /// has not played whole. Also the ids of these scenarios.
    pub(super) fn baseline_difference<'s>(
        &'s self,
        (here, before): (&[Unit<'_>], &[Unit<'_>]),
        is_in: impl Fn(&str) -> bool,
    ) -> (BaselineLook, Vec<&'s str>) {
        let is_in = |metric: &str, _: MetricType| is_in(metric);
        let scope = self.scope(is_in);
        let (of_here, of_before) = (by_base(here), by_base(before));
        let prefix = self.prefix(&scope, &[&of_here], is_in);
        let in_order: HashSet<&str> = self.order.iter().map(|base| base.id.as_str()).collect();
        let before_alone = before
            .iter()
            .filter(|unit| is_in(unit.metric, unit.metric_type) && !in_order.contains(unit.base));
        let unmatched = before_alone.map(|unit| unit.counts.rows()).sum();
        let mut test = self.baseline_test(&scope, 1.0).with_unmatched(unmatched);
        for base in &prefix {
            let mut sides: BTreeMap<(&str, &str), [SideRows; 2]> = BTreeMap::new();
            for (side, of_bases) in [(0, &of_here), (1, &of_before)] {
                for unit in units_of(of_bases, base) {
                    if is_in(unit.metric, unit.metric_type) {
                        let both = sides.entry((unit.scenario, unit.metric)).or_default();
                        both[side] = side_rows(unit);
                    }
                }
            }
            let mut played = PlayedBeside::default();
            for [here, before] in sides.into_values() {
                played.add(here, before);
            }
            test.play(&played);
        }
        (test.look(), prefix)
    }

    /// The base scenarios of a scope before the first one that a target has not played whole.
    fn prefix<'s>(
        &'s self,
        scope: &SequencedScope,
        targets: &[&HashMap<&str, &[Unit<'_>]>],
        is_in: impl Fn(&str, MetricType) -> bool,
    ) -> Vec<&'s str> {
        let is_whole = |base: &&SequencedBase| {
            targets.iter().all(|of_bases| {
                let units = units_of(of_bases, &base.id);
                base.scenarios.iter().all(|(metric, scenarios)| {
                    let Some(metric_type) = self.metrics.get(metric) else {
                        return true;
                    };
                    let whole = |unit: &&Unit<'_>| {
                        unit.metric == metric && unit.counts.rows() >= self.rows_of(metric)
                    };
                    !is_in(metric, *metric_type)
                        || units.iter().filter(whole).count() as u64 >= *scenarios
                })
            })
        };
        let places = scope.places.iter();
        let bases = places.filter_map(|place| self.order.get(*place));
        bases
            .take_while(is_whole)
            .map(|base| base.id.as_str())
            .collect()
    }

    /// The difference of two targets in one scope as it is at every look, over the scenarios that both have played. `scopes`: how many of each
    /// pair are adjusted together. Also the units that it is of.
    pub(super) fn difference<'a>(
        &self,
        (a, b): (&[Unit<'a>], &[Unit<'a>]),
        is_in: impl Fn(&str, MetricType) -> bool,
        scopes: u64,
    ) -> (DifferenceLook, Vec<PairedUnit<'a>>) {
        let scope = self.scope(&is_in);
        let (of_a, of_b) = (by_base(a), by_base(b));
        let prefix = self.prefix(&scope, &[&of_a, &of_b], &is_in);
        let mut test = self.difference_test(&scope, scopes);
        let mut counted = Vec::new();
        for base in prefix {
            let side = |of: &HashMap<&str, &[Unit<'a>]>| -> BTreeMap<(&'a str, &'a str), Unit<'a>> {
                units_of(of, base)
                    .iter()
                    .filter(|unit| is_in(unit.metric, unit.metric_type))
                    .map(|unit| ((unit.scenario, unit.metric), *unit))
                    .collect()
            };
            let (of_a, of_b) = (side(&of_a), side(&of_b));
            let before = counted.len();
            for (key, unit) in &of_a {
                if let Some(other) = of_b.get(key) {
                    counted.push(PairedUnit {
                        base: unit.base,
                        a: &unit.counts.verdicts,
                        b: &other.counts.verdicts,
                    });
                }
            }
            test.play(&compared(counted.iter().skip(before)));
        }
        counted.sort_by_key(|unit| unit.base);
        (test.look(), counted)
    }
}

fn units_of<'u, 'a>(of_bases: &HashMap<&str, &'u [Unit<'a>]>, base: &str) -> &'u [Unit<'a>] {
    of_bases.get(base).copied().unwrap_or_default()
}

/// The units of each base scenario; they are adjacent.
fn by_base<'u, 'a>(units: &'u [Unit<'a>]) -> HashMap<&'a str, &'u [Unit<'a>]> {
    let chunks = units.chunk_by(|one, next| one.base == next.base);
    let keyed = chunks.filter_map(|units| Some((units.first()?.base, units)));
    keyed.collect()
}

/// The rows of a unit on one side of a comparison.
fn side_rows(unit: &Unit<'_>) -> SideRows {
    SideRows {
        passed: unit.counts.passed(),
        judged: unit.counts.scored(),
        incomplete: unit.counts.incomplete,
        rows: unit.counts.rows(),
    }
}

/// A base scenario as a rate's test plays it.
fn played<'a>(units: impl Iterator<Item = &'a Unit<'a>>) -> PlayedScenario {
    let mut played = PlayedScenario::default();
    for unit in units {
        let counts = unit.counts;
        played.passed += counts.passed();
        played.failed += counts.scored() - counts.passed();
        played.missing += counts.rows() - counts.scored();
        for (all, of_unit) in played.incomplete.iter_mut().zip(counts.incomplete) {
            *all += of_unit;
        }
    }
    played
}

/// A base scenario as a difference's test plays it.
fn compared<'a>(units: impl Iterator<Item = &'a PairedUnit<'a>>) -> PlayedDifference {
    let mut played = PlayedDifference::default();
    let both = |unit: &&PairedUnit<'_>| {
        let has = |side: &Verdicts| side.scored() > 0;
        has(unit.a) && has(unit.b)
    };
    for unit in units.filter(both) {
        played.difference += unit.a.mean() - unit.b.mean();
        played.units += 1;
    }
    played
}

/// The rate with the interval that holds at every look.
fn at_every_look(
    rate: RateStatistics,
    test: &RateTest,
    sequential: impl FnOnce(OrdinaryInterval) -> SequentialRate,
) -> RateStatistics {
    let (Some(ordinary), Some(bounds)) = (ordinary(&rate), rate.bounds) else {
        return rate;
    };
    let (judged, widest) = (test.judged(), test.bounds());
    RateStatistics {
        lower: Some(judged.0),
        upper: Some(judged.1),
        standard_error: None,
        bounds: Some(schema::statistics::RateBounds {
            lower: widest.0,
            upper: widest.1,
            ..bounds
        }),
        sequential: Some(sequential(ordinary)),
        ..rate
    }
}

/// The interval of a list whose length is fixed.
fn ordinary(rate: &RateStatistics) -> Option<OrdinaryInterval> {
    Some(OrdinaryInterval {
        lower: rate.lower?,
        upper: rate.upper?,
        standard_error: rate.standard_error,
    })
}
