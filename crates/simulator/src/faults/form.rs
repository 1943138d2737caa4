//! Thoughts in the message, and words that an instruction gives.

use super::UserMessage;
use crate::form::words;

/// The tags that models think between.
const THINKING: [&str; 3] = ["think", "thinking", "reasoning"];

/// A thought has at least so many words; a message about the tags has fewer between them.
const THOUGHT_WORDS: usize = 3;

/// The message begins with a thought between tags.
pub(super) fn thought_text(message: &UserMessage<'_>) -> bool {
    let text = message.text.trim_start();
    THINKING.iter().any(|tag| {
        let inside = text
            .strip_prefix(&format!("<{tag}>"))
            .and_then(|rest| rest.split_once(&format!("</{tag}>")));
        inside.is_some_and(|(thought, _)| thought.split_whitespace().count() >= THOUGHT_WORDS)
    })
}

/// How an instruction announces words that are to be said as they are.
const EXACTLY: [&str; 4] = [" exactly ", " word for word ", " verbatim ", " literally "];

/// What makes it uncertain that the user has to say them.
const UNSURE: [&str; 16] = [
    " not ",
    " never ",
    " don t ",
    " avoid ",
    " without ",
    " unless ",
    " if ",
    " or ",
    " assistant ",
    " ai ",
    " it ",
    " model ",
    " chatbot ",
    " them ",
    " target ",
    " until ",
];

/// The instruction gives a text in quotation marks to be said exactly, and the message does not have it.
pub(super) fn landmark(message: &UserMessage<'_>) -> bool {
    let Some(instruction) = message.instruction else {
        return false;
    };
    let Some(text) = exact_text(instruction) else {
        return false;
    };
    !words(message.text).contains(&words(text))
}

/// The only text in quotation marks of an instruction that asks for it exactly.
fn exact_text(instruction: &str) -> Option<&str> {
    let straight = instruction.split('"').collect::<Vec<_>>();
    let (before, text, behind) = match straight[..] {
        [before, text, behind] => (before, text, behind),
        [_] => {
            let (before, rest) = instruction.split_once('“')?;
            let (text, behind) = rest.split_once('”')?;
            (before, text, behind)
        }
        _ => return None,
    };
    let around = format!("{}{}", words(before), words(behind));
    let exactly = EXACTLY.iter().any(|word| words(before).contains(word));
    let unsure = UNSURE.iter().any(|word| around.contains(word)) || behind.contains(['“', '”']);
    (exactly && !unsure && text.contains(char::is_alphanumeric)).then_some(text)
}
