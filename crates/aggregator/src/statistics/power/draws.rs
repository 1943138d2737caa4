//! Random draws from a distribution of few whole numbers.

use super::{shares::count, split_mix::SplitMix64};

/// The number of draws that a chance is counted from.
pub(super) const DRAWS: u32 = 2000;
/// The places of the table that tells where a search begins.
const GUIDES: u16 = 1024;

/// Draws the places of a list of chances: the first place at which the running sum exceeds a random number.
pub(super) struct Sampler {
    random: SplitMix64,
    sums: Vec<f64>,
    /// The first place that a random number of at least i / 1024 can have.
    guides: Vec<usize>,
}

impl Sampler {
    /// Draws from `chances`, which sum to 1. Each sampler draws the same random numbers.
    pub(super) fn new(chances: &[f64]) -> Self {
        let mut sum = 0.0;
        let sums: Vec<f64> = chances
            .iter()
            .map(|chance| {
                sum += chance;
                sum
            })
            .collect();
        let guides = (0..GUIDES)
            .map(|i| {
                let least = f64::from(i) / f64::from(GUIDES);
                sums.partition_point(|sum| *sum <= least)
            })
            .collect();
        Self {
            random: SplitMix64::new(0),
            sums,
            guides,
        }
    }

    /// The next place.
    pub(super) fn draw(&mut self) -> usize {
        let unit = self.random.next_unit();
        let last = self.sums.len() - 1;
        let mut place = self.guides[guide(unit)].min(last);
        while place < last && self.sums[place] <= unit {
            place += 1;
        }
        place
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to below 1024"
)]
fn guide(unit: f64) -> usize {
    (unit * f64::from(GUIDES)) as usize
}

/// The chances of the differences -m to m between two numbers of passed rows, each from 0 to m. `together` is the chance
/// that both sides have the same of the equally likely shares.
pub(super) fn differences(
    a: &super::shares::Counts,
    b: &super::shares::Counts,
    together: f64,
) -> Vec<f64> {
    let (mean_a, mean_b) = (a.mean(), b.mean());
    let rows = mean_a.len() - 1;
    let mut chances = vec![0.0; 2 * rows + 1];
    add_differences(&mut chances, &mean_a, &mean_b, 1.0 - together);
    if together > 0.0 {
        let each = together / count(super::shares::SHARES);
        for (a, b) in a.by_share().zip(b.by_share()) {
            add_differences(&mut chances, a, b, each);
        }
    }
    chances
}

/// Adds the chances of the differences of two independent numbers, times `weight`.
fn add_differences(chances: &mut [f64], a: &[f64], b: &[f64], weight: f64) {
    let rows = b.len() - 1;
    for (passed, chance) in a.iter().enumerate() {
        let weighted = chance * weight;
        // The difference 0 - `rows` has the place 0.
        let places = &mut chances[passed..=passed + rows];
        for (place, chance) in places.iter_mut().zip(b.iter().rev()) {
            *place += weighted * chance;
        }
    }
}
