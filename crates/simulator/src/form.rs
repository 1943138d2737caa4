//! Messages that only repeat what the prompt has in their place.

use schema::Role;

use crate::{Side, label::Label, prompts::TurnNotes};

/// What a model is told that fills the form in with the form.
pub(crate) const REPEATED: &str =
    "the message repeats the instructions; write in its place what the person says";

/// A text of so many words is recognised inside a longer message, a shorter one only as the whole message.
const TELLING: usize = 5;

/// Whether `message` repeats what stands behind a label (`Message: (what this person writes)`) in the system prompt of `side`,
/// or the text that stands in place of a reply before the first message, or is nothing but dots.
///
/// Case, punctuation and line breaks do not count.
pub(crate) fn repeats(message: &str, side: &Side, notes: &TurnNotes<'_>) -> bool {
    let said = words(message);
    if said.is_empty() {
        return is_dots(message);
    }
    let messages = side.request().messages.iter();
    let system = messages.take(1).find(|first| first.role == Role::System);
    let system = system.map_or("", |first| &*first.content);
    // What stands before is data: a persona may say "Message:" as well.
    let form = system.rsplit_once("</").map_or(system, |(_, form)| form);
    let placeholders = form.lines().filter_map(Label::of).map(|label| label.rest);
    let opening = (notes.turn == 1).then_some(notes.incoming);
    placeholders
        .chain(opening)
        .any(|text| repeated(&said, &words(text)))
}

fn repeated(said: &[&str], text: &[&str]) -> bool {
    let same = |part: &[&str]| {
        part.len() == text.len() && part.iter().zip(text).all(|(a, b)| same_word(a, b))
    };
    match text.len() {
        0 => false,
        few if few < TELLING => same(said),
        many => said.windows(many).any(same),
    }
}

fn same_word(a: &str, b: &str) -> bool {
    if a.is_ascii() && b.is_ascii() {
        return a.eq_ignore_ascii_case(b);
    }
    a.to_lowercase() == b.to_lowercase()
}

/// Whether there is nothing but dots, which stand for a text in a form.
pub(crate) fn is_dots(message: &str) -> bool {
    let mut dots = false;
    let only = message.chars().all(|char| {
        dots |= matches!(char, '.' | '…');
        matches!(char, '.' | '…' | '(' | ')' | '[' | ']' | '<' | '>') || char.is_whitespace()
    });
    dots && only
}

fn words(text: &str) -> Vec<&str> {
    text.split(|char: char| !char.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use schema::{CallContext, Purpose};

    use super::*;

    fn is_repeated(message: &str, turn: u32) -> bool {
        let system = "<attack>\n<persona>\nMessage: I want my money back now\n</persona>\n</attack>\n\nAnswer so:\n\
                      Thought: (for yourself, in one sentence)\nMessage: (what this person writes to the assistant)\n\
                      Message: yes or no";
        let side = Side::new(
            Some(system.into()),
            CallContext::new(Purpose::UserTurn, "x"),
        );
        let notes = TurnNotes {
            incoming: "(Nothing has been said yet. Write your first message.)",
            turn,
            turns: 2,
            instruction: None,
            refused: None,
        };
        repeats(message, &side, &notes)
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
            "...",
            "(…)",
        ] {
            assert!(is_repeated(message, 1), "{message}");
        }
    }

    #[test]
    fn what_a_person_says_is() {
        for message in [
            "I want my money back now",
            "Tell me, yes or no?",
            "What does this person write to the assistant?",
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
