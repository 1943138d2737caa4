//! The difference of two targets.

use schema::sequence::SequenceAnswer;

use super::{capital::number, differ::Differ, grid::Grid, lists::ScenarioLists};

/// The steps of the grid between -1 and 1.
const STEPS: i32 = 1000;

/// The spread of scenarios before the first one.
pub(super) const PRIOR: f64 = 0.4;

/// A base scenario that both targets have played.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlayedDifference {
    /// The sum over its matched units of the first target's rate less the second's.
    pub difference: f64,
    /// Its matched units.
    pub units: u64,
}

/// What is known of a difference after some scenarios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DifferenceLook {
    /// The scenarios played.
    pub scenarios: u64,
    /// Their matched units.
    pub units: u64,
    /// The mean difference over units; `None` without any.
    pub difference: Option<f64>,
    /// Lower end of the interval that holds at all looks at once with 95%, -1 to 1.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// The e-value against "no difference": see [`adjusted_e_values`](super::adjusted_e_values). Of those that are the same, it is 20 or more at
    /// any look with a chance of at most 5%.
    pub e_value: f64,
}

/// The difference of two targets in one scope, scenario by scenario.
#[derive(Clone, Debug)]
pub struct DifferenceTest {
    /// The units of the largest scenario.
    largest: f64,
    above: Grid,
    below: Grid,
    differ: Differ,
    scenarios: u64,
    units: u64,
    sum: f64,
}

impl DifferenceTest {
    /// The test over `lists`, whose largest scenario has `largest` units, as one of `family` that are adjusted together (1: alone).
    #[must_use]
    pub fn new(lists: &ScenarioLists, largest: u64, family: u64) -> Self {
        let aim = number(family.max(1));
        let grid = || {
            let means = (1 - STEPS..STEPS).map(|step| mean_of(f64::from(step) / f64::from(STEPS)));
            Grid::new(means, PRIOR, aim, lists.clone())
        };
        Self {
            largest: number(largest.max(1)),
            above: grid(),
            below: grid(),
            differ: Differ::new(lists, PRIOR, aim),
            scenarios: 0,
            units: 0,
            sum: 0.0,
        }
    }

    /// Gives the question whether the two differ up where the chance that the rest of the list shows it is below `chance` (0: never).
    #[must_use]
    pub fn giving_up(self, chance: f64) -> Self {
        Self {
            differ: self.differ.giving_up(chance),
            ..self
        }
    }

    /// Plays the next scenario of the order.
    pub fn play(&mut self, scenario: &PlayedDifference) {
        let [up, down, a] = shares(scenario, self.largest);
        self.above.play(up, a);
        self.below.play(down, a);
        self.differ.play([up, down], a);
        self.scenarios += 1;
        self.units += scenario.units;
        self.sum += scenario.difference;
    }

    /// Whether the two differ: they do when a bettor has reached what it aims at, and then whatever the others of the family show. The first
    /// answer stands.
    #[must_use]
    pub fn answer(&self) -> SequenceAnswer {
        self.differ.answer()
    }

    /// The chance that the rest of the list shows that they differ, if scenarios go on as so far.
    #[must_use]
    pub fn chance(&self) -> f64 {
        self.differ.chance()
    }

    /// The fewest scenarios that show a difference, the ones played so far included, if all rows from here on passed for one target and failed
    /// for the other: `units` are those of the next scenarios. All of them, where the list does not show it either way.
    #[must_use]
    pub fn earliest_decision(&self, units: impl Iterator<Item = u64> + Clone) -> u64 {
        let largest = self.largest;
        self.differ
            .earliest(units.map(|units| number(units) / largest))
    }

    /// What is known of the difference.
    #[must_use]
    pub fn look(&self) -> DifferenceLook {
        DifferenceLook {
            scenarios: self.scenarios,
            units: self.units,
            difference: (self.units > 0).then(|| self.sum / number(self.units)),
            lower: on_grid(&self.above),
            upper: -on_grid(&self.below),
            e_value: self.differ.e_value(),
        }
    }
}

/// What is bet on: for the first target, for the second, and the units, as shares of the largest scenario.
pub(super) fn shares(scenario: &PlayedDifference, largest: f64) -> [f64; 3] {
    let units = number(scenario.units);
    let [up, down] =
        [scenario.difference, -scenario.difference].map(|sum| (sum + units) / (2.0 * largest));
    [up, down, units / largest]
}

/// Where the grid ends from below, -1 to 1.
fn on_grid(grid: &Grid) -> f64 {
    let steps = i32::try_from(grid.excluded()).unwrap_or(i32::MAX);
    f64::from(steps - STEPS) / f64::from(STEPS)
}

/// The mean of what is bet on, for a difference.
pub(super) fn mean_of(difference: f64) -> f64 {
    f64::midpoint(1.0, difference)
}
