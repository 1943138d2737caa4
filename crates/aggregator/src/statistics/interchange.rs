//! The interchange test: the exact test of all comparisons.
//!
//! The null hypothesis is that the sides are interchangeable in scenarios like these: to give all rows of a base
//! scenario to another side is as likely. Rows of a base scenario may be as alike as they like, and each side may have
//! its own easy and hard scenarios, so the sides of whole scenarios change places and never single rows.

use super::attainable::Attainable;
use crate::interval::rounded;

/// The sums of chances may take so many steps; beyond, the normal form is used.
const MOST_STEPS: u128 = 4_000_000;
/// Scores are whole numbers up to this common denominator; beyond, the normal form is used.
const LARGEST_DENOMINATOR: i128 = 1_000_000;
/// The denominator of scores whose own is beyond all bounds.
const FINE: i128 = 1 << 40;

/// How a p-value was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceTest {
    /// No scenario differs: p is 1.
    NoneDiffer,
    /// All ways to interchange the sides were counted.
    Exact,
    /// The normal approximation of `Exact`.
    Normal,
}

impl DifferenceTest {
    /// The name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoneDiffer => "none differ",
            Self::Exact => "exact",
            Self::Normal => "normal",
        }
    }
}

/// The result of [`interchange_test`].
#[derive(Clone, Debug, PartialEq)]
pub struct InterchangeTest {
    /// The probability of a difference at least as large if the sides are interchangeable. Not corrected for other tests.
    pub p_value: f64,
    /// How it was computed.
    pub test: DifferenceTest,
    /// Blocks whose sides differ.
    pub blocks_that_differ: u64,
    /// The sum over blocks of the named side's score less the mean of the others.
    pub statistic: f64,
    /// The p-values that the test could have given.
    pub attainable: Attainable,
}

/// The scores of all sides in one base scenario.
///
/// A score is a sum of shares of passed rows. It is kept as a fraction, so that sums are compared as whole numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    named: usize,
    denominator: i128,
    numerators: Vec<i128>,
}

impl Block {
    /// A block of `sides` sides with no unit; the test is about side `named`, which is below `sides`.
    #[must_use]
    pub fn new(sides: usize, named: usize) -> Self {
        Self {
            named,
            denominator: 1,
            numerators: vec![0; sides],
        }
    }

    /// Adds a unit: of the same number of `rows` of each side, so many passed, side by side. Units without rows change
    /// nothing.
    pub fn add_unit(&mut self, rows: u64, passed: impl IntoIterator<Item = u64>) {
        let shares = passed.into_iter().map(|passed| (passed, rows));
        for (side, (passed, rows)) in shares.enumerate() {
            self.add(side, passed, rows);
        }
    }

    /// Adds `passed / rows` to the score of a side.
    pub fn add(&mut self, side: usize, passed: u64, rows: u64) {
        if rows == 0 {
            return;
        }
        self.give_denominator(i128::from(rows));
        let share = i128::from(passed) * self.denominator / i128::from(rows);
        if let Some(numerator) = self.numerators.get_mut(side) {
            *numerator = numerator.saturating_add(share);
        }
    }

    /// Makes the denominator a multiple of `rows`.
    fn give_denominator(&mut self, rows: i128) {
        let factor = rows / gcd(self.denominator, rows);
        if factor == 1 {
            return;
        }
        // Far more than any numerator needs. Scores beyond are rounded: the normal form is used for them.
        let scaled = self.denominator.checked_mul(factor);
        match scaled.filter(|scaled| *scaled <= 1 << 80) {
            Some(scaled) => {
                self.numerators.iter_mut().for_each(|n| *n *= factor);
                self.denominator = scaled;
            }
            None => {
                for numerator in &mut self.numerators {
                    let whole = *numerator / self.denominator;
                    let rest = *numerator % self.denominator;
                    *numerator = whole * FINE + rest * FINE / self.denominator;
                }
                self.denominator = FINE;
            }
        }
    }

    /// Each side's score less the mean of the others, times `denominator * (sides - 1)`.
    fn contrasts(&self) -> (Vec<i128>, i128) {
        let sides = i128::try_from(self.numerators.len()).unwrap_or(i128::MAX);
        let sum: i128 = self.numerators.iter().sum();
        let contrasts = self.numerators.iter().map(|score| sides * score - sum);
        (contrasts.collect(), self.denominator * (sides - 1))
    }
}

