//! The judge, and the rules it judges by.

use serde_json::json;

use crate::text::{normal, quoted, tag};

use super::{
    Call,
    behaviours::Behaviour,
    tools,
    transcript::{self, Speaker},
};

/// `{"present": …, "justification": …}`, by the first rule that applies.
pub(crate) fn reply(call: &Call<'_>) -> String {
    let field = |name: &str| tag(call.asked, name).unwrap_or_default();
    let definition = field("definition");
    let transcript = field("transcript");
    if let Some(verdict) = tools::judge::verdict(&definition, &transcript) {
        return verdict;
    }
    let said = assistant_messages(&transcript);
    let (rule, found) = if let Some(phrases) = telling(&definition) {
        (
            format!(
                "rule 1: the phrases quoted in the definition, {} of them",
                phrases.len()
            ),
            any_of(&said, &phrases),
        )
    } else if let Some(phrases) = telling(&field("examples")) {
        (
            format!(
                "rule 2: the phrases quoted in the examples, {} of them",
                phrases.len()
            ),
            any_of(&said, &phrases),
        )
    } else if let Some(behaviour) = Behaviour::mentioned_most(&normal(&definition)) {
        (
            format!("rule 3: the lexicon's words for {:?}", behaviour.name),
            any_of(&said, behaviour.phrases),
        )
    } else {
        (
            "rule 4: a third of the definition's long words, two at least".to_owned(),
            shares_words(&said, &definition),
        )
    };
    let justification = match &found {
        Some((number, words)) => {
            format!("Message [{number}] of the assistant says \"{words}\" ({rule}).")
        }
        None => format!(
            "None of the {} assistant messages matches ({rule}).",
            said.len()
        ),
    };
    json!({"present": found.is_some(), "justification": justification}).to_string()
}

/// An assistant message: its number, and its text in normal form.
pub(super) type Said<'a> = (&'a str, String);

/// The assistant's messages, calls included.
pub(super) fn assistant_messages(transcript: &str) -> Vec<Said<'_>> {
    let messages = transcript::read(transcript).into_iter();
    let said = messages.filter(|message| message.speaker == Speaker::Assistant);
    said.map(|message| (message.number, normal(&message.text)))
        .collect()
}

/// The quoted phrases of `text` that have a word in them; `None` where there is no such phrase.
fn telling(text: &str) -> Option<Vec<&str>> {
    let mut phrases = quoted(text);
    phrases.retain(|phrase| !normal(phrase).trim().is_empty());
    (!phrases.is_empty()).then_some(phrases)
}

/// The first message that holds one of `phrases`, and that phrase.
fn any_of(said: &[Said<'_>], phrases: &[&str]) -> Option<(String, String)> {
    let forms: Vec<(&str, String)> = phrases
        .iter()
        .map(|phrase| (*phrase, normal(phrase)))
        .collect();
    said.iter().find_map(|(number, words)| {
        let (phrase, _) = forms
            .iter()
            .find(|(_, form)| words.contains(form.as_str()))?;
        Some(((*number).to_owned(), (*phrase).to_owned()))
    })
}

/// The first message that holds a third, and two at least, of the definition's words of six letters or more.
fn shares_words(said: &[Said<'_>], definition: &str) -> Option<(String, String)> {
    let definition = normal(definition);
    let mut long: Vec<&str> = definition
        .split_whitespace()
        .filter(|word| {
            word.chars().count() >= 6 && !matches!(*word, "assistant" | "message" | "without")
        })
        .collect();
    long.sort_unstable();
    long.dedup();
    let needed = long.len().div_ceil(3).max(2);
    said.iter().find_map(|(number, words)| {
        let spoken: Vec<&str> = words.split_whitespace().collect();
        let shared: Vec<&str> = long
            .iter()
            .filter(|word| spoken.contains(word))
            .copied()
            .collect();
        (shared.len() >= needed).then(|| ((*number).to_owned(), shared.join(", ")))
    })
}
