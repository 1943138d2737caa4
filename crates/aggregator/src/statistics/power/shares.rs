//! How a scenario's own pass rate spreads around the rate of a target, and the numbers of passed rows that follow.

use crate::beta::Beta;

/// The number of equally likely shares that stand for the distribution.
pub(super) const SHARES: usize = 200;
/// Below this correlation the shares of all scenarios are one number to within 1e-4.
const NO_SPREAD: f64 = 1e-9;
/// Beyond this logit a share is 0 or 1 to the last bit.
const FAR: f64 = 37.0;

/// The quantiles (i + 1/2) / 200 of the beta distribution with this mean, in which two rows of a scenario have the
/// correlation `icc`. Rising. `rate` and `icc` are from 0 to 1.
pub(super) fn shares(rate: f64, icc: f64) -> [f64; SHARES] {
    if rate <= 0.0 || rate >= 1.0 || icc < NO_SPREAD {
        return [rate.clamp(0.0, 1.0); SHARES];
    }
    let mut shares = [0.0; SHARES];
    if icc >= 1.0 {
        for (share, quantile) in shares.iter_mut().zip(quantiles()) {
            *share = if quantile > 1.0 - rate { 1.0 } else { 0.0 };
        }
        return shares;
    }
    let spread = (1.0 - icc) / icc;
    let (a, b) = (rate * spread, (1.0 - rate) * spread);
    let mut search = Search {
        beta: Beta::new(a, b),
        a,
        b,
        steepness: (a * b / (a + b)).sqrt().max(1.0),
        logit: (rate / (1.0 - rate)).ln(),
    };
    for (share, quantile) in shares.iter_mut().zip(quantiles()) {
        *share = search.share(quantile);
    }
    shares
}

/// The chances whose quantiles stand for a distribution.
fn quantiles() -> impl Iterator<Item = f64> {
    (0_u8..200).map(|i| (f64::from(i) + 0.5) / 200.0)
}

/// A walk through rising quantiles of a beta distribution: each search begins where the last one ended.
struct Search {
    beta: Beta,
    a: f64,
    b: f64,
    /// 1 divided by the standard deviation of the logit, 1 at least.
    steepness: f64,
    /// ln(x / (1 - x)) of the last quantile x.
    logit: f64,
}

impl Search {
    /// The quantile `chance`. Halley's method on the logarithm of the nearer tail: it is concave in the logit, so that the
    /// search cannot leave.
    fn share(&mut self, chance: f64) -> f64 {
        let mut z = self.logit;
        for _ in 0..200 {
            let step = self.step(z, chance);
            z = (z + step).clamp(-FAR, FAR);
            let (x, y) = share_of(z);
            // The error left is of the order of the third power of the step.
            let near = step.abs() * self.steepness < 3e-6 || step.abs() * x * y < 1e-15;
            if near || z.abs() >= FAR && self.beyond(z, chance) {
                break;
            }
        }
        self.logit = z;
        share_of(z).0
    }

    /// Whether the quantile lies further out than `z`, the furthest logit that is looked at.
    fn beyond(&self, z: f64, chance: f64) -> bool {
        let (x, y) = share_of(z);
        let (lower, upper, _) = self.beta.tails(x, y);
        if z < 0.0 {
            lower >= chance
        } else {
            upper >= 1.0 - chance
        }
    }

    /// The distance to the quantile, as far as it can be known from the logit `z`.
    fn step(&self, z: f64, chance: f64) -> f64 {
        let (x, y) = share_of(z);
        let (lower, upper, density) = self.beta.tails(x, y);
        // The derivative of the logarithm of the density, by the logit.
        let slope = self.a * y - self.b * x;
        let (off, first, second) = if chance < 0.5 {
            let first = density / lower;
            ((lower / chance).ln(), first, first * (slope - first))
        } else {
            let first = density / upper;
            let off = (upper / (1.0 - chance)).ln();
            (off, -first, -first * (slope + first))
        };
        let step = -2.0 * off * first / (2.0 * first * first - off * second);
        let newton = -off / first;
        // Far away the curvature says nothing: never against Newton's direction, never beyond its length.
        if step.is_finite() && step * newton >= 0.0 && step.abs() <= newton.abs() {
            step
        } else if newton.is_finite() {
            newton
        } else {
            // A tail that is 0 to the last bit: back towards the middle.
            if lower <= upper { 1.0 } else { -1.0 }
        }
    }
}

/// The share with this logit, and 1 minus it.
fn share_of(logit: f64) -> (f64, f64) {
    let odds = (-logit.abs()).exp();
    let (small, large) = (odds / (1.0 + odds), 1.0 / (1.0 + odds));
    if logit < 0.0 {
        (small, large)
    } else {
        (large, small)
    }
}

