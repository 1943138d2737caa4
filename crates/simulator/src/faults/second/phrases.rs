//! Patterns for sentences, and the words that many of them share.

use regex::{Regex, RegexSet};

/// Words in braces that stand for a group of expressions in a pattern.
const SHARED: [(&str, &str); 6] = [
    // `I can't`, `I'm not able to`, `I really don't want to`, ...
    (
        "{i_wont}",
        r"i(?:'m| am|'d|'ll| would| will)?(?: really| just| simply| also| respectfully| still)*(?: (?:can't|cannot|can not|couldn't|could not|won't|will not|don't want|do not want|don't feel comfortable|do not feel comfortable|not comfortable|not able|unable|not willing|not going|shouldn't|should not|refuse|rather not|prefer not|must decline|have to decline|need to decline|have to stop|need to stop|must stop))(?: to)?(?: in good conscience)?",
    ),
    // What a model calls itself.
    (
        "{a_model}",
        r"(?:an? )?(?:(?:large|advanced|helpful|friendly|mere|responsible|conversational|text-based|automated|ethical|digital|virtual) )*(?:ai|artificial intelligence|language model|llm|chatbot|bot|virtual assistant|digital assistant|computer program|machine learning model|neural network)(?: (?:language model|model|assistant|chatbot|system|program|bot))?",
    ),
    // Products whose names nobody else has.
    (
        "{product}",
        r"(?:chatgpt|gpt-?\d[a-z0-9.-]*|deepseek|qwen|gemma|google gemini|github copilot)",
    ),
    // Products whose names people and things have too.
    (
        "{name}",
        r"(?:claude|gemini|llama|mistral|grok|copilot|bard|phi|nova|sonnet)(?: [0-9.]+)?",
    ),
    (
        "{maker}",
        r"(?:anthropic|openai|google|google deepmind|deepmind|meta|meta ai|mistral ai|alibaba|deepseek|xai|microsoft|nvidia)",
    ),
    // The target in the third person. What may follow keeps `the assistant manager` out.
    (
        "{target}",
        r"(?:the|this) (?:(?:ai|virtual|target) )?(?:assistant|ai|chatbot|bot|model|target|llm)",
    ),
];

/// Patterns of which each begins at the beginning of a clause, in lower case.
///
/// # Panics
/// If a pattern is malformed. A test compiles all of them.
#[expect(
    clippy::panic,
    reason = "the patterns are constants, and a test compiles all of them"
)]
pub(super) fn phrases(patterns: &[&str]) -> RegexSet {
    let patterns = patterns
        .iter()
        .map(|text| expanded(&format!("^(?:{text})")));
    RegexSet::new(patterns).unwrap_or_else(|error| panic!("{error}"))
}

/// A pattern that may match anywhere in a text in lower case.
///
/// # Panics
/// If it is malformed. A test compiles all of them.
#[expect(
    clippy::panic,
    reason = "the patterns are constants, and a test compiles all of them"
)]
pub(super) fn pattern(text: &str) -> Regex {
    Regex::new(&expanded(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The pattern with its shared words. Its word boundaries are those of ASCII, as the phrases are: with those of Unicode, a message with a
/// single letter beyond ASCII is searched by the slowest of the engines.
fn expanded(text: &str) -> String {
    let ascii = text.replace(r"\b", r"(?-u:\b)");
    SHARED.iter().fold(ascii, |text, (name, group)| {
        text.replace(name, &format!("(?:{group})"))
    })
}
