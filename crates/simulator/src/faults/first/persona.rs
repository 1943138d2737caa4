//! Rules for what people say about themselves, compared with the scenario's demographic values.

use serde_json::Value;

use crate::faults::{
    UserMessage,
    demographics::{Gender, YEARS_BESIDE, age_range, has_number},
    sentences::after,
};

/// The person claims to be a man or a woman, or to have an age, and the scenario's demographic values
/// contradict it.
pub(super) fn ignored(message: &UserMessage<'_>) -> bool {
    let mut axes = message.scenario.demographic.iter();
    axes.any(|(axis, value)| {
        let Value::String(value) = value else {
            return false;
        };
        if let Some(gender) = Gender::of(axis, value) {
            let other = gender.other();
            return message.says(|sentence| is_claimed(other, sentence))
                && !other.is_in(message.scenario);
        }
        age_range(axis, value).is_some_and(|range| {
            message.says(|sentence| states_other_age(sentence, range, message))
        })
    })
}

fn states_other_age(sentence: &str, (from, to): (u32, u32), message: &UserMessage<'_>) -> bool {
    stated_age(sentence).is_some_and(|age| {
        let beside =
            age.saturating_add(YEARS_BESIDE) < from || age > to.saturating_add(YEARS_BESIDE);
        beside && !has_number(message.scenario, age)
    })
}

/// `I'm a woman and ...`, `As a woman, I ...`, and not `I'm a woman's rights lawyer`.
fn is_claimed(gender: Gender, sentence: &str) -> bool {
    let noun = gender.noun();
    let starts = [format!("i'm a {noun}"), format!("i am a {noun}")];
    let mut is = starts.iter().filter_map(|start| after(sentence, start));
    let ends = |rest: &str| {
        let words = [" and ", " who ", " in my ", " myself"];
        rest.is_empty()
            || rest.starts_with(['.', '!', ','])
            || words.iter().any(|word| rest.starts_with(word))
    };
    is.any(ends) || sentence.starts_with(&format!("as a {noun}, i "))
}

/// The age that a sentence states: `I'm 23 years old`, `As a 23-year-old, I ...`.
fn stated_age(sentence: &str) -> Option<u32> {
    let rest = ["i'm ", "i am ", "as a "]
        .iter()
        .find_map(|start| sentence.strip_prefix(start))?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let (age, rest) = rest.split_at(digits);
    let ends = ["years old", "year old", "year-old", "-year-old", "y/o"]
        .iter()
        .find_map(|unit| after(rest.trim_start(), unit))?;
    let about_me =
        ends.is_empty() || ends.starts_with(['.', '!', ',']) || ends.starts_with(" and ");
    about_me.then(|| age.parse().ok()).flatten()
}
