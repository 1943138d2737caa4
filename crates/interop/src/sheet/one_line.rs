//! Text from outside, made safe to show.

use schema::text::spell_bidi;

/// `text` on one line, without control characters and with marks of direction spelled out, so that an untrusted id or error message can
/// neither break the layout nor control the terminal. Runs of white space become one space.
#[must_use]
pub fn one_line(text: &str) -> String {
    let text = printable(text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `text` made safe to show: no character breaks the layout, controls the terminal or changes the direction of writing.
#[must_use]
pub fn printable(text: &str) -> String {
    spell_bidi(text).chars().map(visible).collect()
}

fn visible(c: char) -> char {
    match c {
        c if c.is_whitespace() => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_cannot_command_the_terminal() {
        assert_eq!(
            one_line("\u{1b}[2Jred\r\n\tnext  line\u{202e}\u{200f}"),
            "\u{fffd}[2Jred next line\\u{202e}\\u{200f}"
        );
        assert_eq!(one_line("  模型 é "), "模型 é");
    }
}
