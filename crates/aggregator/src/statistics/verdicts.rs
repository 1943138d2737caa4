//! The verdicts of one metric in one scenario, in the order of the samples.

use super::clusters::{Cluster, float};

/// Verdicts in the order of the samples: their numbers, and for each whether it passed.
///
/// ```
/// use aggregator::statistics::Verdicts;
///
/// let verdicts: Verdicts = [true, false, true].into_iter().collect();
/// assert_eq!((verdicts.passed(), verdicts.scored()), (2, 3));
/// assert_eq!(verdicts.passed_of_first(2), Some(1));
/// // Counts have no order: which of the three come first is unknown.
/// assert_eq!(Verdicts::of_counts(2, 3).passed_of_first(2), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    passed: u64,
    scored: u64,
    /// One bit for each of the first 64 verdicts.
    first: u64,
    /// One bit for each later verdict.
    later: Vec<u64>,
    /// Whether some verdicts came as counts.
    is_unordered: bool,
}

impl Verdicts {
    /// No verdict.
    pub const NONE: Self = Self {
        passed: 0,
        scored: 0,
        first: 0,
        later: Vec::new(),
        is_unordered: false,
    };

    /// `scored` verdicts in an unknown order, `passed` of which passed. `passed` is limited to `scored`.
    #[must_use]
    pub fn of_counts(passed: u64, scored: u64) -> Self {
        let mut verdicts = Self::NONE;
        verdicts.push_counts(passed, scored);
        verdicts
    }

    /// Adds the verdict of the next sample.
    pub fn push(&mut self, passed: bool) {
        if passed {
            let bit = 1 << (self.scored % 64);
            match usize::try_from(self.scored / 64) {
                Ok(0) => self.first |= bit,
                Ok(word) => {
                    if self.later.len() < word {
                        self.later.resize(word, 0);
                    }
                    self.later[word - 1] |= bit;
                }
                Err(_) => self.is_unordered = true,
            }
        }
        self.passed += u64::from(passed);
        self.scored += 1;
    }

    /// Adds `scored` verdicts whose order is unknown.
    pub fn push_counts(&mut self, passed: u64, scored: u64) {
        self.passed += passed.min(scored);
        self.scored += scored;
        self.is_unordered |= scored > 0;
    }

    /// Adds the verdicts of further samples.
    pub fn append(&mut self, more: &Self) {
        if self.is_unordered || more.is_unordered {
            return self.push_counts(more.passed, more.scored);
        }
        for place in 0..more.scored {
            self.push(more.bit(place));
        }
    }

    /// Verdicts that passed.
    #[must_use]
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// All verdicts.
    #[must_use]
    pub fn scored(&self) -> u64 {
        self.scored
    }

    /// Whether the order of the verdicts is known.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        !self.is_unordered
    }

    /// How many of the first `k` verdicts passed. `None` if there are fewer, or if their order is unknown.
    #[must_use]
    pub fn passed_of_first(&self, k: u64) -> Option<u64> {
        match self.scored {
            scored if scored == k => Some(self.passed),
            scored if scored < k || self.is_unordered => None,
            _ => Some(
                (0..k)
                    .filter(|place| self.bit(*place))
                    .fold(0, |n, _| n + 1),
            ),
        }
    }

    /// The share that passed; NaN without verdicts.
    pub(super) fn mean(&self) -> f64 {
        float(self.passed) / float(self.scored)
    }

    pub(super) fn cluster(&self) -> Cluster {
        Cluster::of_verdicts(self.passed, self.scored)
    }

    fn bit(&self, place: u64) -> bool {
        let word = match usize::try_from(place / 64) {
            Ok(0) => Some(&self.first),
            Ok(word) => self.later.get(word - 1),
            Err(_) => None,
        };
        word.is_some_and(|word| word & (1 << (place % 64)) != 0)
    }
}

impl FromIterator<bool> for Verdicts {
    fn from_iter<I: IntoIterator<Item = bool>>(verdicts: I) -> Self {
        let mut found = Self::NONE;
        for passed in verdicts {
            found.push(passed);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_kept_beyond_a_word() {
        let all: Vec<bool> = (0..200).map(|i| i % 3 == 0 || i == 130).collect();
        let verdicts: Verdicts = all.iter().copied().collect();
        for k in [0, 1, 63, 64, 65, 128, 131, 199, 200] {
            let expected = all.iter().take(k).filter(|passed| **passed).count();
            assert_eq!(verdicts.passed_of_first(k as u64), Some(expected as u64));
        }
        assert_eq!(verdicts.passed_of_first(201), None);
        let (first, second) = all.split_at(70);
        let mut joined: Verdicts = first.iter().copied().collect();
        joined.append(&second.iter().copied().collect());
        assert_eq!(joined.passed_of_first(131), verdicts.passed_of_first(131));
        assert_eq!((joined.passed(), joined.scored()), (verdicts.passed(), 200));
    }

    #[test]
    fn counts_have_no_order() {
        let mut verdicts: Verdicts = [true].into_iter().collect();
        verdicts.append(&Verdicts::of_counts(5, 3));
        assert_eq!((verdicts.passed(), verdicts.scored()), (4, 4));
        assert!(!verdicts.is_ordered());
        assert_eq!(verdicts.passed_of_first(4), Some(4));
        assert_eq!(verdicts.passed_of_first(1), None);
        verdicts.append(&Verdicts::NONE);
        assert_eq!(verdicts.scored(), 4);
        assert!(Verdicts::of_counts(0, 0).is_ordered());
    }
}
