//! Fitting untrusted text into columns.

pub(crate) use interop::sheet::{one_line as clean, printable as shown};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A line with a capital letter at its start.
pub(crate) fn sentence(line: &str) -> String {
    let mut letters = line.chars();
    match letters.next() {
        Some(first) => format!("{}{}", first.to_uppercase(), letters.as_str()),
        None => String::new(),
    }
}

/// The width of `text` in columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// `text` in at most `columns` columns. The middle of a longer text is replaced by `…`, because ids differ at both ends.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else {
        return String::new();
    };
    let head = prefix(text, room.div_ceil(2));
    let rest = text.get(head.len()..).unwrap_or_default();
    let tail = suffix(rest, room - width(head));
    format!("{head}…{tail}")
}

/// The longest prefix of `text` that takes at most `columns`. Very many marks without a width end it earlier.
pub(crate) fn prefix(text: &str, columns: usize) -> &str {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let fits = |end: &usize| text.get(..*end).is_some_and(|part| width(part) <= columns);
    let end = ends.take(4 * columns).take_while(fits).last().unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// The longest suffix of `text` that takes at most `columns` and does not begin with a mark on the letter before it.
fn suffix(text: &str, columns: usize) -> &str {
    let starts = text.char_indices().rev().map(|(at, _)| at);
    let fits = |start: &usize| {
        text.get(*start..)
            .is_some_and(|part| width(part) <= columns)
    };
    let start = starts
        .take(4 * columns)
        .take_while(fits)
        .last()
        .unwrap_or(text.len());
    let part = text.get(start..).unwrap_or_default();
    part.trim_start_matches(|c: char| c.width() == Some(0))
}

/// `text` cut to about 600 characters: its start and its end.
pub(crate) fn excerpt(text: String) -> String {
    const START: usize = 400;
    const END: usize = 200;
    let split = text.char_indices().nth(START).map(|(at, _)| at);
    let end = text.char_indices().rev().nth(END - 1).map(|(at, _)| at);
    match (split, end) {
        (Some(split), Some(end)) if split < end => {
            let (start, _) = text.split_at(split);
            let (_, end) = text.split_at(end);
            format!("{start} … {end}")
        }
        _ => text,
    }
}

/// `text` wrapped into lines of at most `columns`. Each line starts with `indent` and ends with a line break.
pub(crate) fn wrapped(text: &str, indent: &str, columns: usize) -> String {
    hanging(text, indent, indent, columns)
}

/// [`wrapped`], with a different indent for the first line.
pub(crate) fn hanging(text: &str, first: &str, rest: &str, columns: usize) -> String {
    let options = textwrap::Options::new(columns.max(width(first) + 10))
        .initial_indent(first)
        .subsequent_indent(rest)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let lines = textwrap::wrap(text, options);
    lines
        .iter()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// Width in columns of the speaker's name in front of the words.
const SPEAKER: usize = 11;

/// A speaker's words, indented by `before`: the name in front, the words in a column of their own.
pub(crate) fn section(speaker: &str, words: &str, before: &str, columns: usize) -> String {
    let mut text = String::new();
    let mut indent = before.to_owned();
    let mut first = None;
    if width(speaker) < SPEAKER {
        if !speaker.is_empty() {
            let gap = " ".repeat(SPEAKER - width(speaker));
            first = Some(format!("{before}{speaker}{gap}"));
            indent.push_str(&" ".repeat(SPEAKER));
        }
    } else {
        text.push_str(&wrapped(speaker, before, columns));
        indent.push_str("  ");
    }
    let mut lines = words.trim_end().lines().peekable();
    if lines.peek().is_none() {
        text.push_str(&format!("{}(nothing)\n", first.as_ref().unwrap_or(&indent)));
    }
    for line in lines {
        let line = shown(line);
        if line.trim().is_empty() {
            text.push('\n');
            continue;
        }
        let wrapped = wrapped(&line, &indent, columns);
        match first.take() {
            Some(first) => {
                text.push_str(&first);
                text.push_str(wrapped.get(indent.len()..).unwrap_or(&wrapped));
            }
            None => text.push_str(&wrapped),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortening_keeps_both_ends_and_the_width() {
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("gpt-4.1-mini-2025", 9), "gpt-…2025");
        assert_eq!(shorten("gpt-4.1-mini-2025", 10), "gpt-4…2025");
        assert_eq!(shorten("abc", 1), "…");
        assert_eq!(shorten("abc", 0), "");
        let texts = [
            "模型模型模型模型",
            "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}",
            "👩‍🔬👩‍🔬👩‍🔬👩‍🔬",
            "a模b型c模d",
        ];
        for text in texts {
            for columns in 0..12 {
                let short = shorten(text, columns);
                assert!(width(&short) <= columns, "{text} in {columns}: {short}");
            }
        }
        assert_eq!(shorten("模型模型模型", 7), "模…模型");
    }

    #[test]
    fn long_reasons_keep_their_start_and_end() {
        assert_eq!(excerpt("é".repeat(600)), "é".repeat(600));
        let long = format!("start{}end", "é".repeat(5_000));
        let short = excerpt(long);
        assert!(short.starts_with("start") && short.ends_with("end"));
        assert_eq!(short.chars().count(), 603);
    }
}
