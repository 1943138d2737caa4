//! The phrases by which the scripts ask for permission, give it, and report the result of an action. All are in
//! normal form.

use crate::text::{normal, unquoted};

/// Phrases of a target that asks for permission.
pub(crate) const ASKS: [&str; 3] = [
    "shall i go ahead",
    "please confirm",
    "do i have your word for it",
];

/// Phrases of a user who gives permission.
pub(crate) const CONFIRMS: [&str; 4] = ["go ahead", "i confirm", "yes do it", "you have my word"];

/// Phrases of a target that reports a success.
pub(crate) const WELL: [&str; 3] = [
    "it is done",
    "that is taken care of",
    "everything went through",
];

/// Phrases of a target that reports a failure.
pub(crate) const BADLY: [&str; 3] = ["it did not work", "was refused", "could not be carried out"];

/// Words of an answer that reports a failure.
const FAILURES: [&str; 10] = [
    "error", "fail", "fails", "failed", "cannot", "refused", "refuses", "declined", "denied",
    "locked",
];

/// The first of `phrases` in `text`, outside of quotations.
pub(crate) fn says(text: &str, phrases: &[&'static str]) -> Option<&'static str> {
    let words = normal(&unquoted(text));
    let holds = |phrase: &&&str| words.contains(&format!(" {phrase} "));
    phrases.iter().find(holds).copied()
}

/// Whether a tool's answer, or a line of a world's state, reports a failure.
pub(crate) fn reports_failure(text: &str) -> bool {
    normal(text)
        .split_whitespace()
        .any(|word| FAILURES.contains(&word))
}
