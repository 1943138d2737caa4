//! Whether the test of two targets shows a difference, for one draw of the differences of all scenarios.

use super::shares::count;

/// Up to this many differing scenarios the chance is exact.
const MOST_EXACT: usize = 60;

/// The differences of one draw, counted by their size, and whether they say that the first side is better.
pub(super) struct SignFlips {
    /// p-values up to this show a difference.
    level: f64,
    /// The number of scenarios with a difference of this size; the place 0 is unused.
    sizes: Vec<usize>,
    sum: i64,
    /// The number of ways to flip signs, by the size of what is flipped: kept for its memory.
    ways: Vec<f64>,
}

impl SignFlips {
    /// For differences from -`rows` to `rows`.
    pub(super) fn new(level: f64, rows: usize) -> Self {
        Self {
            level,
            sizes: vec![0; rows + 1],
            sum: 0,
            ways: Vec::new(),
        }
    }

    /// Drops the last draw.
    pub(super) fn clear(&mut self) {
        self.sizes.fill(0);
        self.sum = 0;
    }

    /// Adds the difference of one scenario, by its place: 0 is -`rows`.
    pub(super) fn add(&mut self, place: usize) {
        let rows = self.sizes.len() - 1;
        self.sizes[place.abs_diff(rows)] += 1;
        self.sum += signed(place) - signed(rows);
    }

    /// Whether the sum is above 0 and the p-value low enough.
    pub(super) fn shows(&mut self) -> bool {
        if self.sum <= 0 {
            return false;
        }
        let sizes = self
            .sizes
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(_, n)| **n > 0);
        let step = sizes.clone().fold(0, |step, (size, _)| gcd(step, size));
        let (mut differ, mut total, mut squares) = (0, 0, 0.0);
        for (size, n) in sizes {
            let size = size / step;
            differ += n;
            total += n * size;
            squares += count(*n) * count(size) * count(size);
        }
        let sum = usize::try_from(self.sum).unwrap_or(0) / step;
        if self.bound(sum, squares) {
            return true;
        }
        let p = if differ <= MOST_EXACT {
            self.exact(step, differ, (total - sum) / 2)
        } else {
            // Half a step: sums of signs are two units apart.
            libm::erfc((count(sum) - 1.0) / (2.0 * squares).sqrt())
        };
        p <= self.level
    }

    /// Hoeffding's bound of the exact p-value: below the level, nothing needs to be counted.
    fn bound(&self, sum: usize, squares: f64) -> bool {
        2.0 * (-count(sum) * count(sum) / (2.0 * squares)).exp() <= self.level
    }

    /// The chance that the sum of `differ` differences with random signs is as far from 0: twice the share of the ways to
    /// flip signs in which those flipped have a total size of at most `least`, in units of `step`.
    fn exact(&mut self, step: usize, differ: usize, least: usize) -> f64 {
        self.ways.clear();
        self.ways.resize(least + 1, 0.0);
        self.ways[0] = 1.0;
        for (size, n) in self.sizes.iter().enumerate().skip(1) {
            let size = size / step;
            for _ in 0..*n {
                for flipped in (size..=least).rev() {
                    self.ways[flipped] += self.ways[flipped - size];
                }
            }
        }
        let ways: f64 = self.ways.iter().sum();
        2.0 * ways * 0.5_f64.powi(i32::try_from(differ).unwrap_or(i32::MAX))
    }
}

/// The greatest common divisor.
fn gcd(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shows(level: f64, rows: usize, differences: &[i64]) -> bool {
        let mut flips = SignFlips::new(level, rows);
        for difference in differences {
            flips.add(usize::try_from(difference + signed(rows)).unwrap());
        }
        flips.shows()
    }

    #[test]
    fn six_equal_differences_have_a_p_of_one_in_32() {
        assert!(shows(0.05, 2, &[2; 6]));
        assert!(shows(0.031_25, 2, &[2; 6]));
        assert!(!shows(0.031_24, 2, &[2; 6]));
        assert!(!shows(0.05, 2, &[2; 5]));
        assert!(!shows(0.05, 2, &[-2; 6]));
        assert!(!shows(0.05, 2, &[0; 6]));
    }

    #[test]
    fn p_is_the_share_of_all_signs() {
        // Of 2^7 signs of 1, 1, 2, 2, 3, 3, 3 these reach 13 or more: all, and those with one 1 flipped; and both ends.
        let differences = [1, -1, 2, 2, 3, 3, 3];
        assert!(shows(2.0 * 3.0 / 128.0, 3, &differences));
        assert!(!shows(2.0 * 3.0 / 128.0 - 1e-9, 3, &differences));
    }

    #[test]
    fn above_sixty_differences_the_normal_form_decides() {
        let differences = [&[1_i64; 40][..], &[-1; 22]].concat();
        let p = libm::erfc(17.0 / (2.0 * 62.0_f64).sqrt());
        assert!(shows(p + 1e-12, 1, &differences));
        assert!(!shows(p - 1e-12, 1, &differences));
    }
}
