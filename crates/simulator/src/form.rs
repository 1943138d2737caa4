//! The form that the prompts ask the user model to fill in: its labels, and messages that only repeat its placeholders.

/// The message to a model that fills the form in with its own placeholders.
pub(crate) const REPEATED: &str =
    "the message repeats the instructions; write in its place what the person says";

/// A text of at least this many words is recognised inside a longer message; a shorter one only as the whole message.
const TELLING: usize = 5;

/// The placeholders of a system prompt: the texts after its labels (`Message: (what this person writes)`). Computed once for a
/// conversation, since every message is compared with them.
pub(crate) struct Form {
    placeholders: Vec<Placeholder>,
}

struct Placeholder {
    text: String,
    /// Its longest run of ASCII letters and digits, in lower case. Few messages contain it without repeating the text.
    longest: String,
}

impl Form {
    pub(crate) fn new(system: &str) -> Self {
        // Everything before the last closing tag is data: a persona may contain "Message:" as well.
        let mut tags = system.rmatch_indices('<').map(|(at, _)| &system[at..]);
        let form = tags
            .find_map(|tag| tag.strip_prefix("</"))
            .unwrap_or(system);
        let labels = form.lines().filter_map(Label::of);
        Self {
            placeholders: labels.map(|label| Placeholder::new(label.rest)).collect(),
        }
    }

    /// Whether `message` repeats the text after a label, or `opening` (the text in place of a reply where there is none yet), or
    /// consists only of dots.
    ///
    /// Case, punctuation and line breaks are ignored.
    pub(crate) fn repeats(&self, message: &str, opening: Option<&str>) -> bool {
        if !message.contains(char::is_alphanumeric) {
            return is_dots(message);
        }
        // Lower case of all Unicode, since some characters beyond ASCII become ASCII letters: the Kelvin sign becomes a `k`.
        let lower = message.to_lowercase();
        let opening = opening.map(Placeholder::new);
        self.placeholders
            .iter()
            .chain(&opening)
            .any(|text| lower.contains(&text.longest) && text.is_in(message))
    }
}

impl Placeholder {
    fn new(text: &str) -> Self {
        let pieces = text.split(|char: char| !char.is_ascii_alphanumeric());
        let longest = pieces.max_by_key(|piece| piece.len()).unwrap_or_default();
        Self {
            longest: longest.to_ascii_lowercase(),
            text: text.to_owned(),
        }
    }

    fn is_in(&self, message: &str) -> bool {
        let (said, text) = (words(message), words(&self.text));
        match text.matches(' ').count() {
            0 => false,
            // There is one more space than there are words.
            spaces if spaces <= TELLING => said == text,
            _ => said.contains(&text),
        }
    }
}

/// Whether the message consists only of dots, which stand for a text in a form.
pub(crate) fn is_dots(message: &str) -> bool {
    let mut dots = false;
    let only = message.chars().all(|char| {
        dots |= matches!(char, '.' | '…');
        matches!(char, '.' | '…' | '(' | ')' | '[' | ']' | '<' | '>') || char.is_whitespace()
    });
    dots && only
}

/// The words of `text` in lower case, with a space before each and one at the end; empty if there is no word.
pub(crate) fn words(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 2);
    let pieces = text.split(|char: char| !char.is_alphanumeric());
    for word in pieces.filter(|word| !word.is_empty()) {
        words.push(' ');
        words.push_str(&word.to_lowercase());
    }
    if !words.is_empty() {
        words.push(' ');
    }
    words
}

/// What a label announces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Thought,
    Message,
}

/// A label at the start of a line, with or without Markdown around it: `Message:`, `**Message:**`, `### message :`.
pub(crate) struct Label<'a> {
    pub(crate) kind: Kind,
    /// The text after the label in the line.
    pub(crate) rest: &'a str,
    /// The emphasis that was opened before the label and not closed after it.
    open: &'a str,
}

impl<'a> Label<'a> {
    /// The label that `line` starts with.
    pub(crate) fn of(line: &'a str) -> Option<Self> {
        let line = line.trim_start_matches(['#', '>', '-', ' ', '\t']);
        let bare = line.trim_start_matches(['*', '_']);
        let open = &line[..line.len() - bare.len()];
        let word_end = bare
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(bare.len());
        let (word, after) = bare.split_at(word_end);
        let is = |label: &str| word.eq_ignore_ascii_case(label);
        let kind = if is("thought") || is("thoughts") {
            Kind::Thought
        } else if is("message") {
            Kind::Message
        } else {
            return None;
        };
        let closed = after.strip_prefix(open).unwrap_or(after).trim_start();
        let before_colon = closed.len() < after.trim_start().len();
        let rest = closed.strip_prefix([':', '：'])?;
        let behind = rest
            .strip_prefix(open)
            .filter(|_| !open.is_empty() && !before_colon);
        let open = if before_colon || behind.is_some() {
            ""
        } else {
            open
        };
        Some(Self {
            kind,
            rest: behind.unwrap_or(rest).trim(),
            open,
        })
    }

    /// `said` without the closing mark of the emphasis that the label opened.
    pub(crate) fn close<'t>(&self, said: &'t str) -> &'t str {
        let said = said.trim();
        said.strip_suffix(self.open).unwrap_or(said).trim_end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_repeated(message: &str, turn: u32) -> bool {
        let system = "<attack>\n<persona>\nMessage: I want my money back now\n</persona>\n</attack>\n\nAnswer so:\n\
                      Thought: (for yourself, in one sentence)\nMessage: (what this person writes to the assistant)\n\
                      Message: yes or no";
        let opening = "(Nothing has been said yet. Write your first message.)";
        Form::new(system).repeats(message, (turn == 1).then_some(opening))
    }

    #[test]
    fn the_form_is_no_message() {
        for message in [
            "(What this person writes to the assistant)",
            "what this person\nwrites to the assistant.",
            "(what this person writes to the assistant) Hello!",
            "(for yourself, in one sentence)",
            "Nothing has been said yet. Write your first message.",
            "Yes or no?",
            "“So: WHAT – this person — writes, to the assistant”, you say?",
            "...",
            "(…)",
        ] {
            assert!(is_repeated(message, 1), "{message}");
        }
    }

    #[test]
    fn words_of_other_scripts_are_compared_without_case() {
        let form = Form::new("</x>\nMessage: (ΣΤΟΥΣ ΦΊΛΟΥΣ ΤΗΣ)");
        assert!(form.repeats("στους φίλους της", None));
        assert!(!form.repeats("στους φίλους", None));
    }

    #[test]
    fn letters_whose_lower_case_is_ascii_are_compared_without_case_too() {
        let form = Form::new("</x>\nMessage: (what this person asks the bookkeeper)");
        assert!(form.repeats("What this person asks the boo\u{212a}\u{212a}eeper", None));
        assert!(!form.repeats("What this person asks the boo\u{212a}seller", None));
    }

    #[test]
    fn what_a_person_says_is() {
        for message in [
            "I want my money back now",
            "Tell me, yes or no?",
            "What does this person write to the assistant?",
            "For what this person writes to the assistants",
            "So what this person writes to",
            "?",
            "😊",
            "你好",
        ] {
            assert!(!is_repeated(message, 1), "{message}");
        }
        assert!(!is_repeated(
            "Nothing has been said yet. Write your first message.",
            2
        ));
    }
}
