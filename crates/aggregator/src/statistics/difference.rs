//! Compares two targets, or two runs, on the same scenarios.

use super::{
    TINY,
    clusters::{Cluster, float},
    interval::Sums,
};
use crate::{beta::half_tail, interval::rounded};

/// Up to this many differing scenarios, all combinations of signs are counted.
const EXACT_FLIPS: usize = 16;

/// One metric of one scenario, from both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairedUnit<'a> {
    /// The base scenario. Units of one base are adjacent.
    pub base: &'a str,
    /// The first side's samples.
    pub a: Side,
    /// The second side's samples.
    pub b: Side,
}

/// The samples of one side of a [`PairedUnit`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Side {
    /// Samples that passed.
    pub passed: u64,
    /// Samples with a verdict.
    pub scored: u64,
}

impl Side {
    /// The share that passed; NaN without samples.
    pub(super) fn mean(self) -> f64 {
        float(self.passed) / float(self.scored)
    }
}

/// The test of a p-value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceTest {
    /// No scenario differs: p is 1.
    NoneDiffer,
    /// All differences have the same size: the exact two-sided binomial test (McNemar's).
    ExactBinomial,
    /// All combinations of signs of at most 16 differences were counted.
    ExactSignFlips,
    /// The normal approximation of the sign-flip test.
    Normal,
}

impl DifferenceTest {
    /// The name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoneDiffer => "none differ",
            Self::ExactBinomial => "exact binomial",
            Self::ExactSignFlips => "exact sign flips",
            Self::Normal => "normal",
        }
    }
}

/// The difference between two sides over the units that both have, with its 95% interval.
///
/// The interval combines Wilson's bounds of both sides at their effective rows, using the correlation over base
/// scenarios (Newcombe's method for paired rates). The p-value is that of the sign-flip test on the differences of
/// the base scenarios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Units with a verdict from both sides.
    pub units: u64,
    /// Units with a verdict from one side only.
    pub unmatched: u64,
    /// Base scenarios of the units.
    pub scenarios: u64,
    /// The mean over units of the first side's rate.
    pub a: f64,
    /// The mean over units of the second side's rate.
    pub b: f64,
    /// `a - b`.
    pub difference: f64,
    /// Lower bound, -1 to 1.
    pub lower: f64,
    /// Upper bound, -1 to 1.
    pub upper: f64,
    /// The effective number of independent rows of the first side.
    pub effective_rows_a: f64,
    /// The effective number of independent rows of the second side.
    pub effective_rows_b: f64,
    /// The correlation between both sides over scenarios, -1 to 1, shrunk towards 0 if few scenarios differ.
    pub correlation: f64,
    /// The probability of a difference at least as large if both sides are equal. Not corrected for other
    /// comparisons.
    pub p_value: f64,
    /// The test of `p_value`.
    pub test: DifferenceTest,
}

