//! Marks that end the conversation, sent as a message.

use std::sync::LazyLock;

use regex::Regex;
use schema::Role;

use super::{phrases::pattern, reading::Reading};

/// The whole message is the word of the prompt, or a mark in brackets: `[end of conversation]`, `*leaves the chat*`.
static END: LazyLock<Regex> = LazyLock::new(|| {
    let it = r"(?:the |this )?(?:conversation|chat|dialogue|session|discussion)";
    pattern(&format!(
        r"^(?:\W*(?:terminate|terminates|end) {it}\W*|[(\[<*/]+ ?(?:(?:the )?(?:user|person|i) )?(?:(?:ends?|ended|end of|leaves?|left|exits?|terminates?|closes?) {it}|{it} (?:ends?|ended|over|closed|terminated|has ended|is over|complete)|end|exit|eot|done) ?[)\]>*]*)$"
    ))
});

/// Whether the whole message only ends the conversation.
pub(super) fn is_end_mark(reading: &Reading<'_>) -> bool {
    END.is_match(reading.plain.trim().trim_end_matches('.'))
}

/// The message only ends the conversation, and there are instructions for later turns.
pub(super) fn marks_end(reading: &Reading<'_>) -> bool {
    let message = reading.message;
    let earlier = message.earlier.iter();
    let before = earlier.filter(|turn| turn.role == Role::User).count();
    let mut waiting = message.scenario.landmarks.iter();
    let is_first = before == 0;
    (is_first || waiting.any(|landmark| landmark.turn as usize > before + 1))
        && is_end_mark(reading)
}
