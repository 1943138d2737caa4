//! Rules for what people say about themselves, compared with the scenario's demographic values.

use schema::Scenario;
use serde_json::Value;

use super::{UserMessage, sentences::after};
use crate::form::words;

/// A stated age may be this many years outside the range: people round, and birthdays pass.
const YEARS_BESIDE: u32 = 5;

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
            return message.says(|sentence| other.is_claimed(sentence))
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Gender {
    Man,
    Woman,
}

impl Gender {
    fn of(axis: &str, value: &str) -> Option<Self> {
        let axis = axis.to_lowercase();
        if axis != "gender" && axis != "sex" {
            return None;
        }
        match value.trim().to_lowercase().as_str() {
            "man" | "male" | "a man" => Some(Self::Man),
            "woman" | "female" | "a woman" => Some(Self::Woman),
            _ => None,
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Man => Self::Woman,
            Self::Woman => Self::Man,
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Man => "man",
            Self::Woman => "woman",
        }
    }

    /// `I'm a woman and ...`, `As a woman, I ...`, and not `I'm a woman's rights lawyer`.
    fn is_claimed(self, sentence: &str) -> bool {
        let noun = self.noun();
        let is = [format!("i'm a {noun}"), format!("i am a {noun}")];
        let mut is = is.iter().filter_map(|start| after(sentence, start));
        let ends = |rest: &str| {
            let words = [" and ", " who ", " in my ", " myself"];
            rest.is_empty()
                || rest.starts_with(['.', '!', ','])
                || words.iter().any(|word| rest.starts_with(word))
        };
        is.any(ends) || sentence.starts_with(&format!("as a {noun}, i "))
    }

    fn is_in(self, scenario: &Scenario) -> bool {
        let word = format!(" {} ", self.noun());
        texts(scenario).any(|text| words(text).contains(&word))
    }
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

/// The ages that a value covers: `18-25`, `65+`, `over 60`, `under 18`, `30s`, `42`.
fn age_range(axis: &str, value: &str) -> Option<(u32, u32)> {
    let axis = axis.to_lowercase();
    if !matches!(
        axis.as_str(),
        "age" | "age_group" | "age group" | "age_range"
    ) {
        return None;
    }
    let value = value.to_lowercase();
    let numbers: Vec<u32> = value
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect();
    let says = |word: &str| value.contains(word);
    match numbers[..] {
        [from, to] if from <= to => Some((from, to)),
        [from] if says("+") || says("over") || says("older") || says("above") => {
            Some((from, u32::MAX))
        }
        [to] if says("under") || says("below") || says("younger") => Some((0, to)),
        [decade] if says("0s") => Some((decade, decade + 9)),
        [age] => Some((age, age)),
        _ => None,
    }
}

fn has_number(scenario: &Scenario, number: u32) -> bool {
    let word = format!(" {number} ");
    texts(scenario).any(|text| words(text).contains(&word))
}

fn texts(scenario: &Scenario) -> impl Iterator<Item = &str> {
    let goals = [
        scenario.played_persona(),
        &scenario.user_goal,
        &scenario.latent_adversarial_goal,
    ];
    goals.into_iter().chain(super::instructions_of(scenario))
}
