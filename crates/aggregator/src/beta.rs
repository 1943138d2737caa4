//! Tails of the binomial distribution, and the probability that gives a tail of a wanted size.
//!
//! Written here because the libraries that were measured miss 1e-9 relative for few failures in many samples: their
//! logarithms of large factorials cancel. Here the cancelling part is never computed (Loader's saddle-point form), and a
//! bracket is halved until it is as narrow as a number can be, which cannot run away.

use std::f64::consts::PI;

/// The chance of success at which `successes` or more of `trials` come up with a chance of `tail`; 0 < `successes` <=
/// `trials`, 0 < `tail` < 1/2.
pub(crate) fn chance_of_at_least(successes: f64, trials: f64, tail: f64) -> f64 {
    if successes >= trials {
        return (tail.ln() / trials).exp();
    }
    let larger = |x: f64| upper_tail(successes, trials, x, 1.0 - x) > tail;
    halve(0.0, successes / trials, larger)
}

/// The chance of success at which `successes` or fewer of `trials` come up with a chance of `tail`; 0 <= `successes` <
/// `trials`, 0 < `tail` < 1/2.
pub(crate) fn chance_of_at_most(successes: f64, trials: f64, tail: f64) -> f64 {
    if successes <= 0.0 {
        return -(tail.ln() / trials).exp_m1();
    }
    // At most k successes are at least n - k failures.
    let smaller = |x: f64| upper_tail(trials - successes, trials, 1.0 - x, x) < tail;
    halve(successes / trials, 1.0, smaller)
}

/// Where `right_of_it` turns from false to true between `low` and `high`, as narrowly as numbers tell.
fn halve(mut low: f64, mut high: f64, right_of_it: impl Fn(f64) -> bool) -> f64 {
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

/// The chance of `successes` or more of `trials`, 0 < `successes` < `trials`. `chance` and `other` add up to 1; both are
/// given, so that neither is rounded away.
fn upper_tail(successes: f64, trials: f64, chance: f64, other: f64) -> f64 {
    // It is the regularized incomplete beta function I(chance; a, b).
    let (a, b) = (successes, trials - successes + 1.0);
    let front = a * density(a, b, chance, other);
    if chance < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, chance) / a
    } else {
        1.0 - front * fraction(b, a, other) / b
    }
}

/// `x^a y^b / (a B(a, b))`, by way of the chance of `a` successes in `a + b` trials.
fn density(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let n = a + b;
    let exponent = stirling_error(n)
        - stirling_error(a)
        - stirling_error(b)
        - deviance(a, n * x)
        - deviance(b, n * y);
    let chance = exponent.exp() * (n / (2.0 * PI * a * b)).sqrt();
    chance * b / n
}

/// `ln n!` less Stirling's approximation `ln(sqrt(2 pi n) (n/e)^n)`, for a whole `n` of 1 or more.
fn stirling_error(n: f64) -> f64 {
    if n <= 15.0 {
        let mut factorial = 1.0;
        let mut factor = 2.0;
        while factor <= n {
            factorial *= factor;
            factor += 1.0;
        }
        return f64::ln(factorial) - 0.5 * (2.0 * PI * n).ln() - n * n.ln() + n;
    }
    let square = n * n;
    let series = 1.0 / 1680.0 - 1.0 / (1188.0 * square);
    let series = 1.0 / 1260.0 - series / square;
    let series = 1.0 / 360.0 - series / square;
    (1.0 / 12.0 - series / square) / n
}

/// `x ln(x / mean) + mean - x`, also where `x` and `mean` are close and the terms cancel.
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

/// The continued fraction of the incomplete beta function, by Lentz's method. It comes near within some times the square
/// root of the larger of `a` and `b` steps.
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
        // 3 or more of 5 at a chance of 0.3: 10 * 0.3^3 0.7^2 + 5 * 0.3^4 0.7 + 0.3^5.
        let tail = upper_tail(3.0, 5.0, 0.3, 0.7);
        assert!((tail - 0.16308).abs() < 1e-15, "{tail}");
        let tail = upper_tail(1.0, 5.0, 0.9, 0.1);
        assert!((tail - (1.0 - 1e-5)).abs() < 1e-15, "{tail}");
    }

    #[test]
    fn the_chance_found_gives_the_tail_back() {
        for n in [2.0, 7.0, 30.0, 1000.0, 54321.0, 1e6, 1e9] {
            for share in [0.0, 1e-6, 0.01, 0.3, 0.5, 0.77, 0.999, 1.0] {
                let k = f64::round(n * share).clamp(1.0, n - 1.0);
                let low = chance_of_at_least(k, n, 0.025);
                let high = chance_of_at_most(k, n, 0.025);
                assert!(
                    0.0 < low && low < k / n && k / n < high && high < 1.0,
                    "{k} of {n}"
                );
                let back = upper_tail(k, n, low, 1.0 - low);
                assert!((back / 0.025 - 1.0).abs() < 1e-8, "{k} of {n}: {back}");
            }
        }
    }
}
