//! The difference between rows and a baseline, whatever the missing verdicts of both would have been.

use std::collections::{BTreeMap, HashSet};

use schema::{
    numbers::grouped,
    statistics::{DifferenceFamily, DifferenceStatistics},
    text::counted,
};

use super::{
    AlikeBy, ScenarioIndex, TargetRows, Verdicts,
    difference::{Difference, PairedUnit, paired_difference},
    family::family_statistics,
    missing::MissingCluster,
    target_rows::UnitCounts,
};
use crate::sequential::BaselineLook;

/// The difference between rows and a baseline before [`gate_comparisons`] corrects those of one rule.
#[derive(Clone, Debug)]
pub struct GateDifference {
    /// Over the verdicts of both sides.
    measured: Difference,
    /// With missing rows failed here and passed in the baseline.
    lowest: Difference,
    /// The other way round.
    highest: Difference,
    here: Missing,
    before: Missing,
    samples_changed: bool,
    /// In a tree whose scenarios are simulated in an order, what is known at every look, and how many base scenarios there are.
    at_every_look: Option<(BaselineLook, u64)>,
}

/// The rows of one side, with those that the other side has and this one does not.
#[derive(Clone, Copy, Debug, Default)]
struct Missing {
    rows: u64,
    missing: u64,
}

/// The difference between rows and a baseline that a rule of a gate looks at.
#[derive(Clone, Debug, PartialEq)]
pub struct GateComparison {
    /// The difference over the verdicts of both sides.
    pub measured: DifferenceStatistics,
    /// The lower end of the interval if all missing rows had failed here and passed in the baseline.
    pub lower: f64,
    /// The upper end of the interval if they had passed here and failed in the baseline.
    pub upper: f64,
    /// Missing rows here, also those of scenarios that the baseline alone has.
    pub missing_here: u64,
    /// Missing rows of the baseline, also those of scenarios that it does not have.
    pub missing_before: u64,
    /// The share of missing rows of the side that has the larger one.
    pub missing_share: f64,
    /// Whether scenarios have another number of samples than in the baseline.
    pub samples_changed: bool,
}

/// The difference of the rows of some metrics; `None` if no scenario has a verdict here and in the baseline. A row of a scenario and metric
/// that one side has and the other does not is missing there. `index` contains the scenarios of both sides.
#[must_use]
pub fn gate_difference(
    here: &TargetRows,
    before: &TargetRows,
    index: &ScenarioIndex,
    is_in: impl Fn(&str) -> bool,
) -> Option<GateDifference> {
    let (units_here, units_before) = (here.units(index), before.units(index));
    let sequence = index.sequence().map(|sequence| {
        let (look, prefix) = sequence.baseline_difference((&units_here, &units_before), &is_in);
        let scope = sequence.scope(|metric, _| is_in(metric));
        let look = sequence.width.is_none().then_some(look);
        (prefix, look.map(|look| (look, scope.places.len() as u64)))
    });
    let played: Option<HashSet<&str>> = sequence
        .as_ref()
        .map(|(prefix, _)| prefix.iter().copied().collect());
    let is_played = |base: &str| played.as_ref().is_none_or(|played| played.contains(base));
    let none = UnitCounts::default();
    let mut units: BTreeMap<_, (&UnitCounts, &UnitCounts)> = BTreeMap::new();
    for (side, all) in [(0, &units_here), (1, &units_before)] {
        for unit in all
            .iter()
            .filter(|unit| is_in(unit.metric) && is_played(unit.base))
        {
            let key = (unit.base, unit.scenario, unit.metric);
            let sides = units.entry(key).or_insert((&none, &none));
            match side {
                0 => sides.0 = unit.counts,
                _ => sides.1 = unit.counts,
            }
        }
    }
    let measured = units.iter().map(|((base, ..), (here, before))| PairedUnit {
        base,
        a: &here.verdicts,
        b: &before.verdicts,
    });
    let measured = paired_difference(&measured.collect::<Vec<_>>())?;
    let (mut missing_here, mut missing_before) = (Missing::default(), Missing::default());
    let filled: Vec<(&str, Filled, Filled)> = units
        .iter()
        .map(|((base, ..), (here, before))| {
            let rows = here.rows().max(before.rows());
            let (here, before) = (Filled::of(here, rows), Filled::of(before, rows));
            missing_here.add(&here);
            missing_before.add(&before);
            (*base, here, before)
        })
        .collect();
    let with = |is_lowest: bool| {
        let sides: Vec<(&str, Verdicts, Verdicts)> = filled
            .iter()
            .map(|(base, here, before)| {
                (*base, here.verdicts(!is_lowest), before.verdicts(is_lowest))
            })
            .collect();
        let units = sides.iter().map(|(base, a, b)| PairedUnit { base, a, b });
        paired_difference(&units.collect::<Vec<_>>())
    };
    Some(GateDifference {
        measured,
        lowest: with(true)?,
        highest: with(false)?,
        here: missing_here,
        before: missing_before,
        samples_changed: here.most_samples() != before.most_samples(),
        at_every_look: sequence.and_then(|(_, look)| look),
    })
}

