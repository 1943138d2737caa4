//! The escapes of GitHub's workflow commands, so that text from a file or a model cannot form a command.

/// Escapes the text after `::`. Control characters, except tabs and line breaks, which a log shows differently,
/// become U+FFFD.
pub fn data(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '%' => escaped.push_str("%25"),
            '\r' => escaped.push_str("%0D"),
            '\n' => escaped.push_str("%0A"),
            '\t' => escaped.push('\t'),
            // Some readers end a line at these characters too.
            '\u{2028}' | '\u{2029}' => escaped.push('\u{fffd}'),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Escapes the value of a property before `::`.
pub fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_a_model_gives_no_command() {
        assert_eq!(data("50%\n::error::x"), "50%25%0A::error::x");
        assert_eq!(property("a: b, c"), "a%3A b%2C c");
        assert_eq!(property("100%::x\r\n"), "100%25%3A%3Ax%0D%0A");
        let odd = "\u{1b}[31ma\0b\u{85}::warning::c\u{2028}d\te";
        assert_eq!(
            data(odd),
            "\u{fffd}[31ma\u{fffd}b\u{fffd}::warning::c\u{fffd}d\te"
        );
    }
}
