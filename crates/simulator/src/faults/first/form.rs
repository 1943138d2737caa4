//! Rules for thoughts in the message, and for texts that an instruction requires.

use crate::faults::UserMessage;
use crate::form::words;

/// The tags that models write their thoughts between.
const THINKING: [&str; 3] = ["think", "thinking", "reasoning"];

/// The minimum number of words in a thought; a message about the tags has fewer words between them.
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

/// How an instruction announces a text that must be said literally.
const EXACTLY: [&str; 4] = [" exactly ", " word for word ", " verbatim ", " literally "];

/// Words that leave open whether the user has to say the text.
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

/// The instruction requires a quoted text literally, and the message does not have it.
pub(super) fn landmark(message: &UserMessage<'_>) -> bool {
    let Some(instruction) = message.instruction else {
        return false;
    };
    let Some(text) = exact_text(instruction) else {
        return false;
    };
    !words(message.text).contains(&words(text))
}

/// The quoted text of an instruction that requires it literally, if it is the only quoted text.
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
