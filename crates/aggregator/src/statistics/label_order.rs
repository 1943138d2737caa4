//! The order in which people label rows.
//!
//! The corrected rate needs labels of rows that the judge passed and of rows that it failed, drawn at random in each of these two strata,
//! beginning with one row of each base scenario. A person who stops early has then labelled a usable sample.

use std::collections::{BTreeMap, HashSet};

use sha2::{Digest, Sha256};

/// The default seed of the order.
pub const LABEL_SEED: u64 = 0;

/// The number of rows of one stratum in a block: see [`label_order`].
const OF_STRATUM: usize = 2;

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
/// - Within the rows that the judge passed, and within those that it failed: first one row of each base scenario, then a second of each,
///   and so on, drawn at random.
/// - Both strata alternate in blocks of two rows each, as long as both have rows. Within a block the order is random, so that a person who
///   sees the verdicts of earlier rows cannot predict the next one.
/// - The order depends on the seed, the ids and the verdicts, not on the order of `rows`. Within a stratum, an added row does not change
///   the order of the rows of other base scenarios.
///
/// ```
/// use aggregator::statistics::{LABEL_SEED, RowToLabel, label_order};
///
/// let row = |conv_id, base, passed| RowToLabel { conv_id, metric_id: "m01", base, passed };
/// let rows = [
///     row("s1", "s1", Some(true)),
///     row("s1__s1", "s1", Some(true)),
///     row("s2", "s2", Some(true)),
///     row("s3", "s3", None),
/// ];
/// let order = label_order(&rows, LABEL_SEED);
/// assert_eq!(order.len(), 3);
/// assert!(order.iter().take(2).any(|row| *row == 2), "one of each scenario comes first: {order:?}");
/// ```
#[must_use]
pub fn label_order(rows: &[RowToLabel<'_>], seed: u64) -> Vec<usize> {
    let mut passed = stratum(rows, true, seed).into_iter();
    let mut failed = stratum(rows, false, seed).into_iter();
    let mut order = Vec::new();
    for block in 0_u64.. {
        let mut of_both: Vec<usize> = passed.by_ref().take(OF_STRATUM).collect();
        of_both.extend(failed.by_ref().take(OF_STRATUM));
        if of_both.is_empty() {
            break;
        }
        let number = block.to_string();
        let drawn = |index: &usize| rows.get(*index).map(|row| row.draw(seed, &number));
        of_both.sort_by_cached_key(drawn);
        order.extend(of_both);
    }
    order
}

/// How many of the remaining rows would be the first labelled row of their base scenario in their stratum. Other rows add less
/// information, because rows of one scenario are alike.
#[must_use]
pub fn still_useful(rows: &[RowToLabel<'_>], is_labelled: impl Fn(usize) -> bool) -> usize {
    let mut bases = HashSet::new();
    let mut seen = HashSet::new();
    for (index, row) in rows.iter().enumerate() {
        let Some(passed) = row.passed else { continue };
        bases.insert((passed, row.base));
        if is_labelled(index) {
            seen.insert((passed, row.base));
        }
    }
    bases.difference(&seen).count()
}

/// The rows with this verdict: one of each base scenario, then a second of each, and so on.
fn stratum(rows: &[RowToLabel<'_>], passed: bool, seed: u64) -> Vec<usize> {
    let mut bases = BTreeMap::<&str, Vec<(Draw, usize)>>::new();
    for (index, row) in rows.iter().enumerate() {
        if row.passed == Some(passed) {
            let of_base = bases.entry(row.base).or_default();
            of_base.push((row.draw(seed, "row"), index));
        }
    }
    let mut turns = Vec::new();
    for (base, mut of_base) in bases {
        of_base.sort_unstable();
        for (turn, (_, index)) in of_base.into_iter().enumerate() {
            // A separate draw: the minimum of many draws is smaller, so scenarios with many rows would otherwise come first.
            let place = draw(seed, &["turn", &turn.to_string(), base]);
            turns.push((turn, place, index));
        }
    }
    turns.sort_unstable();
    turns.into_iter().map(|(_, _, index)| index).collect()
}

/// A pseudorandom number that depends on the seed and the ids only.
type Draw = [u8; 32];

fn draw(seed: u64, ids: &[&str]) -> Draw {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    for id in ids {
        hash.update((id.len() as u64).to_le_bytes());
        hash.update(id);
    }
    hash.finalize().into()
}

impl RowToLabel<'_> {
    fn draw(&self, seed: u64, what: &str) -> Draw {
        draw(seed, &[what, self.conv_id, self.metric_id])
    }
}

#[cfg(test)]
mod tests {
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
    fn each_block_has_two_rows_of_each_stratum_in_an_order_that_cannot_be_foretold() {
        let many = many();
        let given = to_label(&many);
        let failed = given.iter().filter(|row| row.passed == Some(false)).count();
        let mut patterns = HashSet::new();
        for seed in 0..20 {
            let order = label_order(&given, seed);
            for block in order.chunks(4).take(failed / 2) {
                let verdicts: Vec<bool> = block
                    .iter()
                    .filter_map(|index| given[*index].passed)
                    .collect();
                assert_eq!(verdicts.iter().filter(|passed| **passed).count(), 2);
                patterns.insert(verdicts);
            }
        }
        assert_eq!(patterns.len(), 6, "all orders of two and two");
    }

    #[test]
    fn a_stratum_has_one_row_of_each_base_scenario_before_a_second_of_any() {
        let many = many();
        let given = to_label(&many);
        for seed in 0..5 {
            for passed in [true, false] {
                let order = label_order(&given, seed);
                let of_stratum = order
                    .iter()
                    .filter(|index| given[**index].passed == Some(passed));
                let mut turns = BTreeMap::<&str, usize>::new();
                let mut last = 0;
                for index in of_stratum {
                    let turn = turns.entry(given[*index].base).or_default();
                    assert!(*turn >= last, "a second row before a first");
                    last = *turn;
                    *turn += 1;
                }
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
    fn every_row_of_a_scenario_and_every_scenario_has_the_same_chance() {
        // One scenario with eight rows and three with one.
        let made = rows(&[("a", 8, 0), ("b", 1, 0), ("c", 1, 0), ("d", 1, 0)]);
        let given = to_label(&made);
        let mut first = BTreeMap::<&str, u32>::new();
        let mut of_a = BTreeMap::<&str, u32>::new();
        for seed in 0..4000 {
            let order = label_order(&given, seed);
            *first.entry(given[order[0]].base).or_default() += 1;
            let row_of_a = order
                .iter()
                .find(|index| given[**index].base == "a")
                .unwrap();
            *of_a.entry(given[*row_of_a].conv_id).or_default() += 1;
        }
        // Expected 1,000 each with a standard deviation of 27, and 500 each with one of 21.
        assert!(first.values().all(|n| (870..1130).contains(n)), "{first:?}");
        assert_eq!(of_a.len(), 8);
        assert!(of_a.values().all(|n| (400..600).contains(n)), "{of_a:?}");
    }

    #[test]
    fn rows_are_useful_while_their_scenario_has_no_label_in_their_stratum() {
        let made = rows(&[("a", 2, 1), ("b", 1, 0)]);
        let given = to_label(&made);
        assert_eq!(still_useful(&given, |_| false), 3);
        assert_eq!(still_useful(&given, |index| index == 1), 2);
        assert_eq!(still_useful(&given, |index| index == 2), 2);
        assert_eq!(still_useful(&given, |index| index != 0), 0);
    }
}
