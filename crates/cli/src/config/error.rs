//! What is wrong with the configuration.

/// Everything that is wrong with the configuration, each with its place. No text of it holds a key or a header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.join("\n"))]
pub struct ConfigError {
    problems: Vec<String>,
}

impl ConfigError {
    /// One problem.
    pub fn new(problem: impl Into<String>) -> Self {
        Self {
            problems: vec![problem.into()],
        }
    }

    /// All problems of `problems`, or `Ok` when there are none.
    pub fn check(problems: Vec<String>) -> Result<(), Self> {
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Self { problems })
        }
    }

    /// The problems, one text each.
    pub fn into_problems(self) -> Vec<String> {
        self.problems
    }
}
