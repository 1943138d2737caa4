//! Tests replies of a target in place of a judge, by the `check` of a metric ([`schema::ReplyCheck`]).
//!
//! [`Check::new`] compiles the test and explains mistakes in it to its author. [`Check::decide`] tests the replies of a conversation.
//!
//! ```
//! use reply_check::Check;
//! use schema::{Extra, Role, Turn};
//! use serde_json::json;
//!
//! let check = Check::new(&serde_json::from_value(json!({"choice": "{{ answer }}"}))?)?;
//! let scenario: Extra = serde_json::from_value(json!({"answer": "(B)"}))?;
//! let said = [Turn::new(Role::User, "A or B?"), Turn::new(Role::Assistant, "I think so. Answer: B.")];
//! let decision = check.decide(&scenario, &said)?;
//! assert!(decision.present);
//! assert_eq!(decision.reason, "Message 2 picks B.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! - The text of replies is tested. Tool calls and reasoning are not.
//! - A choice is a letter, a number, or yes, no, true, false. It is read where a reply says `answer: B` or `the answer is (B)`, begins with the option, or names
//!   exactly one in brackets; otherwise the reply picks none, and nothing is decided.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod choice;
mod json;
mod text_test;

use schema::{CheckTexts, CheckedReplies, Extra, ReplyCheck, Role, Turn, text::is_blank};

use json::JsonValues;
use text_test::TextTest;

/// A compiled check.
#[derive(Clone, Debug)]
pub struct Check {
    tests: Tests,
    replies: CheckedReplies,
}

#[derive(Clone, Debug)]
struct Tests {
    values: Option<JsonValues>,
    text: Option<TextTest>,
}

/// What a check decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the test holds.
    pub present: bool,
    /// What decided it, with the number of the message.
    pub reason: String,
}

/// A mistake in a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckError {
    /// The faulty key; empty if it is the check as a whole.
    pub key: &'static str,
    /// What is wrong, and what to do.
    pub reason: String,
}

impl std::fmt::Display for CheckError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for CheckError {}

/// Why a check decides nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// The conversation has no reply.
    NoReply,
    /// The scenario lacks this key, which a text of the check stands for, or its value is no text.
    MissingKey(String),
    /// The reply does not say which option it picks; why.
    NoChoice(String),
}

impl std::fmt::Display for Undecided {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoReply => f.write_str("the conversation has no reply of the target"),
            Self::MissingKey(key) => write!(
                f,
                "the scenario has no text at `{key}`, which the metric's check needs"
            ),
            Self::NoChoice(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Undecided {}

impl Check {
    /// Compiles a check.
    ///
    /// # Errors
    /// The mistake, explained to the author of the file.
    pub fn new(check: &ReplyCheck) -> Result<Self, CheckError> {
        let error = |key, reason: String| CheckError { key, reason };
        let given = check.given();
        let tests = given.iter().filter(|key| **key != "json_path").count();
        if given.is_empty() {
            let reason =
                "nothing is tested; give `contains`, `equals`, `regex`, `choice` or `json_path`";
            return Err(error("", reason.to_owned()));
        }
        if tests > 1 {
            let reason = format!(
                "{} are given together; give one of them, and each of the others in a metric of its own",
                quoted(&given)
            );
            return Err(error("", reason));
        }
        let values = check.json_path.as_deref().map(JsonValues::new).transpose();
        Ok(Self {
            tests: Tests {
                values: values.map_err(|reason| error("json_path", reason))?,
                text: TextTest::new(check)?,
            },
            replies: check.replies,
        })
    }

    /// Tests the replies in `transcript`. `scenario`: the further keys of its scenario, for `{{ KEY }}` in texts.
    ///
    /// # Errors
    /// Why nothing is decided.
    pub fn decide(&self, scenario: &Extra, transcript: &[Turn]) -> Result<Decision, Undecided> {
        let test = self.tests.text.as_ref();
        let filled = test.map(|test| test.filled(scenario)).transpose();
        let tests = Tests {
            values: self.tests.values.clone(),
            text: filled.map_err(Undecided::MissingKey)?,
        };
        let replies = transcript
            .iter()
            .enumerate()
            .filter(|(_, turn)| turn.role == Role::Assistant && !is_blank(&turn.content));
        let mut decided: Vec<Result<Decision, Undecided>> = replies
            .map(|(at, turn)| tests.decide(at + 1, &turn.content))
            .collect();
        let last = decided.pop().ok_or(Undecided::NoReply)?;
        let settles = match self.replies {
            CheckedReplies::Last => return last,
            CheckedReplies::Any => true,
            CheckedReplies::All => false,
        };
        decided.push(last);
        let is_settled = |reply: &Result<Decision, Undecided>| {
            reply.as_ref().is_ok_and(|reply| reply.present == settles)
        };
        let at = decided
            .iter()
            .position(is_settled)
            .or_else(|| decided.iter().position(Result::is_err));
        decided.swap_remove(at.unwrap_or(decided.len() - 1))
    }
}

impl Tests {
    /// Tests one reply, which is message `n`.
    fn decide(&self, n: usize, reply: &str) -> Result<Decision, Undecided> {
        let Some(values) = &self.values else {
            return match &self.text {
                Some(test) => test.decide(&format!("Message {n}"), reply),
                None => Err(Undecided::NoReply),
            };
        };
        let found = match values.of(reply) {
            Ok(found) => found,
            Err(reason) => {
                return Ok(Decision {
                    present: false,
                    reason: format!("Message {n} {reason}."),
                });
            }
        };
        let what = format!("Message {n} at {}", values.path());
        let Some(test) = &self.text else {
            let first = found.first().map(String::as_str).unwrap_or_default();
            return Ok(Decision {
                present: true,
                reason: format!("{what} has {:?}.", schema::reply::excerpt(first)),
            });
        };
        let mut last = Err(Undecided::NoReply);
        for value in &found {
            last = test.decide(&what, value);
            if last.as_ref().is_ok_and(|decision| decision.present) {
                break;
            }
        }
        last
    }
}

fn quoted(keys: &[&str]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    keys.join(", ")
}

/// The texts with the values of a scenario.
fn filled(texts: &CheckTexts, scenario: &Extra) -> Result<Vec<String>, String> {
    texts.filled(scenario)
}

#[cfg(test)]
mod tests;
