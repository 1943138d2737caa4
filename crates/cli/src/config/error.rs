//! What is wrong with the configuration.

use super::place::{Origin, Place};

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
    /// Whether `reason` goes on from the key as its subject: `generation.turns must be …`.
    is_predicate: bool,
}

impl ConfigProblem {
    /// A problem at `place`, in a sentence of its own.
    pub fn at(place: &Place, reason: impl Into<String>) -> Self {
        Self {
            origin: Some(Origin::from(place.origin.as_str())).filter(|_| !place.origin.is_empty()),
            key: place.key.clone(),
            reason: reason.into(),
            is_predicate: false,
        }
    }

    /// A problem with the value at `place`, in a sentence whose subject is the value's key.
    pub fn of(place: &Place, predicate: impl Into<String>) -> Self {
        Self {
            is_predicate: true,
            ..Self::at(place, predicate)
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
        let key = match (self.key.as_str(), self.is_predicate) {
            ("", _) => String::new(),
            (key, true) => format!("{key} "),
            (key, false) => format!("{key}: "),
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
            is_predicate: false,
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
        let place = |origin: &str, key: &str| Place {
            origin: origin.to_owned(),
            key: key.to_owned(),
        };
        let turns = place("config.yaml, line 3", "generation.turns");
        for (problem, expected) in [
            (
                ConfigProblem::at(&turns, "no"),
                "config.yaml, line 3: generation.turns: no",
            ),
            (
                ConfigProblem::of(&turns, "is no"),
                "config.yaml, line 3: generation.turns is no",
            ),
            (
                ConfigProblem::at(&place("--turns", ""), "no"),
                "--turns: no",
            ),
            (
                ConfigProblem::of(&place("", "built in"), "is empty"),
                "built in is empty",
            ),
            (ConfigProblem::from("no"), "no"),
        ] {
            assert_eq!(problem.to_string(), expected);
        }
    }
}
