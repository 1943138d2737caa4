//! How far raters agree: judges of a panel, a judge and people, a judge and itself.
//!
//! Ratings are small whole numbers: 0 and 1 for failed and passed, 1 to 5 for bands. [`MaybeRating`] is `None` where a
//! rater gave none.

use std::collections::BTreeMap;

use super::{TINY, clusters::float};

/// A rating, or none.
pub type MaybeRating = Option<u32>;

/// When two ratings are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// The same or not: verdicts, labels.
    Nominal,
    /// Nearer or farther in their order: bands.
    Ordinal,
}

/// Agreement, as it was seen and beyond chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Items that count: with two ratings or more.
    pub items: u64,
    /// The share of pairs of ratings of one item that are the same, 0 to 1; `None` where the measure has none.
    pub agreement: Option<f64>,
    /// The coefficient, at most 1; `None` where it is not defined, as when every rating is the same.
    pub coefficient: Option<f64>,
}

/// Cohen's kappa of two raters (Cohen 1960). Items that one of them did not rate are left out.
#[must_use]
pub fn cohen_kappa(first: &[MaybeRating], second: &[MaybeRating]) -> Agreement {
    let both: Vec<(u32, u32)> = first
        .iter()
        .zip(second)
        .filter_map(|(a, b)| a.zip(*b))
        .collect();
    let items = both.iter().fold(0, |count, _| count + 1);
    let same = both
        .iter()
        .filter(|(a, b)| a == b)
        .fold(0, |count, _| count + 1);
    let mut shares = BTreeMap::<u32, (u64, u64)>::new();
    for (a, b) in &both {
        shares.entry(*a).or_default().0 += 1;
        shares.entry(*b).or_default().1 += 1;
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

/// Fleiss' kappa (Fleiss 1971) of a table: for each item, how many raters chose each category. Every item has the same
/// number of raters, at least two; else it is not defined.
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

/// Krippendorff's alpha (Krippendorff 2011) of ratings by rater and item; ratings may be missing.
#[must_use]
pub fn krippendorff_alpha(ratings: &[Vec<MaybeRating>], scale: Scale) -> Agreement {
    let items = pairable(ratings);
    let mut totals = BTreeMap::<u32, f64>::new();
    let mut pairs = BTreeMap::<(u32, u32), f64>::new();
    for counts in &items {
        let raters = float(counts.values().sum());
        for (a, n) in counts {
            *totals.entry(*a).or_default() += float(*n);
            for (b, m) in counts {
                let others = if a == b { float(*m) - 1.0 } else { float(*m) };
                *pairs.entry((*a, *b)).or_default() += float(*n) * others / (raters - 1.0);
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
        items: items.iter().fold(0, |count, _| count + 1),
        agreement: None,
        coefficient: (expected > TINY).then(|| 1.0 - (all - 1.0) * observed / expected),
    }
}

/// Gwet's AC1 (Gwet 2008) of ratings by rater and item over `categories`; ratings may be missing.
#[must_use]
pub fn gwet_ac1(ratings: &[Vec<MaybeRating>], categories: &[u32]) -> Agreement {
    let rated = counts_by_item(ratings);
    let several = rated
        .iter()
        .filter(|counts| counts.values().sum::<u64>() >= 2);
    let mut items = 0;
    let mut agreed = 0.0;
    for counts in several {
        let raters = float(counts.values().sum());
        let pairs: f64 = counts.values().map(|n| float(*n) * (float(*n) - 1.0)).sum();
        agreed += pairs / (raters * (raters - 1.0));
        items += 1;
    }
    let rated: Vec<_> = rated.iter().filter(|counts| !counts.is_empty()).collect();
    let rated_items = rated.iter().fold(0.0, |count, _| count + 1.0);
    let share = |category: &u32| {
        let of_item = |counts: &&BTreeMap<u32, u64>| {
            let chosen = counts.get(category).copied().unwrap_or(0);
            float(chosen) / float(counts.values().sum())
        };
        rated.iter().map(of_item).sum::<f64>() / rated_items
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

/// How often each rating was given, by item.
fn counts_by_item(ratings: &[Vec<MaybeRating>]) -> Vec<BTreeMap<u32, u64>> {
    let items = ratings.iter().map(Vec::len).max().unwrap_or(0);
    let counts = |item: usize| {
        let mut counts = BTreeMap::new();
        for rating in ratings.iter().filter_map(|rater| *rater.get(item)?) {
            *counts.entry(rating).or_default() += 1;
        }
        counts
    };
    (0..items).map(counts).collect()
}

/// Those items with two ratings or more.
fn pairable(ratings: &[Vec<MaybeRating>]) -> Vec<BTreeMap<u32, u64>> {
    let mut items = counts_by_item(ratings);
    items.retain(|counts| counts.values().sum::<u64>() >= 2);
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

/// Agreement beyond what chance gives, by the most that there could be.
fn beyond(agreement: f64, chance: f64) -> Option<f64> {
    (1.0 - chance > TINY).then(|| (agreement - chance) / (1.0 - chance))
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}
