//! Parses prompts: tags, words, sentences.

/// The text between `<name>` and `</name>`, trimmed, with the escapes of closing tags undone.
pub(crate) fn tag(text: &str, name: &str) -> Option<String> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let end = text.rfind(&close)?;
    let before = text.get(..end)?;
    let start = before.find(&open)? + open.len();
    Some(before.get(start..)?.trim().replace("<\\/", "</"))
}

/// The words of `text` in lower case, with one space before, between and after them. Punctuation and apostrophes are
/// removed, so that a phrase is found whatever its typography: `" youre right "`.
pub(crate) fn normal(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 2);
    words.push(' ');
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            words.push(letter.to_ascii_lowercase());
        } else if letter.is_alphanumeric() {
            words.extend(letter.to_lowercase());
        } else if !matches!(letter, '\'' | '’' | '‘') && !words.ends_with(' ') {
            words.push(' ');
        }
    }
    if !words.ends_with(' ') {
        words.push(' ');
    }
    words
}

/// How many of `starts` begin a word, or a sequence of words, in the normal form `words`.
pub(crate) fn hits(words: &str, starts: &[&str]) -> usize {
    let found = |start: &&&str| {
        let mut places = words.match_indices(**start);
        places.any(|(at, _)| words[..at].ends_with(' '))
    };
    starts.iter().filter(found).count()
}

/// The phrases in double quotes, straight or curly, in order.
pub(crate) fn quoted(text: &str) -> Vec<&str> {
    let mut phrases = Vec::new();
    let mut rest = text;
    while let Some((_, inside)) = rest.split_once(['"', '“']) {
        let Some((phrase, after)) = inside.split_once(['"', '”']) else {
            break;
        };
        phrases.push(phrase);
        rest = after;
    }
    phrases
}

/// `text` without the parts in double quotes.
pub(crate) fn unquoted(text: &str) -> String {
    text.split(['"', '“', '”']).step_by(2).collect()
}

/// The sentences of `text`, without their end marks.
pub(crate) fn sentences(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split_inclusive(['.', '!', '?', '\n'])
        .map(|sentence| sentence.trim().trim_end_matches(['.', '!', '?']).trim())
        .filter(|sentence| !sentence.is_empty())
}

/// The first `count` words of `text`, with an ellipsis if more follow.
pub(crate) fn start(text: &str, count: usize) -> String {
    let mut words = text.split_whitespace();
    let mut first = words.by_ref().take(count).collect::<Vec<_>>().join(" ");
    if words.next().is_some() {
        first.push('…');
    }
    first
}

/// `text` with its first letter in upper case.
pub(crate) fn upper_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// `text` with its first letter in lower case.
pub(crate) fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_whole_and_unescaped() {
        assert_eq!(tag("<x>1</x>", "x").as_deref(), Some("1"));
        assert_eq!(
            tag("<x> a <\\/x> b\n</x>", "x").as_deref(),
            Some("a </x> b")
        );
        assert_eq!(tag("<x>1", "x"), None);
        assert_eq!(tag("</x><x>", "x"), None);
    }

    #[test]
    fn phrases_are_found_whatever_their_typography() {
        assert_eq!(normal("You’re *right*,\n  I see!"), " youre right i see ");
        assert_eq!(normal(""), " ");
        assert_eq!(normal("ÄHM"), " ähm ");
        assert_eq!(hits(" flattering words ", &["flatter", "word", "lat"]), 2);
        assert_eq!(quoted("a \"b c\" and “d” and \"open"), ["b c", "d"]);
        assert_eq!(unquoted("a \"b\" c"), "a  c");
    }

    #[test]
    fn sentences_and_starts() {
        assert_eq!(
            sentences("A b. C?\nD!").collect::<Vec<_>>(),
            ["A b", "C", "D"]
        );
        assert_eq!(start("a b c", 2), "a b…");
        assert_eq!(start("a b", 2), "a b");
        assert_eq!(
            (upper_first("éa"), lower_first("ÉA")),
            ("Éa".to_owned(), "éA".to_owned())
        );
    }
}
