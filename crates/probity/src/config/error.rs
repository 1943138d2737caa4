//! What is wrong with the configuration.

use serde::{Deserialize, Serialize};

use super::tree::Origin;

/// A value of the configuration: where it was set, and its key path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPlace {
    /// Where it was set; `None` for what is built in.
    pub origin: Option<Origin>,
    /// Such as `targets[0].id`; empty for the whole configuration.
    pub key: String,
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
#[error("{}{reason}", self.place())]
pub struct ConfigProblem {
    /// Where the value at fault was set; `None` where it is no single value.
    pub origin: Option<Origin>,
    /// The key path of the value, such as `targets[0].id`; empty where no single value is at fault.
    pub key: String,
    /// What is wrong.
    pub reason: String,
}

impl ConfigProblem {
    /// A problem with the value at `place`.
    pub fn at(place: &KeyPlace, reason: impl Into<String>) -> Self {
        Self {
            origin: place.origin.clone(),
            key: place.key.clone(),
            reason: reason.into(),
        }
    }

    /// A problem with a file, a variable or a flag, or with no single value of it.
    pub fn in_origin(origin: Origin, reason: impl Into<String>) -> Self {
        Self {
            origin: Some(origin),
            ..Self::from(reason.into())
        }
    }

    /// `config.yaml, line 3: generation.turns: `, as far as it is known.
    fn place(&self) -> String {
        let origin = self.origin.as_ref().map(|origin| format!("{origin}: "));
        let key = match self.key.as_str() {
            "" => String::new(),
            key => format!("{key}: "),
        };
        origin.unwrap_or_default() + &key
    }
}

impl From<String> for ConfigProblem {
    fn from(reason: String) -> Self {
        Self {
            origin: None,
            key: String::new(),
            reason,
        }
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
