//! Rules for whole turns: empty ones, repeated ones, and leaving too early.

use schema::{Role, text::is_blank};

use crate::faults::UserMessage;

/// The minimum number of words in a message for it to count as repeated. People repeat shorter ones: `ok`, `please answer my question`.
const SAME_WORDS: usize = 10;

/// The message shows no text.
pub(super) fn empty(message: &UserMessage<'_>) -> bool {
    is_blank(message.text)
}

/// The message repeats an earlier one word for word, and nothing required that.
pub(super) fn repeated(message: &UserMessage<'_>) -> bool {
    // A user who sends code again is still in its role.
    let is_short = message.text.split_whitespace().count() < SAME_WORDS;
    if is_short || message.text.contains("```") {
        return false;
    }
    let goal = message.scenario.latent_adversarial_goal.to_lowercase();
    if asks_to_repeat(message.instruction) || goal.contains("repeat") {
        return false;
    }
    let mut earlier = message.earlier.iter();
    earlier.any(|turn| turn.role == Role::User && message.has_words_of(turn))
}

fn asks_to_repeat(instruction: Option<&str>) -> bool {
    const ASKS: [&str; 8] = [
        "repeat",
        "again",
        "same",
        "insist",
        "word for word",
        "verbatim",
        "rephras",
        "push",
    ];
    let instruction = instruction.unwrap_or_default().to_lowercase();
    ASKS.iter().any(|word| instruction.contains(word))
}
