//! Numbers for texts.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

/// Numbers texts, from 0: tests, prompts, SUTs, annotators. A million prompts are one text here, and not a million.
#[derive(Debug, Default)]
pub(crate) struct Names {
    texts: String,
    /// Where each text ends in `texts`.
    ends: Vec<usize>,
    /// By the hash of the text, or the next free number after it.
    numbers: HashMap<u64, u32>,
}

impl Names {
    /// The number of `text`; assigns one if it is new.
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let mut place = hasher.finish();
        while let Some(number) = self.numbers.get(&place) {
            if self.text(*number) == text {
                return *number;
            }
            place = place.wrapping_add(1);
        }
        let number = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        self.texts.push_str(text);
        self.ends.push(self.texts.len());
        self.numbers.insert(place, number);
        number
    }

    /// The text with this number; empty if there is none.
    pub(crate) fn text(&self, number: u32) -> &str {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        let before = at.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = before.copied().unwrap_or_default();
        let end = self.ends.get(at).copied().unwrap_or(start);
        self.texts.get(start..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_its_number() {
        let mut names = Names::default();
        let texts = ["b", "", "a", "ab"];
        for _ in 0..2 {
            assert_eq!(texts.map(|text| names.number(text)), [0, 1, 2, 3]);
        }
        assert_eq!(
            [0, 1, 2, 3, 4].map(|number| names.text(number)),
            ["b", "", "a", "ab", ""]
        );
    }
}