/// Whether the named side of the blocks differs from the others: see the module's text. The test is exact where the
/// number of sums allows it.
#[must_use]
pub fn interchange_test(blocks: &[Block]) -> InterchangeTest {
    let differing: Vec<(usize, Vec<i128>, i128)> = blocks
        .iter()
        .filter(|block| block.numerators.iter().any(|n| *n != block.numerators[0]))
        .map(|block| {
            let (contrasts, denominator) = block.contrasts();
            let common = contrasts.iter().fold(denominator, |d, c| gcd(d, *c));
            let contrasts = contrasts.iter().map(|c| c / common).collect();
            (block.named, contrasts, denominator / common)
        })
        .collect();
    let blocks_that_differ = differing.iter().fold(0, |count, _| count + 1);
    if blocks_that_differ == 0 {
        return InterchangeTest {
            p_value: 1.0,
            test: DifferenceTest::NoneDiffer,
            blocks_that_differ,
            statistic: 0.0,
            attainable: Attainable::These(vec![1.0]),
        };
    }
    let of_test = |(p_value, test, statistic, attainable): (f64, _, _, _)| InterchangeTest {
        p_value: rounded(p_value.min(1.0)),
        test,
        blocks_that_differ,
        statistic,
        attainable,
    };
    let Some(denominator) = common_denominator(&differing) else {
        return of_test(with_shares(&differing));
    };
    let blocks: Vec<WholeBlock> = differing
        .into_iter()
        .map(|(named, contrasts, own)| {
            let scale = denominator / own;
            let contrasts = contrasts.into_iter().map(|c| c * scale).collect();
            WholeBlock { named, contrasts }
        })
        .collect();
    of_test(with_whole_numbers(&blocks, denominator))
}

/// A block whose scores are whole numbers.
struct WholeBlock {
    named: usize,
    contrasts: Vec<i128>,
}

impl WholeBlock {
    fn least(&self) -> i128 {
        self.contrasts.iter().copied().min().unwrap_or(0)
    }

    fn most(&self) -> i128 {
        self.contrasts.iter().copied().max().unwrap_or(0)
    }
}

type Found = (f64, DifferenceTest, f64, Attainable);

/// The least common multiple of the blocks' denominators; `None` above [`LARGEST_DENOMINATOR`].
fn common_denominator(blocks: &[(usize, Vec<i128>, i128)]) -> Option<i128> {
    let small = |number: &i128| *number <= LARGEST_DENOMINATOR;
    let own = blocks.iter().map(|(_, _, denominator)| *denominator);
    own.into_iter().try_fold(1, |common, own| {
        Some(own)
            .filter(small)
            .map(|own| common / gcd(common, own) * own)
            .filter(small)
    })
}

/// The normal form for scores without a small common denominator.
fn with_shares(blocks: &[(usize, Vec<i128>, i128)]) -> Found {
    let share = |contrast: i128, denominator: i128| ratio(contrast, denominator);
    let named = blocks
        .iter()
        .map(|(named, contrasts, own)| share(contrasts[*named], *own));
    let sum: f64 = named.sum();
    let squares = blocks.iter().map(|(_, contrasts, own)| {
        let squares = contrasts.iter().map(|c| share(*c, *own).powi(2));
        squares.sum::<f64>() / size(contrasts)
    });
    let p = normal(sum.abs(), squares.sum());
    (p, DifferenceTest::Normal, sum, Attainable::Any)
}

fn with_whole_numbers(blocks: &[WholeBlock], denominator: i128) -> Found {
    let apart = |block: &WholeBlock| {
        let least = block.least();
        block
            .contrasts
            .iter()
            .fold(0, |step, c| gcd(step, c - least))
    };
    let step = blocks.iter().fold(0, |step, block| gcd(step, apart(block)));
    let sum: i128 = blocks
        .iter()
        .map(|block| block.contrasts[block.named])
        .sum();
    let statistic = ratio(sum, denominator);
    let sums: i128 = blocks.iter().map(|b| (b.most() - b.least()) / step).sum();
    let sides: usize = blocks.iter().map(|block| block.contrasts.len()).sum();
    let steps = sums.unsigned_abs().saturating_mul(sides as u128);
    if steps <= MOST_STEPS {
        let (p, attainable) = exact(blocks, step, sum.abs());
        let attainable = Attainable::These(attainable);
        return (p, DifferenceTest::Exact, statistic, attainable);
    }
    let squares = blocks.iter().map(|block| {
        let squares = block.contrasts.iter().map(|c| ratio(c * c, 1));
        squares.sum::<f64>() / size(&block.contrasts)
    });
    let beyond = (ratio(sum.abs(), 1) - ratio(step, 1) / 2.0).max(0.0);
    let p = normal(beyond, squares.sum());
    (p, DifferenceTest::Normal, statistic, Attainable::Any)
}

