//! Which option of a multiple choice a reply picks.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// How options are marked. A reply that begins with `1.` begins a list, where the options are letters.
struct Marks {
    /// The last statement of an answer: `Answer: B`, `the answer is **(B)**.`
    stated: Regex,
    /// An option at the beginning, alone or in front of its text: `(B)`, `B) Paris`, `**B**`.
    leads: Regex,
    /// An option in brackets.
    bracketed: Regex,
}

static LETTERS: LazyLock<Marks> = LazyLock::new(|| Marks::new("[A-Z]", "[A-Za-z]"));
static NUMBERS: LazyLock<Marks> = LazyLock::new(|| Marks::new(r"\d{1,2}", r"\d{1,2}"));
static WORDS: LazyLock<Marks> = LazyLock::new(|| {
    let words = format!("(?i:{})", OPTION_WORDS.join("|"));
    Marks::new(&words, &words)
});

/// The options that are words.
const OPTION_WORDS: [&str; 4] = ["yes", "no", "true", "false"];

impl Marks {
    fn new(inside: &str, first: &str) -> Self {
        let ends = r"\s*(?:[)\].,:;!*_\n]|$)";
        Self {
            stated: pattern(&format!(
                r"(?i:\banswer|\bchoice|\boption)(?i: is| would be| must be)?\s*[:=]?[\s*_(\[]*({inside}){ends}"
            )),
            leads: pattern(&format!(r"^[\s*_(\[]*({first}){ends}")),
            bracketed: pattern(&format!(r"[(\[]({inside})[)\]]")),
        }
    }
}

/// # Panics
/// If the pattern is malformed. A test compiles all of them.
#[expect(
    clippy::panic,
    reason = "the patterns are constants, and a test compiles all of them"
)]
fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The option in the form in which options are compared: `(b)` is `B`.
pub(crate) fn bare(option: &str) -> String {
    option
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_uppercase()
}

/// Whether a text can be an option: a letter, a number of up to two digits, or one of the words.
pub(crate) fn is_option(text: &str) -> bool {
    let mark = bare(text);
    let is_number = mark.len() <= 2 && mark.chars().all(|c| c.is_ascii_digit());
    let is_letter = mark.len() == 1 && mark.starts_with(|c: char| c.is_ascii_alphabetic());
    !mark.is_empty() && (is_number || is_letter || is_word(&mark))
}

fn is_word(mark: &str) -> bool {
    OPTION_WORDS
        .iter()
        .any(|word| word.eq_ignore_ascii_case(mark))
}

/// The option that the reply picks, of options that are marked as `like` is.
///
/// # Errors
/// Why it picks none.
pub(crate) fn picked(reply: &str, like: &str) -> Result<String, &'static str> {
    let like = bare(like);
    let marks: &Marks = match like.starts_with(|c: char| c.is_ascii_digit()) {
        true => &NUMBERS,
        false if is_word(&like) => &WORDS,
        false => &LETTERS,
    };
    let option = |found: Captures<'_>| found.get(1).map(|option| bare(option.as_str()));
    if let Some(option) = marks.stated.captures_iter(reply).last().and_then(option) {
        return Ok(option);
    }
    if let Some(option) = marks.leads.captures(reply).and_then(option) {
        return Ok(option);
    }
    let mut options: Vec<String> = marks
        .bracketed
        .captures_iter(reply)
        .filter_map(option)
        .collect();
    options.dedup();
    match options.len() {
        1 => Ok(options.remove(0)),
        0 => Err("names no option"),
        _ => Err("names several options and picks none"),
    }
}
