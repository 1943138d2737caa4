//! The regularized incomplete beta function and its inverse: quantiles of the binomial and beta distributions.
//!
//! Own code, because the libraries that were measured miss a relative accuracy of 1e-9 for few failures in many samples:
//! their logarithms of large factorials cancel. This code never computes the cancelling part (Loader's saddle-point
//! form), and it halves a bracket down to floating-point precision, which always ends.

use std::f64::consts::PI;

/// The probability of success at which `successes` or more of `trials` occur with the probability `tail`: the quantile
/// `tail` of Beta(`successes`, `trials - successes + 1`). 0 < `successes` <= `trials`, both may be fractional; 0 < `tail`
/// < 1.
pub(crate) fn chance_of_at_least(successes: f64, trials: f64, tail: f64) -> f64 {
    if successes >= trials {
        return (tail.ln() / trials).exp();
    }
    let b = trials - successes + 1.0;
    halve(|x| incomplete_beta(successes, b, x, 1.0 - x) > tail)
}

/// The probability of success at which `successes` or fewer of `trials` occur with the probability `tail`: the quantile
/// `1 - tail` of Beta(`successes + 1`, `trials - successes`). 0 <= `successes` < `trials`, both may be fractional; 0 <
/// `tail` < 1.
pub(crate) fn chance_of_at_most(successes: f64, trials: f64, tail: f64) -> f64 {
    if successes <= 0.0 {
        return -(tail.ln() / trials).exp_m1();
    }
    // At most k successes means at least n - k failures.
    let (a, b) = (trials - successes, successes + 1.0);
    halve(|x| incomplete_beta(a, b, 1.0 - x, x) < tail)
}

/// The point between 0 and 1 where `right_of_it` changes from false to true, to floating-point precision.
fn halve(right_of_it: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return middle;
        }
        if right_of_it(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
}

/// The distribution Beta(a, b). What depends on `a` and `b` alone is computed once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beta {
    a: f64,
    b: f64,
    /// What Stirling's approximation leaves of `ln(1 / (a B(a, b)))`.
    stirling: f64,
    scale: f64,
}

impl Beta {
    /// `a` and `b` are above 0.
    pub(crate) fn new(a: f64, b: f64) -> Self {
        let n = a + b;
        Self {
            a,
            b,
            stirling: stirling_error(n) - stirling_error(a) - stirling_error(b),
            scale: (n / (2.0 * PI * a * b)).sqrt() * b / n,
        }
    }

    /// `x^a y^b / (a B(a, b))`, computed from the probability of `a` successes in `a + b` trials.
    fn density(&self, x: f64, y: f64) -> f64 {
        let (a, b) = (self.a, self.b);
        let n = a + b;
        (self.stirling - deviance(a, n * x) - deviance(b, n * y)).exp() * self.scale
    }

    /// The probabilities of less than `x` and of more, and the density times `x y`. 0 < `x` < 1. `x` and `y` sum to 1; both
    /// are given, so that neither loses digits.
    pub(crate) fn tails(&self, x: f64, y: f64) -> (f64, f64, f64) {
        let (a, b) = (self.a, self.b);
        let front = self.density(x, y);
        if x < (a + 1.0) / (a + b + 2.0) {
            let lower = front * fraction(a, b, x);
            (lower, 1.0 - lower, front * a)
        } else {
            let upper = front * a * fraction(b, a, y) / b;
            (1.0 - upper, upper, front * a)
        }
    }
}

/// I(x; a, b), for `a` and `b` above 0 and 0 < `x` < 1. `x` and `y` sum to 1; both are given, so that neither loses
/// digits.
pub(crate) fn incomplete_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    Beta::new(a, b).tails(x, y).0
}

/// `ln n!` minus Stirling's approximation `ln(sqrt(2 pi n) (n/e)^n)`, for an `n` above 0 that may be fractional.
fn stirling_error(mut n: f64) -> f64 {
    // The series is accurate from 16 on; below, each step up is known exactly.
    let mut steps = 0.0;
    while n < 16.0 {
        steps += (n + 0.5) * (1.0 / n).ln_1p() - 1.0;
        n += 1.0;
    }
    let square = n * n;
    let series = 1.0 / 1680.0 - 1.0 / (1188.0 * square);
    let series = 1.0 / 1260.0 - series / square;
    let series = 1.0 / 360.0 - series / square;
    (1.0 / 12.0 - series / square) / n + steps
}

/// `x ln(x / mean) + mean - x`, accurate even if `x` and `mean` are close and the terms cancel.
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    if difference.abs() >= 0.1 * (x + mean) {
        return x * (x / mean).ln() - difference;
    }
    let v = difference / (x + mean);
    let mut sum = difference * v;
    let mut term = 2.0 * x * v;
    let mut odd = 1.0;
    loop {
        term *= v * v;
        odd += 2.0;
        let next = sum + term / odd;
        if next == sum {
            return sum;
        }
        sum = next;
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method. It converges within a multiple of the
/// square root of the larger of `a` and `b` steps.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let steady = |value: f64| if value.abs() < TINY { TINY } else { value };
    let most = 1000.0 + 20.0 * a.max(b).sqrt();
    let mut c = 1.0;
    let mut d = 1.0 / steady(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    let mut m = 1.0;
    while m < most {
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / steady(1.0 + even * d);
        c = steady(1.0 + even / c);
        result *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / steady(1.0 + odd * d);
        c = steady(1.0 + odd / c);
        let change = d * c;
        result *= change;
        if (change - 1.0).abs() <= f64::EPSILON {
            break;
        }
        m += 1.0;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_sums_of_chances() {
        // 3 or more of 5 with the probability 0.3: 10 * 0.3^3 0.7^2 + 5 * 0.3^4 0.7 + 0.3^5.
        let tail = incomplete_beta(3.0, 3.0, 0.3, 0.7);
        assert!((tail - 0.16308).abs() < 1e-15, "{tail}");
        let tail = incomplete_beta(1.0, 5.0, 0.9, 0.1);
        assert!((tail - (1.0 - 1e-5)).abs() < 1e-15, "{tail}");
    }

    #[test]
    fn the_chance_found_gives_the_tail_back() {
        for n in [1.3, 2.0, 7.0, 30.0, 61.7, 1000.0, 54321.0, 1e6, 1e9] {
            for share in [1e-6, 0.01, 0.3, 0.5, 0.77, 0.999] {
                let k = n * share;
                let low = chance_of_at_least(k, n, 0.025);
                let high = chance_of_at_most(k, n, 0.025);
                assert!(low < high && high <= 1.0, "{k} of {n}");
                let back = incomplete_beta(k, n - k + 1.0, low, 1.0 - low);
                // With very few expected successes the bound is below the smallest number.
                assert!(
                    low < 1e-300 || (back / 0.025 - 1.0).abs() < 1e-8,
                    "{k} of {n}: {back}"
                );
            }
        }
    }
}
