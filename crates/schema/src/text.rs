//! Small functions for texts: invisible characters and those that change how the text around them is shown, counts in words, hexadecimal
//! digits.

use std::borrow::Cow;

use crate::numbers::grouped;

/// Whether a text shows nothing: it is empty, or consists of white space, control characters and invisible characters (zero-width marks,
/// fillers, variation selectors, tags).
///
/// The journal check uses a different rule for blank replies, which is ModelBench's.
///
/// ```
/// use schema::text::is_blank;
///
/// assert!(is_blank(" \n\u{200b}\u{3164}"));
/// assert!(!is_blank("."));
/// ```
#[must_use]
pub fn is_blank(text: &str) -> bool {
    text.chars().all(shows_nothing)
}

/// `text` if it is not blank.
#[must_use]
pub fn not_blank<T: AsRef<str>>(text: T) -> Option<T> {
    (!is_blank(text.as_ref())).then_some(text)
}

fn shows_nothing(c: char) -> bool {
    c.is_whitespace() || c.is_control() || is_invisible(c)
}

/// Whether a character is invisible: those that Unicode calls `Default_Ignorable_Code_Point` (DerivedCoreProperties.txt of Unicode 16),
/// and two that are drawn as empty space, the blank Braille pattern and the interlinear annotation marks.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character changes the direction of writing, so that a text can look like another one: the marks, embeddings, overrides and
/// isolates of the Unicode bidirectional algorithm (UAX #9).
#[must_use]
pub fn is_bidi_mark(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` with marks that change the direction of writing spelled out, as `\u{202e}`, for terminals and pages. Most texts have none and
/// are not copied.
///
/// ```
/// use schema::text::spell_bidi;
///
/// assert_eq!(spell_bidi("safe\u{202e}drowssap"), r"safe\u{202e}drowssap");
/// ```
#[must_use]
pub fn spell_bidi(text: &str) -> Cow<'_, str> {
    if !text.contains(is_bidi_mark) {
        return text.into();
    }
    let mut spelled = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_bidi_mark(c) {
            spelled.extend(c.escape_unicode());
        } else {
            spelled.push(c);
        }
    }
    spelled.into()
}

/// A number with its noun: `1 row`, `1,920 rows`.
///
/// ```
/// use schema::text::counted;
///
/// assert_eq!(counted(1, "new reply", "new replies"), "1 new reply");
/// assert_eq!(counted(1_920, "row", "rows"), "1,920 rows");
/// ```
#[must_use]
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// Lowercase hexadecimal digits, two a byte: the usual form of a digest.
///
/// ```
/// assert_eq!(schema::text::hex(&[0, 0x1f, 0xa0]), "001fa0");
/// ```
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or_default();
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shows_nothing_is_blank() {
        for text in [
            "",
            " \n",
            "\u{200b}",
            "\u{2060}\u{feff}",
            "\u{3164}",
            "\u{ffa0}",
            "\u{115f}\u{1160}",
            "\u{ad}",
            "\u{2800}",
            "\u{180e}",
            "\u{e0041}",
            "\u{fe0f}",
            "\u{202e}\u{2066}",
            "\u{0}\u{1b}",
            "\u{a0}\u{3000}\u{2028}",
        ] {
            assert!(is_blank(text), "{text:?}");
            assert_eq!(not_blank(text), None);
        }
        for text in ["x", "\u{200b}.", "你", "👍\u{fe0f}", "\u{301}", "한"] {
            assert!(!is_blank(text), "{text:?}");
        }
    }

    #[test]
    fn only_marks_of_direction_are_spelled_out() {
        let text = "a\u{200d}b\u{200f}\u{61c}\u{2069}é\n";
        assert_eq!(spell_bidi(text), "a\u{200d}b\\u{200f}\\u{61c}\\u{2069}é\n");
        assert!(matches!(spell_bidi("plain é\n"), Cow::Borrowed(_)));
    }
}