/// The chances of 0 to `rows` passed rows in a scenario, for each of its equally likely shares. `rows` is from 1 to 100.
pub(super) struct Counts {
    rows: usize,
    /// `rows` + 1 chances for each share.
    chances: Vec<f64>,
}

impl Counts {
    /// The counts of `rows` rows.
    pub(super) fn new(shares: &[f64; SHARES], rows: usize) -> Self {
        let mut chances = vec![0.0; SHARES * (rows + 1)];
        for (chances, share) in chances.chunks_exact_mut(rows + 1).zip(shares) {
            binomial(chances, *share);
        }
        Self { rows, chances }
    }

    /// The chances of each share.
    pub(super) fn by_share(&self) -> impl Iterator<Item = &[f64]> {
        self.chances.chunks_exact(self.rows + 1)
    }

    /// The chances over all shares.
    pub(super) fn mean(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.rows + 1];
        for chances in self.by_share() {
            for (mean, chance) in mean.iter_mut().zip(chances) {
                *mean += chance;
            }
        }
        for mean in &mut mean {
            *mean /= 200.0;
        }
        mean
    }
}

/// The chances of 0 to `chances.len() - 1` successes with the probability `share`, by ratios from the most likely number.
pub(super) fn binomial(chances: &mut [f64], share: f64) {
    let trials = chances.len().saturating_sub(1);
    chances.fill(0.0);
    if share <= 0.0 || share >= 1.0 {
        let place = if share <= 0.0 { 0 } else { trials };
        if let Some(chance) = chances.get_mut(place) {
            *chance = 1.0;
        }
        return;
    }
    let n = count(trials);
    let odds = share / (1.0 - share);
    let likely = (1..=trials)
        .take_while(|k| (n - count(*k) + 1.0) * odds >= count(*k))
        .count();
    let mut chance = 1.0;
    let mut sum = 0.0;
    for (k, place) in chances.iter_mut().enumerate().skip(likely) {
        *place = chance;
        sum += chance;
        chance *= (n - count(k)) / (count(k) + 1.0) * odds;
    }
    chance = 1.0;
    for (k, place) in chances.iter_mut().enumerate().take(likely).rev() {
        chance *= (count(k) + 1.0) / ((n - count(k)) * odds);
        *place = chance;
        sum += chance;
    }
    for chance in chances {
        *chance /= sum;
    }
}

/// A number of rows or scenarios as a double.
#[expect(clippy::cast_precision_loss, reason = "at most a million")]
pub(super) fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_quantiles_of_their_distribution() {
        for (rate, icc) in [
            (0.8, 0.3),
            (0.5, 0.9),
            (0.999, 0.5),
            (0.01, 0.05),
            (0.3, 1e-6),
            (0.95, 0.97),
            (1e-6, 0.3),
        ] {
            let spread = (1.0 - icc) / icc;
            let beta = Beta::new(rate * spread, (1.0 - rate) * spread);
            let shares = shares(rate, icc);
            assert!(shares.is_sorted());
            for (share, chance) in shares.into_iter().zip(quantiles()) {
                // The chances on both sides of a share that is off by 1e-12.
                let below = share - 1e-12;
                let above = share + 1e-12;
                assert!(
                    below <= 0.0 || beta.tails(below, 1.0 - below).0 <= chance,
                    "{rate} {icc}: {share} is above the quantile {chance}"
                );
                assert!(
                    above >= 1.0 || beta.tails(above, 1.0 - above).0 >= chance,
                    "{rate} {icc}: {share} is below the quantile {chance}"
                );
            }
        }
    }

    #[test]
    fn without_spread_all_shares_are_the_rate() {
        assert_eq!(shares(0.7, 0.0), [0.7; SHARES]);
        assert_eq!(shares(1.0, 0.3), [1.0; SHARES]);
        let all_or_nothing = shares(0.8, 1.0);
        assert_eq!(all_or_nothing.iter().sum::<f64>(), 160.0);
    }

    #[test]
    fn binomial_chances_sum_to_one_and_have_their_mean() {
        for (trials, share) in [
            (1, 0.3),
            (3, 0.999),
            (100, 0.5),
            (100, 1e-12),
            (7, 0.0),
            (7, 1.0),
        ] {
            let mut chances = vec![0.0; trials + 1];
            binomial(&mut chances, share);
            let mean: f64 = chances
                .iter()
                .enumerate()
                .map(|(k, chance)| count(k) * chance)
                .sum();
            assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            assert!(
                (mean - count(trials) * share).abs() < 1e-12,
                "{trials} {share}: {mean}"
            );
        }
    }
}
