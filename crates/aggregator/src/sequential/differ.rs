//! Whether two targets differ.

use schema::sequence::SequenceAnswer;

use super::{FEWEST_DECIDED, FEWEST_GIVEN_UP, grid::Bettor, lists::ScenarioLists};

/// Two bettors against "no difference", one for each side.
#[derive(Clone, Debug)]
pub(super) struct Differ {
    lists: ScenarioLists,
    bettors: [Bettor; 2],
    scenarios: u64,
    give_up: f64,
    answer: SequenceAnswer,
}

impl Differ {
    /// The question over `lists`. The bettors go on until they have `aim` times what one that is alone needs.
    pub(super) fn new(lists: &ScenarioLists, prior: f64, aim: f64) -> Self {
        let bettor = || Bettor::new(0.5, prior, aim, lists.clone());
        Self {
            lists: lists.clone(),
            bettors: [bettor(), bettor()],
            scenarios: 0,
            give_up: 0.0,
            answer: SequenceAnswer::Open,
        }
    }

    /// Gives up where the chance that the rest of the list shows it is below `chance` (0: never).
    pub(super) fn giving_up(self, chance: f64) -> Self {
        Self {
            give_up: chance,
            ..self
        }
    }

    /// Plays the next scenario: what is bet on for each side, and its units, as shares of the largest scenario.
    pub(super) fn play(&mut self, sides: [f64; 2], units: f64) {
        for (bettor, side) in self.bettors.iter_mut().zip(sides) {
            bettor.play(side, units);
        }
        self.scenarios += 1;
        if self.answer == SequenceAnswer::Open {
            self.answer = self.decided();
        }
    }

    fn decided(&self) -> SequenceAnswer {
        if self.scenarios >= FEWEST_DECIDED && self.bettors.iter().any(Bettor::has_reached) {
            SequenceAnswer::Differ
        } else if self.scenarios >= self.lists.scenarios(self.scenarios) {
            SequenceAnswer::UsedUp
        } else if self.scenarios >= FEWEST_GIVEN_UP && self.chance() < self.give_up {
            SequenceAnswer::GivenUp
        } else {
            SequenceAnswer::Open
        }
    }

    /// The first answer, which stands.
    pub(super) fn answer(&self) -> SequenceAnswer {
        self.answer
    }

    /// The chance that the rest of the list shows that they differ, if scenarios go on as so far.
    pub(super) fn chance(&self) -> f64 {
        let [above, below] = &self.bettors;
        above.chance().max(below.chance())
    }

    /// The e-value against "no difference".
    pub(super) fn e_value(&self) -> f64 {
        let [above, below] = &self.bettors;
        f64::midpoint(above.worth(), below.worth())
    }

    /// The fewest scenarios after which one side is shown to be ahead, if all that come are won by it whole: `units` are theirs, as shares.
    pub(super) fn earliest(&self, units: impl Iterator<Item = f64> + Clone) -> u64 {
        let after = |bettor: &Bettor| {
            let (mut bettor, mut played) = (bettor.clone(), self.scenarios);
            for units in units.clone() {
                bettor.play(units, units);
                played += 1;
                if played >= FEWEST_DECIDED && bettor.has_reached() {
                    break;
                }
            }
            played
        };
        let [above, below] = &self.bettors;
        after(above).min(after(below))
    }
}
