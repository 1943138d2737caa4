//! The judge and its rules.

use serde_json::json;

use crate::{
    text::{normal, quoted, tag},
    wire::WireRole,
};

use super::{
    Call,
    behaviours::Behaviour,
    tools,
    transcript::{self, Speaker},
};

/// The verdict and its justification, by the first rule that applies. If the request has a scale or labels, `value` or `label` replaces
/// `present`. The form is the one that the request asks for: the verdict first, or last behind the messages that decide it.
pub(crate) fn reply(call: &Call<'_>) -> String {
    let field = |name: &str| tag(call.asked, name);
    let finding = find(
        &field("definition").unwrap_or_default(),
        &field("examples").unwrap_or_default(),
        &field("transcript").unwrap_or_default(),
    );
    let form = super::last(call.request, WireRole::System, "{\"evidence\": [");
    let last = form.is_some();
    let absent = form.is_some_and(|form| form.contains("\"absent\": \"yes\""));
    let (key, verdict) = if let Some((min, max)) = field("scale").as_deref().and_then(bounds) {
        ("value", json!(min + finding.step(max - min)))
    } else if let Some(labels) = field("labels") {
        let labels: Vec<&str> = labels
            .lines()
            .filter_map(|line| line.strip_prefix("- "))
            .collect();
        let highest = i64::try_from(labels.len()).unwrap_or_default() - 1;
        let label = usize::try_from(finding.step(highest)).unwrap_or_default();
        ("label", json!(labels.get(label)))
    } else if absent {
        ("absent", json!(if finding.hits > 0 { "no" } else { "yes" }))
    } else if last {
        (
            "present",
            json!(if finding.hits > 0 { "yes" } else { "no" }),
        )
    } else {
        ("present", json!(finding.hits > 0))
    };
    let justification = &finding.justification;
    match last {
        true => json!({"evidence": finding.first, "justification": justification, key: verdict}),
        false => json!({key: verdict, "justification": justification}),
    }
    .to_string()
}

/// `1 to 5`: the smallest and the largest value of a scale.
fn bounds(scale: &str) -> Option<(i64, i64)> {
    let (min, max) = scale.split_once(" to ")?;
    Some((min.trim().parse().ok()?, max.trim().parse().ok()?))
}

/// The result of a rule.
pub(super) struct Finding {
    /// The number of matching messages.
    pub(super) hits: usize,
    /// The number of messages.
    pub(super) messages: usize,
    /// The number of the first matching message, if there is one.
    pub(super) first: Vec<u64>,
    pub(super) justification: String,
}

impl Finding {
    /// The share of matching messages as a step from 0 to `last`, rounded up: 0 if none matches, `last` if all do.
    fn step(&self, last: i64) -> i64 {
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let (hits, messages) = (count(self.hits), count(self.messages).max(1));
        (last.saturating_mul(hits) + messages - 1) / messages
    }
}

/// Applies the first rule that applies.
fn find(definition: &str, examples: &str, transcript: &str) -> Finding {
    if let Some(finding) = tools::judge::find(definition, transcript) {
        return finding;
    }
    let said = assistant_messages(transcript);
    let (rule, found) = if let Some(phrases) = telling(definition) {
        (
            format!(
                "rule 1: the phrases quoted in the definition, {} of them",
                phrases.len()
            ),
            any_of(&said, &phrases),
        )
    } else if let Some(phrases) = telling(examples) {
        (
            format!(
                "rule 2: the phrases quoted in the examples, {} of them",
                phrases.len()
            ),
            any_of(&said, &phrases),
        )
    } else if let Some(behaviour) = Behaviour::mentioned_most(&normal(definition)) {
        (
            format!("rule 3: the lexicon's words for {:?}", behaviour.name),
            any_of(&said, behaviour.phrases),
        )
    } else {
        (
            "rule 4: a third of the definition's long words, two at least".to_owned(),
            shares_words(&said, definition),
        )
    };
    let justification = match found.first() {
        Some((number, words)) => {
            format!("Message [{number}] of the assistant says \"{words}\" ({rule}).")
        }
        None => format!(
            "None of the {} assistant messages matches ({rule}).",
            said.len()
        ),
    };
    Finding {
        hits: found.len(),
        messages: said.len(),
        first: number(found.first().map(|(number, _)| number.as_str())),
        justification,
    }
}

/// The number of a message, as a judge cites it.
pub(super) fn number(text: Option<&str>) -> Vec<u64> {
    let number = text.and_then(|text| text.trim_matches(['[', ']']).parse().ok());
    number.into_iter().collect()
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

/// The quoted phrases of `text` with at least one word; `None` if there is no such phrase.
fn telling(text: &str) -> Option<Vec<&str>> {
    let mut phrases = quoted(text);
    phrases.retain(|phrase| !normal(phrase).trim().is_empty());
    (!phrases.is_empty()).then_some(phrases)
}

/// The messages that contain one of `phrases`, each with the first such phrase.
fn any_of(said: &[Said<'_>], phrases: &[&str]) -> Vec<(String, String)> {
    let forms: Vec<(&str, String)> = phrases
        .iter()
        .map(|phrase| (*phrase, normal(phrase)))
        .collect();
    let holds = |(number, words): &Said<'_>| {
        let (phrase, _) = forms
            .iter()
            .find(|(_, form)| words.contains(form.as_str()))?;
        Some(((*number).to_owned(), (*phrase).to_owned()))
    };
    said.iter().filter_map(holds).collect()
}

/// The messages that contain a third, and at least two, of the definition's words of six letters or more.
fn shares_words(said: &[Said<'_>], definition: &str) -> Vec<(String, String)> {
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
    let shares = |(number, words): &Said<'_>| {
        let spoken: Vec<&str> = words.split_whitespace().collect();
        let shared: Vec<&str> = long
            .iter()
            .filter(|word| spoken.contains(word))
            .copied()
            .collect();
        (shared.len() >= needed).then(|| ((*number).to_owned(), shared.join(", ")))
    };
    said.iter().filter_map(shares).collect()
}