/// The two-sided chance of a sum of this variance at least so far from 0.
fn normal(far: f64, variance: f64) -> f64 {
    libm::erfc(far / (2.0 * variance).sqrt())
}

/// The chance of a sum at least `far` from 0, and all such chances that the blocks allow, rising.
fn exact(blocks: &[WholeBlock], step: i128, far: i128) -> (f64, Vec<f64>) {
    let chances = chances_of_sums(blocks, step);
    let least: i128 = blocks.iter().map(WholeBlock::least).sum();
    let sum_at = |place: usize| least + step * i128::try_from(place).unwrap_or(i128::MAX);
    let (mut low, mut high) = (0, chances.len() - 1);
    let (mut p, mut total, mut attainable) = (0.0, 0.0, Vec::new());
    // From both ends inwards: the sums farthest from 0 first.
    loop {
        let (below, above) = (sum_at(low).abs(), sum_at(high).abs());
        let distance = below.max(above);
        let before = total;
        let is_last = low == high;
        if below == distance {
            total += chances[low];
            low += 1;
        }
        if above == distance && !is_last {
            total += chances[high];
            high = high.saturating_sub(1);
        }
        if total > before {
            attainable.push(total);
        }
        if distance >= far {
            p = total;
        }
        if is_last || low > high {
            break;
        }
    }
    if let Some(last) = attainable.last_mut() {
        *last = 1.0;
    }
    (p, attainable)
}

/// The chance of each sum, from the least one on in steps of `step`, where each side of a block is as likely.
fn chances_of_sums(blocks: &[WholeBlock], step: i128) -> Vec<f64> {
    let mut chances = vec![1.0];
    let mut next = Vec::new();
    for block in blocks {
        let least = block.least();
        let place = |contrast: i128| usize::try_from((contrast - least) / step).unwrap_or(0);
        next.clear();
        next.resize(chances.len() + place(block.most()), 0.0);
        let share = 1.0 / size(&block.contrasts);
        for contrast in &block.contrasts {
            let moved = &mut next[place(*contrast)..];
            for (sum, chance) in moved.iter_mut().zip(&chances) {
                *sum += chance * share;
            }
        }
        std::mem::swap(&mut chances, &mut next);
    }
    chances
}

#[expect(clippy::cast_precision_loss, reason = "sums of scores")]
fn ratio(numerator: i128, denominator: i128) -> f64 {
    numerator as f64 / denominator as f64
}

#[expect(clippy::cast_precision_loss, reason = "the sides of a block")]
fn size(sides: &[i128]) -> f64 {
    sides.len() as f64
}

fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(scores: &[(u64, u64)], named: usize) -> Block {
        let mut block = Block::new(scores.len(), named);
        for (side, (passed, rows)) in scores.iter().enumerate() {
            block.add(side, *passed, *rows);
        }
        block
    }

    #[test]
    fn p_values_are_those_counted_by_hand() {
        // Six scenarios differ in one direction: 2 of the 64 ways are as far from 0.
        let six = vec![block(&[(1, 1), (0, 1)], 0); 6];
        let found = interchange_test(&six);
        assert_eq!(
            (found.p_value, found.test),
            (1.0 / 32.0, DifferenceTest::Exact)
        );
        // Three values, one of which fails in two scenarios: 1 of 9 ways, and a sum of 1/2 three ways as far.
        let two = vec![block(&[(0, 1), (1, 1), (1, 1)], 0); 2];
        let found = interchange_test(&two);
        assert_eq!(found.statistic, -2.0);
        assert!((found.p_value - 1.0 / 9.0).abs() < 1e-12);
        // 2, 1/2 (4 of 9 ways) and 1 (4 of 9 ways: twice one half) are the sums.
        let Attainable::These(attainable) = found.attainable else {
            panic!("exact tests have a list");
        };
        let expected = [1.0 / 9.0, 5.0 / 9.0, 1.0];
        assert_eq!(attainable.len(), expected.len(), "{attainable:?}");
        for (ours, expected) in attainable.iter().zip(expected) {
            assert!((ours - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn scores_with_denominators_beyond_all_bounds_use_the_normal_form() {
        let mut wild = Block::new(2, 0);
        for rows in 2..200 {
            wild.add_unit(rows, [rows - 1, 1]);
        }
        let found = interchange_test(&vec![wild; 4]);
        assert_eq!(found.test, DifferenceTest::Normal);
        let expected: f64 = (2..200)
            .map(|rows| f64::from(rows - 2) / f64::from(rows))
            .sum();
        assert!((found.statistic / 4.0 - expected).abs() < 1e-6, "{found:?}");
    }
}
