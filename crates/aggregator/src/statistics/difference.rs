//! Compares two sides on the same scenarios.

use super::{
    Verdicts,
    clusters::{Cluster, float, whole},
    interchange::{Block, InterchangeTest, interchange_test},
};
use crate::interval::{clustered::Sums, rounded};

/// Two sides differ if the corrected p-value is at most this.
pub(super) const DIFFER: f64 = schema::statistics::DifferenceStatistics::DIFFER;
/// A difference of means nearer to 0 than this has no sign: it is the rounding error of sums.
const NO_SIGN: f64 = 1e-12;

/// One metric of one scenario, from both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairedUnit<'a> {
    /// The base scenario. Units of one base are adjacent.
    pub base: &'a str,
    /// The first side's verdicts.
    pub a: &'a Verdicts,
    /// The second side's verdicts.
    pub b: &'a Verdicts,
}

impl PairedUnit<'_> {
    /// The smaller number of verdicts: the test uses so many of each side.
    fn rows(&self) -> u64 {
        self.a.scored().min(self.b.scored())
    }
}

/// The difference between two sides over the units that both have, with its 95% interval. Neither is corrected for
/// other comparisons: [`corrected_p_values`](super::corrected_p_values) corrects the p-values of a family, and
/// [`interval`](Self::interval) then gives the interval to show.
///
/// The interval joins the exact limits of both sides at their effective rows, with the correlation over base scenarios
/// (Newcombe's method for paired rates).
#[derive(Clone, Debug, PartialEq)]
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
    /// Lower bound, -1 to 1, before any correction.
    pub lower: f64,
    /// Upper bound, -1 to 1, before any correction.
    pub upper: f64,
    /// The effective number of independent rows of the first side.
    pub effective_rows_a: f64,
    /// The effective number of independent rows of the second side.
    pub effective_rows_b: f64,
    /// The correlation between both sides over scenarios, -1 to 1, shrunk towards 0 if few scenarios differ.
    pub correlation: f64,
    /// The larger intra-class correlation that the limits of the two sides use; 1 where it is unknown.
    pub icc: f64,
    /// The mean number of rows of a base scenario that the test compares, rounded; at least 1.
    pub rows_each: u64,
    /// The interchange test. `None` if the sides of a unit have unequal numbers of verdicts, and which came first is
    /// unknown.
    pub test: Option<InterchangeTest>,
}

impl Difference {
    /// The interval to show beside this corrected p-value: 0 is inside or an end where no difference is shown, and at
    /// most an end where one is. Without a p-value it is the interval as it is.
    #[must_use]
    pub fn interval(&self, p_corrected: Option<f64>) -> (f64, f64) {
        let (lower, upper) = (self.lower, self.upper);
        match p_corrected {
            None => (lower, upper),
            Some(p) if p > DIFFER => (lower.min(0.0), upper.max(0.0)),
            Some(_) if self.difference > 0.0 => (lower.max(0.0), upper),
            Some(_) => (lower, upper.min(0.0)),
        }
    }
}

/// The difference between two sides; `None` if no unit has a verdict from both.
#[must_use]
pub fn paired_difference(units: &[PairedUnit<'_>]) -> Option<Difference> {
    let mut estimate = Estimate::default();
    let mut blocks = Some(Vec::new());
    for units in units.chunk_by(|one, next| one.base == next.base) {
        let mut block = Block::new(2, 0);
        let mut is_in_order = true;
        for unit in units {
            if unit.rows() == 0 {
                estimate.unmatched += u64::from(unit.a.scored() + unit.b.scored() > 0);
                continue;
            }
            estimate.push(&EstimatedUnit {
                base: unit.base,
                a: unit.a.mean(),
                b: unit.b.mean(),
                rows_a: unit.a.cluster(),
                rows_b: unit.b.cluster(),
                rows: unit.rows(),
            });
            is_in_order &= add_unit(&mut block, unit);
        }
        match (&mut blocks, is_in_order) {
            (Some(blocks), true) => blocks.push(block),
            _ => blocks = None,
        }
    }
    let test = blocks.map(|blocks| interchange_test(&blocks));
    estimate.difference(test)
}

/// Adds the first rows of a unit to its block; false if they are unknown.
fn add_unit(block: &mut Block, unit: &PairedUnit<'_>) -> bool {
    let is_equal = unit.a.scored() == unit.b.scored();
    if !(is_equal || unit.a.is_ordered() && unit.b.is_ordered()) {
        return false;
    }
    let rows = unit.rows();
    let first = |side: &Verdicts| side.passed_of_first(rows).unwrap_or_default();
    block.add_unit(rows, [first(unit.a), first(unit.b)]);
    true
}

/// One unit of an estimate.
pub(super) struct EstimatedUnit<'a> {
    pub(super) base: &'a str,
    /// The rate of the first side.
    pub(super) a: f64,
    /// The rate of the second side.
    pub(super) b: f64,
    pub(super) rows_a: Cluster,
    pub(super) rows_b: Cluster,
    /// The smallest number of verdicts of a side.
    pub(super) rows: u64,
}

