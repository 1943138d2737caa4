//! Lines with a word before them, and lists that are cut to the lines that there are.

use schema::FindingKind;

use crate::text::{prefix, width};

/// The columns of the word before a text.
const LABEL: usize = 8;
/// The columns that a line keeps for text, however narrow the terminal is.
const NARROWEST: usize = 24;

/// A text of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Those of the same kind are said once, with their number, where all have no room.
    pub(crate) kind: Option<FindingKind>,
    /// A sentence or two.
    pub(crate) text: String,
    /// Its fact without advice, which is enough where there is little room.
    pub(crate) fact: String,
}

/// `text` in lines of at most `columns`. Words, and commands in backticks, stay whole.
pub(crate) fn lines_of(text: &str, first: &str, rest: &str, columns: usize) -> Vec<String> {
    const NO_BREAK: &str = "\u{a0}";
    let parts = text
        .split('`')
        .enumerate()
        .map(|(nth, part)| match nth % 2 {
            0 => part.to_owned(),
            _ => part.replace(' ', NO_BREAK),
        });
    let options = textwrap::Options::new(columns.max(width(rest) + NARROWEST))
        .initial_indent(first)
        .subsequent_indent(rest)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let text = parts.collect::<Vec<_>>().join("`");
    let lines = textwrap::wrap(&text, options);
    lines
        .iter()
        .map(|line| line.trim_end().replace(NO_BREAK, " "))
        .collect()
}

/// A text behind a word: `trust   all rows have a verdict`.
pub(crate) fn labelled(label: &str, text: &str, columns: usize) -> Vec<String> {
    lines_of(
        text,
        &format!("{label:LABEL$}"),
        &" ".repeat(LABEL),
        columns,
    )
}

/// The entries behind a word in at most `room` lines: each whole; else one of each kind; else the facts of these; else the first facts. The
/// last line then counts the others and names the command `all` that shows them.
pub(crate) fn fitted(
    label: &str,
    entries: &[Entry],
    room: Option<usize>,
    all: &str,
    columns: usize,
) -> Vec<String> {
    let columns = columns.saturating_sub(LABEL);
    let whole: Vec<Block> = entries
        .iter()
        .map(|one| Block::new(&one.text, 1, columns))
        .collect();
    let kinds = by_kind(entries);
    let [texts, facts] = [false, true].map(|is_short| -> Vec<Block> {
        let kinds = kinds.iter();
        let block = |(entry, number): &(&Entry, usize)| {
            let text = if is_short { &entry.fact } else { &entry.text };
            Block::new(text, *number, columns)
        };
        kinds.map(block).collect()
    });
    let fits = |blocks: &&Vec<Block>| {
        room.is_none_or(|room| blocks.iter().map(|block| block.lines.len()).sum::<usize>() <= room)
    };
    let lines = match ([&whole, &texts, &facts].into_iter().find(fits), room) {
        (Some(blocks), _) => blocks
            .iter()
            .flat_map(|block| block.lines.clone())
            .collect(),
        (None, room) => first_ones(&facts, room.unwrap_or_default(), all, columns),
    };
    with_label(label, lines)
}

/// The lines of an entry, and how many entries of its kind there are.
struct Block {
    lines: Vec<String>,
    number: usize,
}

impl Block {
    fn new(text: &str, number: usize, columns: usize) -> Self {
        let lines = match number {
            1 => lines_of(text, "", "", columns),
            number => {
                let text = format!("{text} ({} more of this kind)", number - 1);
                lines_of(&text, "", "", columns)
            }
        };
        Self { lines, number }
    }
}

/// The first entry of each kind, with the number of entries of the kind.
fn by_kind(entries: &[Entry]) -> Vec<(&Entry, usize)> {
    let mut found: Vec<(&Entry, usize)> = Vec::new();
    for entry in entries {
        let same =
            |(known, _): &&mut (&Entry, usize)| entry.kind.is_some() && known.kind == entry.kind;
        match found.iter_mut().find(same) {
            Some((_, number)) => *number += 1,
            None => found.push((entry, 1)),
        }
    }
    found
}