/// The difference between two sides; `None` if no unit has a verdict from both.
#[must_use]
pub fn paired_difference(units: &[PairedUnit<'_>]) -> Option<Difference> {
    let in_both = |unit: &&PairedUnit<'_>| unit.a.scored > 0 && unit.b.scored > 0;
    let matched: Vec<&PairedUnit<'_>> = units.iter().filter(in_both).collect();
    let in_one = units
        .iter()
        .filter(|unit| (unit.a.scored > 0) != (unit.b.scored > 0));
    let unmatched = in_one.fold(0, |count, _| count + 1);
    let count = matched.iter().fold(0, |count: u64, _| count + 1);
    if count == 0 {
        return None;
    }
    let a = matched.iter().map(|unit| unit.a.mean()).sum::<f64>() / float(count);
    let b = matched.iter().map(|unit| unit.b.mean()).sum::<f64>() / float(count);
    let bases = Bases::of(&matched, a, b);
    let side_a = Sums::of(&bases.a)?;
    let side_b = Sums::of(&bases.b)?;
    let correlation = bases.correlation(side_a.informative.min(side_b.informative));
    let (lower_a, upper_a) = side_a.wilson_bounds(a);
    let (lower_b, upper_b) = side_b.wilson_bounds(b);
    let difference = a - b;
    let distance = |x: f64, y: f64| (x * x + y * y - 2.0 * correlation * x * y).max(0.0).sqrt();
    let (p_value, test) = sign_flips(&bases.differences);
    Some(Difference {
        units: count,
        unmatched,
        scenarios: bases.a.iter().fold(0, |count, _| count + 1),
        a,
        b,
        difference,
        lower: rounded((difference - distance(a - lower_a, upper_b - b)).clamp(-1.0, 1.0)),
        upper: rounded((difference + distance(upper_a - a, b - lower_b)).clamp(-1.0, 1.0)),
        effective_rows_a: side_a.effective_rows(),
        effective_rows_b: side_b.effective_rows(),
        correlation,
        p_value: rounded(p_value),
        test,
    })
}

/// Sums over the units of each base scenario.
#[derive(Default)]
struct Bases {
    a: Vec<Cluster>,
    b: Vec<Cluster>,
    /// S: the deviations of the first side's rates from its mean.
    from_mean_a: Vec<f64>,
    /// T: the same for the second side.
    from_mean_b: Vec<f64>,
    /// D: the first side's rates minus the second's.
    differences: Vec<f64>,
}

impl Bases {
    fn of(units: &[&PairedUnit<'_>], a: f64, b: f64) -> Self {
        let mut bases = Self::default();
        for units in units.chunk_by(|one, next| one.base == next.base) {
            let (mut rows_a, mut rows_b) = (Cluster::default(), Cluster::default());
            let (mut from_mean_a, mut from_mean_b, mut difference) = (0.0, 0.0, 0.0);
            for unit in units {
                rows_a.add(&Cluster::of_verdicts(unit.a.passed, unit.a.scored));
                rows_b.add(&Cluster::of_verdicts(unit.b.passed, unit.b.scored));
                from_mean_a += unit.a.mean() - a;
                from_mean_b += unit.b.mean() - b;
                difference += unit.a.mean() - unit.b.mean();
            }
            bases.a.push(rows_a);
            bases.b.push(rows_b);
            bases.from_mean_a.push(from_mean_a);
            bases.from_mean_b.push(from_mean_b);
            bases.differences.push(difference);
        }
        bases
    }

    /// The correlation over base scenarios, shrunk towards 0 if only `informative` of them differ from the rest.
    fn correlation(&self, informative: f64) -> f64 {
        let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let (a, b) = (&self.from_mean_a, &self.from_mean_b);
        let spread = product(a, a) * product(b, b);
        if spread <= 1e-18 {
            return 0.0;
        }
        product(a, b) / spread.sqrt() * informative / (informative + 2.0)
    }
}

/// The two-sided probability that the sum of `differences` is at least as far from 0 if each sign is random.
fn sign_flips(differences: &[f64]) -> (f64, DifferenceTest) {
    let differ = |difference: &&f64| difference.abs() > TINY;
    let differences: Vec<f64> = differences.iter().filter(differ).copied().collect();
    let Some(first) = differences.first() else {
        return (1.0, DifferenceTest::NoneDiffer);
    };
    let size = first.abs();
    if differences.iter().all(|d| (d.abs() - size).abs() <= TINY) {
        return (binomial(&differences), DifferenceTest::ExactBinomial);
    }
    let sum: f64 = differences.iter().sum();
    if differences.len() <= EXACT_FLIPS {
        let p = share_as_far(&differences, sum.abs());
        return (p, DifferenceTest::ExactSignFlips);
    }
    let squares: f64 = differences.iter().map(|d| d * d).sum();
    let p = libm::erfc(sum.abs() / (2.0 * squares).sqrt());
    (p, DifferenceTest::Normal)
}

/// The exact two-sided test that both signs are equally likely.
fn binomial(differences: &[f64]) -> f64 {
    let trials = differences.iter().fold(0.0, |count, _| count + 1.0);
    let positive = differences.iter().filter(|d| **d > 0.0);
    let positive = positive.fold(0.0, |count, _| count + 1.0);
    let more = f64::max(positive, trials - positive);
    (2.0 * half_tail(more, trials)).min(1.0)
}

/// The share of all combinations of signs whose sum is at least `far` from 0.
fn share_as_far(differences: &[f64], far: f64) -> f64 {
    let all: f64 = differences.iter().map(|d| d.abs()).sum();
    let enough = far - 1e-9 * all;
    let ways = 1_u32 << differences.len();
    let signed_sum = |signs: u32| -> f64 {
        let signed = differences.iter().enumerate();
        let signed = signed.map(|(i, d)| if signs & (1 << i) == 0 { *d } else { -d });
        signed.sum()
    };
    let as_far = (0..ways).filter(|signs| signed_sum(*signs).abs() >= enough);
    let as_far = as_far.fold(0.0, |count, _| count + 1.0);
    as_far / f64::from(ways)
}
