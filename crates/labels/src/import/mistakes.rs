//! Reports all mistakes of a file in one error.

use std::fmt::Write as _;

use indexmap::IndexMap;
use interop::labels::{LabelFileError, LinePlace};
use schema::text::counted;
use store::RunError;

/// How many different mistakes of one kind are listed.
const LISTED: usize = 20;
/// How many places of one mistake are listed.
const PLACES: usize = 5;

/// The mistakes of a file, grouped by kind and text: an invalid label that many lines have is one mistake with many
/// places.
#[derive(Debug)]
pub(super) struct Mistakes<'f> {
    file: &'f str,
    kinds: IndexMap<&'static str, IndexMap<String, Vec<LinePlace>>>,
    /// Mistakes that concern the file as a whole.
    of_file: Vec<String>,
    help: Option<String>,
}

impl<'f> Mistakes<'f> {
    pub(super) fn new(file: &'f str) -> Self {
        Self {
            file,
            kinds: IndexMap::new(),
            of_file: Vec::new(),
            help: None,
        }
    }

    /// The mistakes of a file of which no row could be read.
    pub(super) fn of_file(file: &'f str, errors: &[LabelFileError]) -> Self {
        let mut mistakes = Self::new(file);
        mistakes.add_all("", errors);
        mistakes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.of_file.is_empty()
    }

    pub(super) fn add_all(&mut self, kind: &'static str, errors: &[LabelFileError]) {
        for error in errors {
            match error.place() {
                Some(place) => self.add(kind, place, error.reason()),
                None => self.of_file.push(error.reason().to_owned()),
            }
            if self.help.is_none() {
                self.help = error.help().map(str::to_owned);
            }
        }
    }

    pub(super) fn add(&mut self, kind: &'static str, place: LinePlace, reason: &str) {
        let reasons = self.kinds.entry(kind).or_default();
        reasons.entry(reason.to_owned()).or_default().push(place);
    }

    pub(super) fn into_error(self) -> RunError {
        let in_rows = self.kinds.values().flat_map(IndexMap::values);
        let total = self.of_file.len() + in_rows.map(Vec::len).sum::<usize>();
        let mut text = format!(
            "{}: {}, so nothing is imported",
            self.file,
            counted(total as u64, "mistake", "mistakes")
        );
        for reason in &self.of_file {
            text.push_str(&format!("\n{reason}"));
        }
        for (kind, reasons) in &self.kinds {
            add_kind(&mut text, kind, reasons);
        }
        match self.help {
            Some(help) => RunError::input(text).with_help(help),
            None => RunError::input(text),
        }
    }
}

/// Adds the mistakes of one kind, one line for each.
fn add_kind(text: &mut String, kind: &str, reasons: &IndexMap<String, Vec<LinePlace>>) {
    if !kind.is_empty() {
        text.push_str(&format!("\n{kind}:"));
    }
    for (reason, places) in reasons.iter().take(LISTED) {
        text.push_str(&format!("\n  {}: {reason}", shown(places)));
    }
    let left = reasons.values().skip(LISTED).map(Vec::len).sum::<usize>();
    if left > 0 {
        text.push_str(&format!("\n  and {left} more"));
    }
}

/// `line 3`, `lines 3, 5 and 12 more`; in a JSON list `row 2, line 1`, `rows 2, 4`.
fn shown(places: &[LinePlace]) -> String {
    let number = |place: &LinePlace| place.row.unwrap_or(place.line).to_string();
    match places {
        [place] => place.to_string(),
        _ => {
            let of_rows = places.iter().any(|place| place.row.is_some());
            let first: Vec<String> = places.iter().take(PLACES).map(number).collect();
            let noun = if of_rows { "rows" } else { "lines" };
            let mut text = format!("{noun} {}", first.join(", "));
            let left = places.len().saturating_sub(PLACES);
            if left > 0 {
                // Writing to a `String` does not fail.
                let _ = write!(text, " and {left} more");
            }
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mistake_in_many_rows_is_one_line_and_kinds_are_capped_apart() {
        let line = |line| LinePlace { line, row: None };
        let mut mistakes = Mistakes::new("mine.csv");
        for number in 2..10 {
            mistakes.add("cells", line(number), "`passed` is blank");
        }
        for number in 2..27 {
            let reason = format!("no conversation \"s{number}\"");
            mistakes.add("rows", line(number), &reason);
        }
        let text = mistakes.into_error().to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines.get(..4),
            Some(
                &[
                    "mine.csv: 33 mistakes, so nothing is imported",
                    "cells:",
                    "  lines 2, 3, 4, 5, 6 and 3 more: `passed` is blank",
                    "rows:"
                ][..]
            )
        );
        assert_eq!(lines.len(), 4 + 20 + 1);
        assert_eq!(lines.last(), Some(&"  and 5 more"));
    }

    #[test]
    fn rows_of_a_json_list_are_counted() {
        let row = |row| LinePlace {
            line: 1,
            row: Some(row),
        };
        assert_eq!(shown(&[row(2)]), "row 2, line 1");
        assert_eq!(shown(&[row(2), row(4)]), "rows 2, 4");
    }
}
