//! The demographic values of a scenario that the text of a message can contradict.

use schema::Scenario;

use crate::form::words;

/// A stated age may be this many years outside the range: people round, and birthdays pass.
pub(super) const YEARS_BESIDE: u32 = 5;

/// A gender that a scenario's demographic values have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gender {
    Man,
    Woman,
}

impl Gender {
    pub(super) fn of(axis: &str, value: &str) -> Option<Self> {
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

    pub(super) fn other(self) -> Self {
        match self {
            Self::Man => Self::Woman,
            Self::Woman => Self::Man,
        }
    }

    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Man => "man",
            Self::Woman => "woman",
        }
    }

    pub(super) fn is_in(self, scenario: &Scenario) -> bool {
        let word = format!(" {} ", self.noun());
        texts(scenario).any(|text| words(text).contains(&word))
    }
}

/// The ages that a value covers: `18-25`, `65+`, `over 60`, `under 18`, `30s`, `42`.
pub(super) fn age_range(axis: &str, value: &str) -> Option<(u32, u32)> {
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

pub(super) fn has_number(scenario: &Scenario, number: u32) -> bool {
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
