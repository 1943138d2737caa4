//! Sums over the rows of one base scenario.

/// The rows of one base scenario: their number, the sum of their values (for verdicts, the number of passed rows), and
/// the sum of the squares of their values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cluster {
    rows: f64,
    sum: f64,
    squares: f64,
}

impl Cluster {
    /// A cluster with `passed` of `scored` rows passed. `passed` is limited to `scored`.
    #[must_use]
    pub fn of_verdicts(passed: u64, scored: u64) -> Self {
        let passed = float(passed.min(scored));
        Self {
            rows: float(scored),
            sum: passed,
            squares: passed,
        }
    }

    /// Adds a row with a value from 0 to 1 instead of a verdict.
    pub fn add_value(&mut self, value: f64) {
        self.rows += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    /// Adds the rows of another cluster of the same base scenario.
    pub fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> f64 {
        self.rows
    }

    /// The sum of the rows' values.
    pub(crate) fn sum(&self) -> f64 {
        self.sum
    }

    pub(crate) fn mean(&self) -> f64 {
        self.sum / self.rows
    }

    /// The sum of the squares of the distances from the mean.
    pub(crate) fn squares_within(&self) -> f64 {
        (self.squares - self.sum * self.mean()).max(0.0)
    }
}

#[expect(clippy::cast_precision_loss, reason = "no run has 2^53 rows")]
pub(crate) fn float(n: u64) -> f64 {
    n as f64
}

/// The whole number of rows in a floating-point sum.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sums of numbers of rows, from 0 to 2^53"
)]
pub(crate) fn whole(n: f64) -> u64 {
    n as u64
}
