//! Blank texts.

/// Whether `text` is blank by the rules of Python's `str.strip`: U+001C to U+001F are white space
/// too.
///
/// ```
/// assert!(journal::is_blank(" \n\u{1c}"));
/// assert!(!journal::is_blank("no"));
/// ```
#[must_use]
pub fn is_blank(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}'))
}
