//! Errors of the configuration.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::tree::Origin;

/// The position of a configuration value: where it was set, and its key path.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename = "$place")]
pub struct KeyPlace {
    /// Where it was set; `None` for a built-in value, or if it is not a single value.
    pub origin: Option<Origin>,
    /// The key path, such as `targets[0].id`; empty for the whole configuration.
    pub key: String,
}

/// `config.yaml, line 3: generation.turns: `, as far as the position is known.
impl fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(origin) = &self.origin {
            write!(f, "{origin}: ")?;
        }
        match self.key.as_str() {
            "" => Ok(()),
            key => write!(f, "{key}: "),
        }
    }
}

/// All errors in the configuration, each with its position. No text of it contains a key or a header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.problems))]
pub struct ConfigError {
    problems: Vec<ConfigProblem>,
}

impl ConfigError {
    /// An error with a single problem.
    pub fn new(problem: impl Into<ConfigProblem>) -> Self {
        Self {
            problems: vec![problem.into()],
        }
    }

    /// An error with all of `problems`, or `Ok` if there are none.
    pub fn check(problems: Vec<ConfigProblem>) -> Result<(), Self> {
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Self { problems })
        }
    }

    /// The problems.
    pub fn into_problems(self) -> Vec<ConfigProblem> {
        self.problems
    }
}

fn lines(problems: &[ConfigProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// An error in the configuration, or something that may be a mistake.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{place}{reason}")]
pub struct ConfigProblem {
    /// The position of the faulty value, if it is a single value.
    pub place: KeyPlace,
    /// What is wrong.
    pub reason: String,
}

impl ConfigProblem {
    /// A problem with the value at `place`.
    pub(super) fn at(place: &KeyPlace, reason: impl Into<String>) -> Self {
        Self {
            place: place.clone(),
            reason: reason.into(),
        }
    }

    /// A problem with a file, a variable or a flag, but not with a single value of it.
    pub(super) fn in_origin(origin: Origin, reason: impl Into<String>) -> Self {
        let place = KeyPlace {
            origin: Some(origin),
            ..KeyPlace::default()
        };
        Self::at(&place, reason)
    }
}

impl From<String> for ConfigProblem {
    fn from(reason: String) -> Self {
        Self::at(&KeyPlace::default(), reason)
    }
}

impl From<&str> for ConfigProblem {
    fn from(reason: &str) -> Self {
        reason.to_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_says_where() {
        let origin = |line| Some(Origin::new("config.yaml").at_line(line));
        for (origin, key, expected) in [
            (
                origin(Some(3)),
                "generation.turns",
                "config.yaml, line 3: generation.turns: no",
            ),
            (origin(None), "", "config.yaml: no"),
            (None, "built in", "built in: no"),
            (None, "", "no"),
        ] {
            let key = key.to_owned();
            let problem = ConfigProblem::at(&KeyPlace { origin, key }, "no");
            assert_eq!(problem.to_string(), expected);
        }
    }
}
