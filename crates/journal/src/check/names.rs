//! Numbers for texts.

use indexmap::IndexSet;

/// Numbers texts, from 0: tests, prompts, SUTs, annotators.
#[derive(Debug, Default)]
pub(crate) struct Names(IndexSet<String>);

impl Names {
    /// The number of `text`; assigns one if it is new.
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        let number = match self.0.get_index_of(text) {
            Some(number) => number,
            None => self.0.insert_full(text.to_owned()).0,
        };
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// The text with this number; empty if there is none.
    pub(crate) fn text(&self, number: u32) -> &str {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        self.0.get_index(at).map_or("", String::as_str)
    }
}
