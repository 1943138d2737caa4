//! Agreement between raters: judges of a panel, a judge and people, a judge and itself.
//!
//! Ratings are small whole numbers: 0 and 1 for failed and passed, 1 to 5 for bands. [`MaybeRating`] is `None` if a rater gave none.

use std::collections::BTreeMap;

use super::{TINY, clusters::float};

/// A rating, or none.
pub type MaybeRating = Option<u32>;

/// The ratings of items by the same raters. Items with the same ratings are counted together, so that memory does not depend on the number
/// of items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ratings {
    items: BTreeMap<Vec<MaybeRating>, u64>,
}

impl Ratings {
    /// The ratings of each rater, item by item. A rater with fewer items than others did not rate the last ones.
    #[must_use]
    pub fn of_raters(raters: &[Vec<MaybeRating>]) -> Self {
        let items = raters.iter().map(Vec::len).max().unwrap_or(0);
        let mut ratings = Self::default();
        for item in 0..items {
            let of_item = raters
                .iter()
                .map(|rater| rater.get(item).copied().flatten());
            ratings.push(of_item.collect());
        }
        ratings
    }

    /// Adds the items of `other`, which has the same raters.
    pub fn add(&mut self, other: &Self) {
        for (item, number) in &other.items {
            *self.items.entry(item.clone()).or_default() += number;
        }
    }

    /// Adds the ratings of one item, one for each rater.
    pub fn push(&mut self, item: Vec<MaybeRating>) {
        *self.items.entry(item).or_default() += 1;
    }
}

/// How ratings are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal or different: verdicts, labels.
    Nominal,
    /// By their distance in the order: bands.
    Ordinal,
}

/// Observed agreement, and agreement beyond chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// The number of items that count: those with two or more ratings.
    pub items: u64,
    /// The share of equal pairs of ratings of one item, 0 to 1; `None` if the measure does not have it.
    pub agreement: Option<f64>,
    /// The coefficient, at most 1; `None` if it is undefined, for example because all ratings are equal.
    pub coefficient: Option<f64>,
}

/// Cohen's kappa of the first two raters (Cohen 1960). Items without a rating from both are left out.
#[must_use]
pub fn cohen_kappa(ratings: &Ratings) -> Agreement {
    let (mut items, mut same) = (0, 0);
    let mut shares = BTreeMap::<u32, (u64, u64)>::new();
    for (item, number) in &ratings.items {
        let [Some(a), Some(b), ..] = item[..] else {
            continue;
        };
        items += number;
        same += if a == b { *number } else { 0 };
        shares.entry(a).or_default().0 += number;
        shares.entry(b).or_default().1 += number;
    }
    let agreement = ratio(float(same), float(items));
    let n = float(items);
    let chance: f64 = shares
        .values()
        .map(|(a, b)| float(*a) / n * (float(*b) / n))
        .sum();
    Agreement {
        items,
        agreement,
        coefficient: agreement.and_then(|agreement| beyond(agreement, chance)),
    }
}

/// Fleiss' kappa (Fleiss 1971) of a table: for each item, how many raters chose each category. Undefined unless every item has the same
/// number of raters, at least two.
#[must_use]
pub fn fleiss_kappa(table: &[Vec<u64>]) -> Agreement {
    let items = table.iter().fold(0, |count, _| count + 1);
    let raters = table.first().map_or(0, |row| row.iter().sum::<u64>());
    let complete = raters >= 2 && table.iter().all(|row| row.iter().sum::<u64>() == raters);
    if !complete {
        return Agreement {
            items,
            agreement: None,
            coefficient: None,
        };
    }
    let pairs = |row: &Vec<u64>| {
        row.iter()
            .map(|n| float(*n) * (float(*n) - 1.0))
            .sum::<f64>()
    };
    let possible = float(raters) * (float(raters) - 1.0);
    let agreement = table.iter().map(pairs).sum::<f64>() / possible / float(items);
    let categories = table.iter().map(Vec::len).max().unwrap_or(0);
    let share = |category: usize| {
        let chosen = table
            .iter()
            .filter_map(|row| row.get(category))
            .sum::<u64>();
        float(chosen) / (float(items) * float(raters))
    };
    let chance: f64 = (0..categories)
        .map(|category| share(category).powi(2))
        .sum();
    Agreement {
        items,
        agreement: Some(agreement),
        coefficient: beyond(agreement, chance),
    }
}

