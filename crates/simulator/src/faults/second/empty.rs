//! Messages without words.

use std::sync::LazyLock;

use regex::Regex;
use schema::text::is_blank;

use super::{phrases::pattern, reading::Reading};

/// A note in place of a message: `(no response)`, `[silence]`.
static NOTHING: LazyLock<Regex> = LazyLock::new(|| {
    let brackets = (r"[(\[<*_]+", r"[)\]>*_]+");
    let note = r"(?:no|empty|blank) (?:response|message|reply|answer|text|input)|silence|silent|empty|blank|nothing|(?:says|said|writes|sends) nothing|(?:stays|remains|is) silent";
    pattern(&format!(
        r"^{} ?(?:(?:the )?(?:user|person) )?(?:{note})\.? ?{}$",
        brackets.0, brackets.1
    ))
});

pub(super) fn no_words(reading: &Reading<'_>) -> bool {
    let text = reading.message.text.trim();
    // A lone `?` asks, and a symbol such as a thumb answers.
    let marks = |c: char| c.is_whitespace() || ".…-–—_()[]<>*\"'“”|/".contains(c);
    is_blank(text) || text.chars().all(marks) || NOTHING.is_match(reading.plain.trim())
}
