//! Texts by number.

use std::collections::HashMap;

/// Gives each text a number, from 0. For texts of which there are few: tests, SUTs, annotators.
#[derive(Debug, Default)]
pub(crate) struct Names {
    numbers: HashMap<String, u32>,
    texts: Vec<String>,
}

impl Names {
    /// The number of `text`, which it gets now if it has none.
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.numbers.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        number
    }

    /// The number that `text` has.
    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        self.numbers.get(text).copied()
    }

    /// The text with this number; empty when there is none.
    pub(crate) fn text(&self, number: u32) -> &str {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        self.texts.get(at).map_or("", String::as_str)
    }
}
