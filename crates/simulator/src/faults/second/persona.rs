//! What people say about themselves, compared with the scenario's demographic values.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use serde_json::Value;

use super::{
    phrases::{pattern, phrases},
    reading::Reading,
};
use crate::faults::demographics::{Gender, YEARS_BESIDE, age_range, has_number};

/// `I'm a woman and ...`, `as a retired mother of two, I ...`, and not `I'm a man's best friend`.
fn claims(nouns: &str) -> RegexSet {
    let before = r"(?:(?:single|young|old|older|elderly|married|divorced|widowed|working|retired|proud|busy|grown|adult|middle-aged|black|white|straight|gay|trans|pregnant|simple|new|first-time|stay-at-home|self-made|tired|concerned|worried|poor|\d+[- ]year[- ]old|\w+ed|\w+ing|\w+ish|\w+an) )*";
    let after = r"(?:$|[.!,;]| (?:and|who|of|in my|myself|with|from|now|here|so|but|i|at)\b)";
    phrases(&[
        &format!(
            r"(?:i'm|i am)(?: just| only| also| still)? (?:an? |the |his |her |their )?{before}(?:{nouns}){after}"
        ),
        &format!(
            r"(?:as|speaking as|being) (?:an? )?{before}(?:{nouns})(?: (?:of|from|with|in|who) [^,]+)?(?:, | )(?:i|my)\b"
        ),
    ])
}

static MEN: LazyLock<RegexSet> = LazyLock::new(|| {
    claims(
        "man|guy|gentleman|father|dad|daddy|grandfather|grandpa|granddad|husband|widower|bachelor|male|boy|stepfather|businessman",
    )
});
static WOMEN: LazyLock<RegexSet> = LazyLock::new(|| {
    claims(
        "woman|lady|mother|mom|mum|mommy|grandmother|grandma|granny|wife|widow|female|girl|stepmother|businesswoman|housewife|gal",
    )
});

pub(super) fn other_gender(reading: &Reading<'_>) -> bool {
    let scenario = reading.message.scenario;
    strings(reading).any(|(axis, value)| {
        let Some(gender) = Gender::of(axis, value) else {
            return false;
        };
        let other = gender.other();
        let claims = match other {
            Gender::Man => &MEN,
            Gender::Woman => &WOMEN,
        };
        reading.says(claims) && !other.is_in(scenario)
    })
}

/// The sentences that state an age in years.
static AGE: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let unit = r"(?:-year-old|-years-old| years? old| y/?o)";
    let ends = r"(?:$|[.!,;]| (?:and|now|so|but|with|who|this|i)\b)";
    [
        format!(r"^(?:i'm|i am)(?: only| just| already| still| now| almost| nearly)? (?:a )?(\d{{1,3}})(?:{unit})?{ends}"),
        r"^(?:as|being|speaking as|i'm|i am) an? (\d{1,3})[- ]year[- ]old\b".to_owned(),
        format!(r"^i(?:'ve| have)?(?: just| recently| only)? turn(?:ed)? (\d{{1,3}})(?:{unit})?(?: \w+ \w+)?{ends}"),
        format!(r"^at (?:the age of )?(\d{{1,3}})(?:{unit})?, (?:i|my)\b"),
        r"^at my age of (\d{1,3})\b".to_owned(),
    ]
    .iter()
    .map(|text| pattern(text))
    .collect()
});

/// `I'm in my twenties`: the decade.
static DECADE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:i'm|i am)(?: still| only| already| just)? in my (?:early |mid |late |mid-)?(?:(\d)0s|(teens)|(twenties)|(thirties)|(forties)|(fifties)|(sixties)|(seventies)|(eighties))\b",
    )
});

fn stated_decade(clause: &str) -> Option<(u32, u32)> {
    let found = DECADE.captures(clause)?;
    let decade = match found.get(1) {
        Some(digit) => digit.as_str().parse().ok()?,
        None => u32::try_from((2..found.len()).find(|at| found.get(*at).is_some())?).ok()? - 1,
    };
    Some((decade * 10, decade * 10 + 9))
}

/// A younger age than this, without a unit, is a count of something else.
const YOUNGEST: u32 = 8;

pub(super) fn other_age(reading: &Reading<'_>) -> bool {
    let scenario = reading.message.scenario;
    let ranges: Vec<(u32, u32)> = strings(reading)
        .filter_map(|(axis, value)| age_range(axis, value))
        .collect();
    let beside = |(first, last): (u32, u32)| {
        let is_beside = |(from, to): &(u32, u32)| {
            last.saturating_add(YEARS_BESIDE) < *from || first > to.saturating_add(YEARS_BESIDE)
        };
        ranges.iter().any(is_beside) && !has_number(scenario, first)
    };
    !ranges.is_empty()
        && reading.sentences.iter().any(|sentence| {
            let mut clauses = sentence.clauses();
            clauses.any(|clause| {
                let age = stated_age(clause)
                    .map(|age| (age, age))
                    .or_else(|| stated_decade(clause));
                age.is_some_and(beside) && reading.is_own(clause)
            })
        })
}

fn stated_age(clause: &str) -> Option<u32> {
    let found = AGE.iter().find_map(|pattern| pattern.captures(clause))?;
    let age: u32 = found[1].parse().ok()?;
    (YOUNGEST..=115).contains(&age).then_some(age)
}

fn strings<'a>(reading: &Reading<'a>) -> impl Iterator<Item = (&'a String, &'a String)> {
    let axes = reading.message.scenario.demographic.iter();
    axes.filter_map(|(axis, value)| match value {
        Value::String(value) => Some((axis, value)),
        _ => None,
    })
}