/// One side of a unit, with all rows that either side has.
struct Filled {
    counts: MissingCluster,
}

impl Filled {
    fn of(counts: &UnitCounts, rows: u64) -> Self {
        let counts = counts.as_missing();
        Self {
            counts: MissingCluster {
                missing: rows - counts.scored,
                ..counts
            },
        }
    }

    /// The verdicts if all missing ones had passed, or failed. Both sides of a unit have as many, so their order says nothing.
    fn verdicts(&self, missing_passed: bool) -> Verdicts {
        let MissingCluster {
            passed,
            scored,
            missing,
        } = self.counts;
        let passed = if missing_passed {
            passed + missing
        } else {
            passed
        };
        Verdicts::of_counts(passed, scored + missing)
    }
}

impl Missing {
    fn add(&mut self, side: &Filled) {
        self.rows += side.counts.scored + side.counts.missing;
        self.missing += side.counts.missing;
    }

    fn share(self) -> f64 {
        super::float(self.missing) / super::float(self.rows.max(1))
    }
}

/// The differences of one rule, over its targets and metrics, corrected together: those measured, those with the missing rows at one end,
/// and those at the other, each a family of its own.
#[must_use]
pub fn gate_comparisons(differences: &[&GateDifference], alike: AlikeBy) -> Vec<GateComparison> {
    let corrected = |of: fn(&GateDifference) -> &Difference| {
        let found: Vec<&Difference> = differences.iter().map(|found| of(found)).collect();
        family_statistics(&found, DifferenceFamily::Metric, alike)
    };
    let measured = corrected(|found| &found.measured).into_iter();
    let lowest = corrected(|found| &found.lowest).into_iter();
    let highest = corrected(|found| &found.highest).into_iter();
    let ends = measured.zip(lowest.zip(highest));
    let all = differences.iter().zip(ends);
    all.map(|(found, (measured, (lowest, highest)))| {
        let ordinary = GateComparison {
            measured,
            lower: lowest.lower,
            upper: highest.upper,
            missing_here: found.here.missing,
            missing_before: found.before.missing,
            missing_share: found.here.share().max(found.before.share()),
            samples_changed: found.samples_changed,
        };
        match &found.at_every_look {
            None => ordinary,
            Some((look, of)) => ordinary.at_every_look(look, *of),
        }
    })
    .collect()
}

impl GateComparison {
    /// With the interval that holds at every look in the place of that of a fixed list, which has the p-value.
    fn at_every_look(self, look: &BaselineLook, of: u64) -> Self {
        let (lower, upper) = look.measured;
        let [missing_here, missing_before] = look.missing;
        let measured = DifferenceStatistics {
            lower,
            upper,
            p_value: None,
            p_corrected: None,
            test: None,
            could_have_shown: None,
            says: format!(
                "{} of {} do not decide",
                grouped(look.scenarios),
                counted(of, "scenario", "scenarios")
            ),
            ..self.measured
        };
        Self {
            measured,
            lower: look.bounds.0,
            upper: look.bounds.1,
            missing_here,
            missing_before,
            missing_share: look.missing_share,
            ..self
        }
    }
}
