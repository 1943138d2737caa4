//! What is wrong with the configuration.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::tree::Origin;

/// A value of the configuration: where it was set, and its key path.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename = "$place")]
pub struct KeyPlace {
    /// Where it was set; `None` for what is built in, or where it is no single value.
    pub origin: Option<Origin>,
    /// Such as `targets[0].id`; empty for the whole configuration.
    pub key: String,
}

/// `config.yaml, line 3: generation.turns: `, as far as it is known.
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

/// Everything that is wrong with the configuration, each with its place. No text of it holds a key or a header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.problems))]
pub struct ConfigError {
    problems: Vec<ConfigProblem>,
}

impl ConfigError {
    /// One problem.
    pub fn new(problem: impl Into<ConfigProblem>) -> Self {
        Self {
            problems: vec![problem.into()],
        }
    }

    /// All problems of `problems`, or `Ok` when there are none.
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

/// One thing that is wrong with the configuration, or may be a mistake.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{place}{reason}")]
pub struct ConfigProblem {
    /// Where the value at fault was set, as far as it is a single value.
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

    /// A problem with a file, a variable or a flag, or with no single value of it.
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
