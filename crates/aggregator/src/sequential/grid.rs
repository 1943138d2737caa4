//! All values that a mean may have, bet against at once.

use super::{
    TARGET_CAPITAL,
    capital::{Capital, Odds, Sums},
    lists::ScenarioLists,
};

/// The bettors against the values of a grid, from the lowest on, and how far they have excluded it.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    capitals: Vec<Capital>,
    sums: Sums,
    prior: f64,
    lists: ScenarioLists,
    /// How many values are excluded, without a gap. It never falls.
    excluded: usize,
}

impl Grid {
    /// Against the values `means`. `prior` is the spread of scenarios before the first one; `aim` multiplies what bets aim at.
    pub(super) fn new(
        means: impl Iterator<Item = f64>,
        prior: f64,
        aim: f64,
        lists: ScenarioLists,
    ) -> Self {
        let bettor = |mean| Capital::new(mean, TARGET_CAPITAL * aim);
        Self {
            capitals: means.map(bettor).collect(),
            sums: Sums::default(),
            prior,
            lists,
            excluded: 0,
        }
    }

    /// Plays a scenario.
    pub(super) fn play(&mut self, y: f64, a: f64) {
        let odds = Odds::after(self.sums, self.prior, &self.lists);
        // What is excluded stays so, whatever its bettor would win or lose from here on.
        for capital in self.capitals.iter_mut().skip(self.excluded) {
            capital.play(&odds, y, a);
        }
        self.sums.add(y, a);
        let rest = self.capitals.iter().skip(self.excluded);
        self.excluded += rest.take_while(|capital| capital.has_excluded()).count();
    }

    /// How many values are excluded, from the lowest on.
    pub(super) fn excluded(&self) -> usize {
        self.excluded
    }
}

/// One bettor, with what it needs to go on.
#[derive(Clone, Debug)]
pub(super) struct Bettor {
    capital: Capital,
    sums: Sums,
    prior: f64,
    lists: ScenarioLists,
}

impl Bettor {
    pub(super) fn new(mean: f64, prior: f64, aim: f64, lists: ScenarioLists) -> Self {
        Self {
            capital: Capital::new(mean, TARGET_CAPITAL * aim),
            sums: Sums::default(),
            prior,
            lists,
        }
    }

    pub(super) fn play(&mut self, y: f64, a: f64) {
        let odds = Odds::after(self.sums, self.prior, &self.lists);
        self.capital.play(&odds, y, a);
        self.sums.add(y, a);
    }

    pub(super) fn worth(&self) -> f64 {
        self.capital.worth()
    }

    pub(super) fn has_excluded(&self) -> bool {
        self.capital.has_excluded()
    }

    /// Whether it has what it aims at.
    pub(super) fn has_reached(&self) -> bool {
        self.capital.has_reached()
    }

    pub(super) fn chance(&self) -> f64 {
        let odds = Odds::after(self.sums, self.prior, &self.lists);
        self.capital.chance(&odds)
    }
}
