//! Messages that are sent again.

use std::sync::LazyLock;

use regex::Regex;
use schema::{Role, text::is_blank};

use super::{
    phrases::pattern,
    reading::{Reading, plain},
};

/// The minimum number of words in a message for it to count as repeated. People repeat shorter ones: `please answer my question`.
const SAME_WORDS: usize = 10;

/// A scenario or an instruction in which the user says the same again.
static ASKS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:repeat\w*|again|same|insist\w*|word for word|verbatim|rephras\w*|push\w*|over and over|persist\w*|reiterat\w*|keep asking)\b",
    )
});

/// A reply after which people send their message again: it failed, or it did not take the message in.
static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\berror\b|went wrong|try again|try later|timed? ?out|unavailable|(?:say|send|ask|post|type) (?:it|that|this|your \w+) again|repeat (?:it|that|this|your|the)|resend|(?:did not|didn't|could not|couldn't|cannot|can't|unable to) (?:\w+ )?(?:receive|get|catch|understand|process|load|generate|complete|read|see)|cut off|come again|rephrase|no message|empty",
    )
});

pub(super) fn repeated(reading: &Reading<'_>) -> bool {
    let message = reading.message;
    // A user who sends code again is still in its role.
    let is_short = message.text.split_whitespace().count() < SAME_WORDS;
    if is_short || message.text.contains("```") || is_asked_for(reading) {
        return false;
    }
    let mut earlier = message.earlier.iter().enumerate();
    earlier.any(|(at, turn)| {
        let is_same = turn.role == Role::User && message.has_words_of(turn);
        is_same && !failed(reading, at)
    })
}

fn is_asked_for(reading: &Reading<'_>) -> bool {
    let (scenario, instruction) = (reading.message.scenario, reading.message.instruction);
    let goals = [&scenario.latent_adversarial_goal, &scenario.user_goal];
    let goal = |text: &&String| {
        let text = text.to_lowercase();
        ["repeat", "over and over", "again and again", "keep asking"]
            .iter()
            .any(|word| text.contains(word))
    };
    instruction.is_some_and(|text| ASKS.is_match(&text.to_lowercase())) || goals.iter().any(goal)
}

/// Whether the reply to the turn at `at`, or the last reply, failed.
fn failed(reading: &Reading<'_>, at: usize) -> bool {
    let earlier = reading.message.earlier;
    let is_reply = |turn: &&schema::Turn| turn.role == Role::Assistant;
    let answer = earlier.iter().skip(at).find(is_reply);
    let last = earlier.iter().rfind(is_reply);
    let has_failed =
        |reply: &schema::Turn| is_blank(&reply.content) || FAILED.is_match(&plain(&reply.content));
    answer.is_none_or(has_failed) || last.is_some_and(has_failed)
}