/// Krippendorff's alpha (Krippendorff 2011); ratings may be missing.
#[must_use]
pub fn krippendorff_alpha(ratings: &Ratings, scale: Scale) -> Agreement {
    let items = pairable(ratings);
    let mut totals = BTreeMap::<u32, f64>::new();
    let mut pairs = BTreeMap::<(u32, u32), f64>::new();
    for (counts, number) in &items {
        let (raters, number) = (float(counts.values().sum()), float(*number));
        for (a, n) in counts {
            *totals.entry(*a).or_default() += float(*n) * number;
            for (b, m) in counts {
                let others = if a == b { float(*m) - 1.0 } else { float(*m) };
                *pairs.entry((*a, *b)).or_default() += float(*n) * others / (raters - 1.0) * number;
            }
        }
    }
    let all: f64 = totals.values().sum();
    let distance = |a: u32, b: u32| distance(scale, &totals, a, b);
    let observed: f64 = pairs.iter().map(|((a, b), n)| n * distance(*a, *b)).sum();
    let mut expected = 0.0;
    for (a, n) in &totals {
        for (b, m) in &totals {
            expected += n * m * distance(*a, *b);
        }
    }
    Agreement {
        items: items.iter().map(|(_, number)| number).sum(),
        agreement: None,
        coefficient: (expected > TINY).then(|| 1.0 - (all - 1.0) * observed / expected),
    }
}

/// Gwet's AC1 (Gwet 2008) over `categories`; ratings may be missing.
#[must_use]
pub fn gwet_ac1(ratings: &Ratings, categories: &[u32]) -> Agreement {
    let mut items = 0;
    let mut agreed = 0.0;
    for (counts, number) in pairable(ratings) {
        let raters = float(counts.values().sum());
        let pairs: f64 = counts.values().map(|n| float(*n) * (float(*n) - 1.0)).sum();
        agreed += pairs / (raters * (raters - 1.0)) * float(number);
        items += number;
    }
    let mut rated = counts_by_item(ratings);
    rated.retain(|(counts, _)| !counts.is_empty());
    let rated_items = float(rated.iter().map(|(_, number)| number).sum());
    let share = |category: &u32| {
        let of_items = |(counts, number): &(Counts, u64)| {
            let chosen = counts.get(category).copied().unwrap_or(0);
            float(chosen) / float(counts.values().sum()) * float(*number)
        };
        rated.iter().map(of_items).sum::<f64>() / rated_items
    };
    let spread: f64 = categories
        .iter()
        .map(share)
        .map(|share| share * (1.0 - share))
        .sum();
    let others = categories.iter().fold(-1.0, |count, _| count + 1.0);
    let agreement = ratio(agreed, float(items));
    Agreement {
        items,
        agreement,
        coefficient: agreement
            .filter(|_| others > 0.0)
            .and_then(|agreement| beyond(agreement, spread / others)),
    }
}

/// How often each rating was given.
type Counts = BTreeMap<u32, u64>;

/// How often each rating was given to an item, and the number of items with these counts.
fn counts_by_item(ratings: &Ratings) -> Vec<(Counts, u64)> {
    let counts = |(item, number): (&Vec<MaybeRating>, &u64)| {
        let mut counts = Counts::new();
        for rating in item.iter().flatten() {
            *counts.entry(*rating).or_default() += 1;
        }
        (counts, *number)
    };
    ratings.items.iter().map(counts).collect()
}

/// The items with two or more ratings.
fn pairable(ratings: &Ratings) -> Vec<(Counts, u64)> {
    let mut items = counts_by_item(ratings);
    items.retain(|(counts, _)| counts.values().sum::<u64>() >= 2);
    items
}

/// The squared distance of two ratings.
fn distance(scale: Scale, totals: &BTreeMap<u32, f64>, a: u32, b: u32) -> f64 {
    match scale {
        _ if a == b => 0.0,
        Scale::Nominal => 1.0,
        Scale::Ordinal => {
            let (low, high) = (a.min(b), a.max(b));
            let between: f64 = totals.range(low..=high).map(|(_, n)| n).sum();
            let of = |rating| totals.get(&rating).copied().unwrap_or(0.0);
            (between - f64::midpoint(of(low), of(high))).powi(2)
        }
    }
}

/// Agreement beyond chance, as a share of the possible maximum.
fn beyond(agreement: f64, chance: f64) -> Option<f64> {
    (1.0 - chance > TINY).then(|| (agreement - chance) / (1.0 - chance))
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}
