//! The probability that a comparison of two targets shows a difference, and the sizes that follow from it.
//!
//! It is the power of the test that comparisons use, at the smallest level of Holm's correction: the correction itself does
//! better, so that a promise is rather too careful. A scenario is a draw from a beta distribution of pass rates; two targets
//! find the same scenarios hard as far as `correlation` says.

mod draws;
mod gate_chances;
mod shares;
mod sign_flips;
mod single_rows;
mod split_mix;

use std::collections::HashMap;

pub use gate_chances::{GateChances, GateQuestion, gate_chances, scenarios_for_pass};
pub use split_mix::SplitMix64;

use super::clusters::float;
use draws::{DRAWS, Sampler, differences};
use shares::{Counts, shares};
use sign_flips::SignFlips;

/// A difference counts as shown "four times in five".
pub(super) const FOUR_IN_FIVE: f64 = 0.8;
/// Above this number of scenarios the normal form is used.
pub(super) const MOST_DRAWN: u64 = 500;
/// More rows of a scenario than this add nothing.
const MOST_ROWS: u64 = 100;
/// No run has more base scenarios than this.
const MOST_SCENARIOS: u64 = 100_000;

/// The size of a comparison of two targets, and what is assumed of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerQuestion {
    /// Base scenarios that both targets have.
    pub scenarios: u64,
    /// Rows of each and of one target: variants times samples. Above 100 it counts as 100.
    pub rows: u64,
    /// The correlation of rows of one scenario, 0 to 1.
    pub icc: f64,
    /// The pass rate of one target, 0 to 1.
    pub rate: f64,
    /// The correlation between two targets over scenarios, 0 to 1.
    pub correlation: f64,
    /// The comparisons that are corrected together, 1 at least.
    pub comparisons: u64,
}

impl PowerQuestion {
    /// The largest p-value that shows a difference.
    fn level(&self) -> f64 {
        0.05 / float(self.comparisons.max(1))
    }

    /// The rows of a scenario that are computed with.
    fn rows(&self) -> u64 {
        self.rows.clamp(1, MOST_ROWS)
    }

    /// Whether the test can show anything: in each of `scenarios` all signs can be flipped.
    fn can_differ(&self) -> bool {
        smallest_p(self.scenarios) <= self.level()
    }

    /// The largest possible difference: one target has `rate`, the other passes nothing, or everything.
    fn largest(&self) -> f64 {
        self.rate.max(1.0 - self.rate)
    }

    fn key(&self) -> [u64; 6] {
        let [icc, rate, correlation] = [self.icc, self.rate, self.correlation].map(f64::to_bits);
        let comparisons = self.comparisons;
        [
            self.scenarios,
            self.rows(),
            icc,
            rate,
            correlation,
            comparisons,
        ]
    }
}

/// The smallest p-value that a comparison of two targets on so many base scenarios can reach.
pub(super) fn smallest_p(scenarios: u64) -> f64 {
    (1.0 - float(scenarios)).exp2().min(1.0)
}

/// The probability that a true difference of `difference`, 0 to 1, is shown, in the right direction. One target has the
/// rate of the question, the other `difference` less, or more where the rate is below one half. 0 where nothing can be
/// shown, or there is no such difference.
///
/// Exact for one row of each scenario; otherwise counted in 2000 draws, always the same; above 500 scenarios by the normal
/// approximation.
#[must_use]
pub fn power(question: &PowerQuestion, difference: f64) -> f64 {
    Model::new(question).map_or(0.0, |model| model.power(difference))
}