/// Sums over units, by base scenario.
#[derive(Default)]
pub(super) struct Estimate<'a> {
    /// Units with a verdict from one side only.
    pub(super) unmatched: u64,
    last_base: Option<&'a str>,
    units: f64,
    rows: u64,
    rows_a: Vec<Cluster>,
    rows_b: Vec<Cluster>,
    /// For each base scenario: its units, and the sums of their rates of both sides.
    sums: Vec<[f64; 3]>,
}

impl<'a> Estimate<'a> {
    /// Adds a unit. Units of one base are adjacent.
    pub(super) fn push(&mut self, unit: &EstimatedUnit<'a>) {
        let added = [1.0, unit.a, unit.b];
        let last = (
            self.rows_a.last_mut(),
            self.rows_b.last_mut(),
            self.sums.last_mut(),
        );
        match last {
            (Some(rows_a), Some(rows_b), Some(sums)) if self.last_base == Some(unit.base) => {
                rows_a.add(&unit.rows_a);
                rows_b.add(&unit.rows_b);
                sums.iter_mut().zip(added).for_each(|(sum, x)| *sum += x);
            }
            _ => {
                self.rows_a.push(unit.rows_a);
                self.rows_b.push(unit.rows_b);
                self.sums.push(added);
            }
        }
        self.last_base = Some(unit.base);
        self.units += 1.0;
        self.rows += unit.rows;
    }

    /// The difference of the units; `None` without units.
    pub(super) fn difference(&self, test: Option<InterchangeTest>) -> Option<Difference> {
        let side_a = Sums::of(&self.rows_a)?;
        let side_b = Sums::of(&self.rows_b)?;
        let a = self.sums.iter().map(|[_, a, _]| a).sum::<f64>() / self.units;
        let b = self.sums.iter().map(|[_, _, b]| b).sum::<f64>() / self.units;
        let correlation = self.correlation(a, b, side_a.informative.min(side_b.informative));
        let (lower_a, upper_a) = side_a.limits(a);
        let (lower_b, upper_b) = side_b.limits(b);
        let difference = a - b;
        let distance = |x: f64, y: f64| (x * x + y * y - 2.0 * correlation * x * y).max(0.0).sqrt();
        let scenarios = side_a.scenarios();
        Some(Difference {
            units: whole(self.units),
            unmatched: self.unmatched,
            scenarios: whole(scenarios),
            a,
            b,
            difference,
            lower: rounded((difference - distance(a - lower_a, upper_b - b)).clamp(-1.0, 1.0)),
            upper: rounded((difference + distance(upper_a - a, b - lower_b)).clamp(-1.0, 1.0)),
            effective_rows_a: side_a.effective_rows(),
            effective_rows_b: side_b.effective_rows(),
            correlation,
            icc: side_a.icc_drawn_to_one().max(side_b.icc_drawn_to_one()),
            rows_each: whole((float(self.rows) / scenarios + 0.5).floor()).max(1),
            test: test.map(|test| of_one_sign(test, difference)),
        })
    }

    /// The correlation over base scenarios, shrunk towards 0 if only `informative` of them differ from the rest.
    fn correlation(&self, a: f64, b: f64, informative: f64) -> f64 {
        let from_means = self.sums.iter().map(|[n, x, y]| (x - n * a, y - n * b));
        let zero = (0.0, 0.0, 0.0);
        let (products, squares_a, squares_b) = from_means.fold(zero, |(st, ss, tt), (s, t)| {
            (st + s * t, ss + s * s, tt + t * t)
        });
        let spread = squares_a * squares_b;
        if spread <= 1e-18 {
            return 0.0;
        }
        products / spread.sqrt() * informative / (informative + 2.0)
    }
}

/// Where the test's rows point the other way than all rows do, which is possible where it uses fewer, they show nothing.
fn of_one_sign(mut test: InterchangeTest, difference: f64) -> InterchangeTest {
    let is_same = difference.abs() > NO_SIGN && difference * test.statistic > 0.0;
    if !is_same {
        test.p_value = 1.0;
    }
    test
}
