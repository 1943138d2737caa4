//! The order in which people label rows.
//!
//! The corrected rate needs labels of rows that the judge passed and of rows that it failed, drawn at random in each of these two strata.
//! A person who stops early has then labelled a usable sample.

use std::{cmp::Ordering, collections::BTreeMap};

use sha2::{Digest, Sha256};

use super::clusters::float;

/// The default seed of the order.
pub const LABEL_SEED: u64 = 0;

/// The number of rows in a block: see [`label_order`].
const BLOCK: usize = 4;

/// A row that people may label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowToLabel<'a> {
    /// The conversation's id.
    pub conv_id: &'a str,
    /// The metric's id.
    pub metric_id: &'a str,
    /// The base scenario.
    pub base: &'a str,
    /// Whether the judge passed the row; `None` without a verdict.
    pub passed: Option<bool>,
}

/// The indices of `rows` in the order in which people label them. Rows without a verdict are left out: there is nothing to compare a label
/// with.
///
/// - Up to any point, every row that the judge passed had the same chance to be labelled, and so had every row that it failed. Within both
///   strata, labels are spread evenly over base scenarios: a scenario's rows are placed at equal distances from a random start.
/// - Rows come in blocks of four, with one to three of those that the judge passed. The larger stratum, where most of the doubt about the
///   corrected rate lies, has more of them. As soon as one stratum has no more rows, the other fills the blocks. Within a block the order
///   is random, so that a person who sees the verdicts of earlier rows cannot predict the next one.
/// - The order depends on the seed, the ids and the verdicts, not on the order of `rows`.
///
/// ```
/// use aggregator::statistics::{LABEL_SEED, RowToLabel, label_order};
///
/// let row = |conv_id, base, passed| RowToLabel { conv_id, metric_id: "m01", base, passed };
/// let rows = [
///     row("s1", "s1", Some(true)),
///     row("s1__s1", "s1", Some(true)),
///     row("s2", "s2", Some(false)),
///     row("s3", "s3", None),
/// ];
/// let mut order = label_order(&rows, LABEL_SEED);
/// order.sort_unstable();
/// assert_eq!(order, [0, 1, 2], "without a verdict, a row is not labelled");
/// ```
#[must_use]
pub fn label_order(rows: &[RowToLabel<'_>], seed: u64) -> Vec<usize> {
    let mut passed = stratum(rows, true, seed).into_iter();
    let mut failed = stratum(rows, false, seed).into_iter();
    let of_passed = passed_of_block(passed.len(), failed.len());
    let mut order = Vec::with_capacity(passed.len() + failed.len());
    for block in 0_u64.. {
        let mut of_both: Vec<usize> = passed.by_ref().take(of_passed).collect();
        of_both.extend(failed.by_ref().take(BLOCK - of_both.len()));
        let rest = BLOCK - of_both.len();
        of_both.extend(passed.by_ref().take(rest));
        if of_both.is_empty() {
            break;
        }
        let number = block.to_string();
        let key = |index: &usize| {
            let row = rows.get(*index)?;
            Some((row.draw(seed, &["block", &number]), row.ids()))
        };
        of_both.sort_by(|one, other| compare(key(one), key(other)));
        order.extend(of_both);
    }
    order
}

/// The number of rows of a block that the judge passed, 1 to 3, if both strata have enough.
fn passed_of_block(passed: usize, failed: usize) -> usize {
    let (passed, failed) = (float(passed as u64), float(failed as u64));
    // The shares of the strata, where a failed row weighs 4/3 of a passed one.
    let share = 3.0 * passed / (3.0 * passed + 4.0 * failed).max(1.0);
    match 4.0 * share + 0.5 {
        share if share < 2.0 => 1,
        share if share < 3.0 => 2,
        _ => 3,
    }
}

/// The rows with this verdict. A scenario's rows are at equal distances from 0 to 1, from a random start.
fn stratum(rows: &[RowToLabel<'_>], passed: bool, seed: u64) -> Vec<usize> {
    let mut bases = BTreeMap::<&str, Vec<(f64, usize)>>::new();
    for (index, row) in rows.iter().enumerate() {
        if row.passed == Some(passed) {
            let of_base = bases.entry(row.base).or_default();
            of_base.push((row.draw(seed, &["row"]), index));
        }
    }
    let ids = |index: &usize| rows.get(*index).map(RowToLabel::ids);
    let stratum = if passed { "passed" } else { "failed" };
    let mut places = Vec::new();
    for (base, mut of_base) in bases {
        of_base.sort_by(|(one, a), (other, b)| one.total_cmp(other).then(ids(a).cmp(&ids(b))));
        let start = draw(seed, &[stratum, base]);
        let number = float(of_base.len() as u64);
        for (place, (drawn, index)) in of_base.into_iter().enumerate() {
            places.push(((float(place as u64) + start) / number, drawn, index));
        }
    }
    places.sort_by(|(one, drawn, a), (other, other_drawn, b)| {
        let keys = one.total_cmp(other).then(drawn.total_cmp(other_drawn));
        keys.then_with(|| ids(a).cmp(&ids(b)))
    });
    places.into_iter().map(|(.., index)| index).collect()
}

/// Compares keys of a random number and ids. Random numbers are never NaN.
fn compare<T: Ord>(one: Option<(f64, T)>, other: Option<(f64, T)>) -> Ordering {
    let (one, other) = (one.unzip(), other.unzip());
    let number = |of: Option<f64>| of.unwrap_or_default();
    number(one.0)
        .total_cmp(&number(other.0))
        .then_with(|| one.1.cmp(&other.1))
}

/// A pseudorandom number from 0 to 1 that depends on the seed and the words only.
fn draw(seed: u64, words: &[&str]) -> f64 {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    for word in words {
        hash.update((word.len() as u64).to_le_bytes());
        hash.update(word);
    }
    let [a, b, c, d, e, f, g, h, ..]: [u8; 32] = hash.finalize().into();
    let bits = u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 11;
    float(bits) * 0.5_f64.powi(53)
}

impl RowToLabel<'_> {
    fn draw(&self, seed: u64, what: &[&str]) -> f64 {
        draw(seed, &[what, &[self.conv_id, self.metric_id]].concat())
    }

    fn ids(&self) -> (&str, &str) {
        (self.conv_id, self.metric_id)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Rows from `(base scenario, number that the judge passed, number that it failed)`.
    fn rows(of: &[(&str, usize, usize)]) -> Vec<(String, String, bool)> {
        let mut rows = Vec::new();
        for (base, passed, failed) in of {
            for sample in 0..passed + failed {
                let id = format!("{base}__m__s{sample}");
                rows.push(((*base).to_owned(), id, sample < *passed));
            }
        }
        rows
    }

    fn to_label(rows: &[(String, String, bool)]) -> Vec<RowToLabel<'_>> {
        rows.iter()
            .map(|(base, id, passed)| RowToLabel {
                conv_id: id,
                metric_id: "m01",
                base,
                passed: Some(*passed),
            })
            .collect()
    }

    fn many() -> Vec<(String, String, bool)> {
        let ids: Vec<String> = (0..30).map(|n| format!("b{n:02}")).collect();
        let of: Vec<(&str, usize, usize)> = (0..30)
            .zip(&ids)
            .map(|(n, id)| (id.as_str(), n % 4, (n + 1) % 3))
            .collect();
        rows(&of)
    }

    #[test]
    fn every_row_with_a_verdict_comes_once() {
        let many = many();
        let mut given = to_label(&many);
        given[3].passed = None;
        let mut order = label_order(&given, LABEL_SEED);
        order.sort_unstable();
        let expected: Vec<usize> = (0..given.len()).filter(|index| *index != 3).collect();
        assert_eq!(order, expected);
        assert!(label_order(&[], 1).is_empty());
    }

    #[test]
    fn a_block_has_one_to_three_rows_that_the_judge_passed_in_an_order_that_cannot_be_foretold() {
        for (passed, failed, of_passed) in [(40, 40, 2), (90, 10, 3), (10, 90, 1), (57, 43, 2)] {
            let given = rows(&[("a", passed, failed)]);
            let given = to_label(&given);
            let mut patterns = BTreeSet::new();
            for seed in 0..40 {
                let order = label_order(&given, seed);
                let whole = (passed / of_passed).min(failed / (4 - of_passed));
                for block in order.chunks(4).take(whole) {
                    let verdicts: Vec<bool> = block
                        .iter()
                        .filter_map(|index| given[*index].passed)
                        .collect();
                    let passed = verdicts.iter().filter(|passed| **passed).count();
                    assert_eq!(passed, of_passed, "{verdicts:?}");
                    patterns.insert(verdicts);
                }
            }
            let all = if of_passed == 2 { 6 } else { 4 };
            assert_eq!(patterns.len(), all, "every order of a block");
        }
    }

    #[test]
    fn the_other_stratum_fills_the_blocks_when_one_is_used_up() {
        let given = rows(&[("a", 2, 7), ("b", 1, 0)]);
        let given = to_label(&given);
        let order = label_order(&given, LABEL_SEED);
        let passed: Vec<usize> = order
            .chunks(4)
            .map(|block| block.iter().filter(|at| given[**at].passed == Some(true)))
            .map(Iterator::count)
            .collect();
        assert_eq!(passed, [1, 1, 1]);
        let only = rows(&[("a", 6, 0)]);
        assert_eq!(label_order(&to_label(&only), 3).len(), 6);
    }

    #[test]
    fn labels_are_spread_over_scenarios() {
        // Of scenarios with four rows each, the first ten labels are one of each, the next ten are another of each.
        let ids: Vec<String> = (0..10).map(|n| format!("b{n}")).collect();
        let of: Vec<(&str, usize, usize)> = ids.iter().map(|id| (id.as_str(), 4, 0)).collect();
        let made = rows(&of);
        let given = to_label(&made);
        for seed in 0..20 {
            for ten in stratum(&given, true, seed).chunks(10) {
                let bases: BTreeSet<&str> = ten.iter().map(|index| given[*index].base).collect();
                assert_eq!(bases.len(), 10);
            }
        }
    }

    #[test]
    fn the_order_depends_on_seed_and_ids_and_not_on_the_order_of_the_rows() {
        let many = many();
        let given = to_label(&many);
        let ids = |rows: &[RowToLabel<'_>], seed| -> Vec<String> {
            let order = label_order(rows, seed);
            order
                .iter()
                .map(|index| rows[*index].conv_id.to_owned())
                .collect()
        };
        let mut turned = given.clone();
        turned.reverse();
        assert_eq!(ids(&given, 7), ids(&turned, 7));
        assert_ne!(ids(&given, 7), ids(&given, 8));
    }

    #[test]
    fn every_row_of_a_stratum_has_the_same_chance() {
        // One scenario with eight rows and three with one: the first scenario is the first in eight of eleven orders.
        let made = rows(&[("a", 8, 0), ("b", 1, 0), ("c", 1, 0), ("d", 1, 0)]);
        let given = to_label(&made);
        let mut among_three = vec![0_u32; given.len()];
        for seed in 0..4400 {
            for index in stratum(&given, true, seed).iter().take(3) {
                among_three[*index] += 1;
            }
        }
        // Expected 1,200 each. The standard deviation is below 30.
        assert!(
            among_three.iter().all(|n| (1080..1320).contains(n)),
            "{among_three:?}"
        );
    }
}