/// The first entries in `room` lines, and the number of the others.
fn first_ones(blocks: &[Block], room: usize, all: &str, columns: usize) -> Vec<String> {
    let room = room.saturating_sub(1);
    let mut shown: Vec<String> = Vec::new();
    let mut left = blocks.iter();
    for block in blocks {
        if shown.len() + block.lines.len() > room {
            break;
        }
        shown.extend(block.lines.iter().cloned());
        left.next();
    }
    if shown.is_empty() && room > 0 {
        shown.extend(
            left.next()
                .map(|first| cut(first, room, columns))
                .unwrap_or_default(),
        );
    }
    let more: usize = left.map(|block| block.number).sum();
    let text = match (shown.is_empty(), more) {
        (_, 0) => format!("the rest of it: {all}"),
        (true, more) => format!("{more}: {all}"),
        (false, more) => format!("and {more} more: {all}"),
    };
    shown.extend(lines_of(&text, "", "", columns).into_iter().take(1));
    shown
}

/// The first lines, the last of them with a sign that it goes on.
fn cut(block: &Block, room: usize, columns: usize) -> Vec<String> {
    let mut shown: Vec<String> = block.lines.iter().take(room).cloned().collect();
    if let Some(last) = shown.last_mut() {
        let most = columns.saturating_sub(2);
        *last = format!("{} …", prefix(last, most).trim_end());
    }
    shown
}

fn with_label(label: &str, lines: Vec<String>) -> Vec<String> {
    let lines = lines.into_iter().enumerate();
    lines
        .map(|(at, line)| {
            let label = if at == 0 { label } else { "" };
            format!("{label:LABEL$}{line}").trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]
mod tests {
    use super::*;

    fn entry(kind: Option<FindingKind>, text: &str) -> Entry {
        let fact = text.split(';').next().unwrap().to_owned();
        Entry {
            kind,
            text: text.to_owned(),
            fact,
        }
    }

    #[test]
    fn a_list_is_whole_or_has_one_of_each_kind_or_its_first_entries() {
        let replies = Some(FindingKind::IncompleteReplies);
        let advised = "No person has read them; label some of the rows and look at them.";
        let entries = [
            entry(None, "First place is open."),
            entry(replies, "a has 3."),
            entry(replies, "b has 4."),
            entry(Some(FindingKind::UncheckedJudge), advised),
        ];
        let shown = |room| fitted("limits", &entries, room, "`see all`", 60);
        assert_eq!(
            shown(None),
            [
                "limits  First place is open.",
                "        a has 3.",
                "        b has 4.",
                "        No person has read them; label some of the rows and",
                "        look at them."
            ]
        );
        assert_eq!(shown(Some(5)), shown(None));
        assert_eq!(
            shown(Some(4))[1..],
            [
                "        a has 3. (1 more of this kind)",
                "        No person has read them; label some of the rows and",
                "        look at them."
            ]
        );
        assert_eq!(
            shown(Some(3))[1..],
            [
                "        a has 3. (1 more of this kind)",
                "        No person has read them"
            ]
        );
        assert_eq!(
            shown(Some(2)),
            [
                "limits  First place is open.",
                "        and 3 more: `see all`"
            ]
        );
        assert_eq!(shown(Some(1)), ["limits  4: `see all`"]);
        assert_eq!(fitted("limits", &[], Some(2), "", 60), [""; 0]);
    }

    #[test]
    fn a_text_without_room_is_cut_and_commands_stay_whole() {
        let long = [entry(
            None,
            "one two three four five six seven eight nine ten eleven twelve thirteen",
        )];
        assert_eq!(
            fitted("limits", &long, Some(2), "`see all`", 40),
            [
                "limits  one two three four five six …",
                "        the rest of it: `see all`"
            ]
        );
        assert_eq!(
            lines_of("do run it now with `a b c d`", "", "  ", 26),
            ["do run it now with", "  `a b c d`"]
        );
    }
}
