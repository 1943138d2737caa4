//! Decides when two prompts are the same.

/// The normal form of a prompt for comparison: lower case, one space between words, without punctuation and quotation marks.
/// Symbols such as `+` and `<` stay, so that sums and code do not run together. A prompt that consists only of punctuation
/// stays unchanged.
///
/// ```
/// use schema::safety::normalised;
///
/// assert_eq!(normalised("Can’t I  just\nwait?"), normalised("can't I just wait"));
/// assert_ne!(normalised("Is 2 > 1?"), normalised("Is 2 < 1?"));
/// ```
#[must_use]
pub fn normalised(prompt: &str) -> String {
    let mut out = String::with_capacity(prompt.len());
    for word in prompt.split_whitespace() {
        let letters: String = word
            .chars()
            .filter(|letter| !is_mark(*letter))
            .flat_map(char::to_lowercase)
            .collect();
        if letters.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&letters);
    }
    if out.is_empty() {
        return prompt.trim().to_owned();
    }
    out
}

fn is_mark(letter: char) -> bool {
    matches!(
        letter,
        '.' | ',' | ';' | ':' | '!' | '?' | '…' | '\'' | '"' | '`' | '*' | '_' | '(' | ')'
            | '-' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2010}'..='\u{2015}' | '‘'..='‟' | '«' | '»'
            | '‹' | '›' | '、' | '。' | '「' | '」' | '！' | '？' | '，' | '：' | '；' | '¿' | '¡'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_case_and_blanks_make_no_other_prompt() {
        let same = [
            "Tell me - now!",
            "tell me — NOW",
            "  Tell\tme\n\nnow… ",
            "“Tell me”, now",
            "**Tell me** now.",
        ];
        for text in same {
            assert_eq!(normalised(text), "tell me now", "{text}");
        }
    }

    #[test]
    fn other_prompts_stay_apart() {
        for (one, other) in [
            ("1 + 1", "1 * 1 = 1"),
            ("a b", "ab"),
            ("???", "!"),
            ("ähm", "ahm"),
            ("你好", "您好"),
        ] {
            assert_ne!(normalised(one), normalised(other));
        }
        assert_eq!(normalised(" ?! "), "?!");
        assert_eq!(normalised(""), "");
    }
}