/// The smallest difference, in steps of one point, that is shown four times in five; `None` if there is none.
///
/// Takes milliseconds. A page of comparisons asks a [`PowerMemo`].
#[must_use]
pub fn smallest_difference(question: &PowerQuestion) -> Option<f64> {
    let model = Model::new(question)?;
    let difference = |points: u32| f64::from(points) / 100.0;
    // The largest number of points, whatever 1 minus the rate has lost in its last digit.
    let last = (1..=100)
        .rev()
        .find(|points| difference(*points) <= question.largest() + 1e-9)?;
    let (mut low, mut high) = (0, last);
    if !model.is_shown(difference(high)) {
        return None;
    }
    while high - low > 1 {
        let middle = u32::midpoint(low, high);
        if model.is_shown(difference(middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(difference(high))
}

/// The smallest number of base scenarios with which a difference of `difference` is shown four times in five, everything
/// else as in `question`; `None` if 100,000 are not enough.
#[must_use]
pub fn scenarios_needed(question: &PowerQuestion, difference: f64) -> Option<u64> {
    fewest(MOST_SCENARIOS, |scenarios| {
        let question = PowerQuestion {
            scenarios,
            ..*question
        };
        Model::new(&question).is_some_and(|model| model.is_shown(difference))
    })
}

/// The smallest number from 2 to `most` that is enough, found by doubling and halving; `None` if none is.
pub(super) fn fewest(most: u64, is_enough: impl Fn(u64) -> bool) -> Option<u64> {
    let mut high = 2_u64;
    while !is_enough(high) {
        high = high.saturating_mul(2);
        if high >= most.saturating_mul(2) {
            return None;
        }
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        if is_enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    (high <= most).then_some(high)
}

/// Smallest differences that were already computed. A page has many comparisons of the same size.
#[derive(Debug, Default)]
pub struct PowerMemo {
    found: HashMap<[u64; 6], Option<f64>>,
}

impl PowerMemo {
    /// [`smallest_difference`], computed once for each question.
    pub fn smallest_difference(&mut self, question: &PowerQuestion) -> Option<f64> {
        let found = self.found.entry(question.key());
        *found.or_insert_with(|| smallest_difference(question))
    }
}

/// The model of two targets on the same scenarios. What does not depend on the difference is computed once.
struct Model<'q> {
    question: &'q PowerQuestion,
    /// The correlation of rows of one scenario, no less than two targets with this correlation have.
    icc: f64,
    /// The chance that both targets find a scenario equally hard.
    together: f64,
    rows: usize,
    /// The numbers of passed rows of the target with the question's rate.
    counts: Counts,
}

impl<'q> Model<'q> {
    /// `None` if no difference can be shown, or a number of the question is none.
    fn new(question: &'q PowerQuestion) -> Option<Self> {
        let known = [question.icc, question.rate, question.correlation];
        if !question.can_differ() || known.iter().any(|number| number.is_nan()) {
            return None;
        }
        let m = float(question.rows());
        let correlation = question.correlation.clamp(0.0, 1.0);
        let least = correlation / (m - (m - 1.0) * correlation);
        let icc = question.icc.clamp(0.0, 1.0).max(least);
        let together = match icc > 0.0 {
            true => (correlation * (1.0 + (m - 1.0) * icc) / (icc * m)).min(1.0),
            false => 0.0,
        };
        let rows = usize::try_from(question.rows()).ok()?;
        Some(Self {
            question,
            icc,
            together,
            rows,
            counts: Counts::new(&shares(question.rate, icc), rows),
        })
    }

    fn power(&self, difference: f64) -> f64 {
        let Some(chances) = self.differences(difference) else {
            return 0.0;
        };
        if self.question.scenarios > MOST_DRAWN {
            self.normal(&chances)
        } else if self.rows == 1 {
            single_rows::power(self.question.scenarios, self.question.level(), &chances)
        } else {
            let shown = self.draws(&chances).filter(|shown| *shown).count();
            shares::count(shown) / f64::from(DRAWS)
        }
    }

    /// Whether the power is four in five or more. Draws end as soon as the rest cannot matter.
    fn is_shown(&self, difference: f64) -> bool {
        let drawn = self.rows > 1 && self.question.scenarios <= MOST_DRAWN;
        if !drawn {
            return self.power(difference) >= FOUR_IN_FIVE;
        }
        let Some(chances) = self.differences(difference) else {
            return false;
        };
        let mut missed = 0;
        self.draws(&chances).all(|shown| {
            missed += u32::from(!shown);
            // One draw in five.
            missed * 5 <= DRAWS
        })
    }

    /// The chances of the differences in passed rows of one scenario, better target less worse one; `None` if no rate
    /// is so far from the question's.
    fn differences(&self, difference: f64) -> Option<Vec<f64>> {
        let rate = self.question.rate;
        if difference.is_nan() || difference < 0.0 || difference > self.question.largest() + 1e-9 {
            return None;
        }
        let other = |rate: f64| Counts::new(&shares(rate.clamp(0.0, 1.0), self.icc), self.rows);
        Some(match rate < 0.5 {
            true => differences(&other(rate + difference), &self.counts, self.together),
            false => differences(&self.counts, &other(rate - difference), self.together),
        })
    }

    /// For each draw of all scenarios, whether the test shows that the better target is better.
    fn draws(&self, chances: &[f64]) -> impl Iterator<Item = bool> {
        let scenarios = self.question.scenarios;
        let mut sampler = Sampler::new(chances);
        let mut flips = SignFlips::new(self.question.level(), self.rows);
        (0..DRAWS).map(move |_| {
            flips.clear();
            for _ in 0..scenarios {
                flips.add(sampler.draw());
            }
            flips.shows()
        })
    }

    /// The normal approximation for many scenarios.
    fn normal(&self, chances: &[f64]) -> f64 {
        let rows = shares::count(self.rows);
        let (mut mean, mut square) = (0.0, 0.0);
        for (place, chance) in chances.iter().enumerate() {
            let difference = shares::count(place) - rows;
            mean += chance * difference;
            square += chance * difference * difference;
        }
        let needed = two_sided_quantile(self.question.level()) * square.sqrt();
        let reach = mean * float(self.question.scenarios).sqrt() - needed;
        let spread = (square - mean * mean).max(0.0).sqrt();
        match spread > 1e-12 {
            true => 0.5 * libm::erfc(-reach / spread / std::f64::consts::SQRT_2),
            false if mean > 0.0 && reach >= 0.0 => 1.0,
            false => 0.0,
        }
    }
}

/// The distance from 0 that a standard normal number exceeds, on either side, with this chance; 0 < `chance` < 1.
fn two_sided_quantile(chance: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return middle;
        }
        if libm::erfc(middle / std::f64::consts::SQRT_2) > chance {
            low = middle;
        } else {
            high = middle;
        }
    }
}
