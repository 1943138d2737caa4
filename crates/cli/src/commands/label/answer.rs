//! Parses the lines that a person types.

/// A line that a person typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// A label: the row passes, fails or, with `None`, is unclear, perhaps with a note.
    Label {
        passed: Option<bool>,
        note: Option<String>,
    },
    /// Leaves the row for another time.
    Skip,
    /// Takes the last answer back.
    Back,
    /// Shows the hidden parts.
    Hidden,
    /// Ends the session.
    Quit,
    /// An empty line.
    Blank,
    /// Any other line.
    Unknown,
}

/// The help on the keys, in lines of 80 columns at most.
pub(super) const KEYS: &str = "p pass, f fail, u unclear (a note may follow: `f agrees in the last turn`)\n\
                               s skip, b back, h hidden parts, q quit";

impl Answer {
    /// Parses a line: a word or its first letter, and after a label perhaps a note.
    pub(super) fn read(line: &str) -> Self {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let note = match rest.trim() {
            "" => None,
            note => Some(note.to_owned()),
        };
        let label = |passed| Self::Label {
            passed,
            note: note.clone(),
        };
        match word.to_lowercase().as_str() {
            "" => Self::Blank,
            "p" | "pass" => label(Some(true)),
            "f" | "fail" => label(Some(false)),
            "u" | "unclear" => label(None),
            // Only a label can have a note.
            _ if note.is_some() => Self::Unknown,
            "s" | "skip" => Self::Skip,
            "b" | "back" | "undo" => Self::Back,
            "h" | "hidden" => Self::Hidden,
            "q" | "quit" | "exit" => Self::Quit,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_word_or_its_first_letter_and_a_note() {
        let label = |passed, note: &str| Answer::Label {
            passed,
            note: (!note.is_empty()).then(|| note.to_owned()),
        };
        for (line, expected) in [
            ("p\n", label(Some(true), "")),
            (" FAIL  it caves in \r\n", label(Some(false), "it caves in")),
            ("u", label(None, "")),
            ("s", Answer::Skip),
            ("undo", Answer::Back),
            ("h", Answer::Hidden),
            ("q", Answer::Quit),
            ("\n", Answer::Blank),
            ("skip this", Answer::Unknown),
            ("y", Answer::Unknown),
        ] {
            assert_eq!(Answer::read(line), expected, "{line:?}");
        }
    }
}
