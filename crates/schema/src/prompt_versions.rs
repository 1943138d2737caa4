//! The versions of the shipped prompts and rules that decide a benchmark's rows.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The versions of the shipped judge prompts and fault rules that a benchmark is measured with.
///
/// A benchmark keeps the versions that it began with, so that its replies stay in the response cache and its rates stay comparable. A new
/// benchmark begins with [`PromptVersions::LATEST`]. Prompts of the user's own have no version.
///
/// ```
/// use schema::PromptVersions;
///
/// assert_eq!(PromptVersions::LATEST.known(), Ok(PromptVersions::LATEST));
/// assert!(PromptVersions { judge: 99, ..PromptVersions::FIRST }.known().is_err());
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(default)]
#[schemars(!default)]
pub struct PromptVersions {
    /// The version of the judge's prompts and of the form of its reply.
    pub judge: u32,
    /// The version of the rules that find faults in the messages of the simulated user.
    pub fault_rules: u32,
}

impl PromptVersions {
    /// The versions of benchmarks that were begun before versions were recorded.
    pub const FIRST: Self = Self {
        judge: 1,
        fault_rules: 1,
    };

    /// The newest versions: those of a new benchmark.
    pub const LATEST: Self = Self {
        judge: 2,
        fault_rules: 2,
    };

    /// The pairs that new benchmarks of a release began with, newest first. A benchmark without a record has one of these.
    pub const RELEASED: &[Self] = &[Self::LATEST, Self::FIRST];

    /// Returns the versions if this version of Probity has them.
    ///
    /// # Errors
    /// When one of them is 0, or newer than [`PromptVersions::LATEST`].
    pub fn known(self) -> Result<Self, UnknownPromptVersion> {
        let checked = [
            ("judge prompts", self.judge, Self::LATEST.judge),
            ("fault rules", self.fault_rules, Self::LATEST.fault_rules),
        ];
        for (what, version, latest) in checked {
            if version == 0 || version > latest {
                return Err(UnknownPromptVersion {
                    what,
                    version,
                    latest,
                });
            }
        }
        Ok(self)
    }

    /// Describes how `now` differs, one phrase each: `judge prompts 1 to 2`.
    #[must_use]
    pub fn changes(self, now: Self) -> Vec<String> {
        [
            ("judge prompts", self.judge, now.judge),
            ("fault rules", self.fault_rules, now.fault_rules),
        ]
        .into_iter()
        .filter(|(_, before, now)| before != now)
        .map(|(what, before, now)| format!("{what} {before} to {now}"))
        .collect()
    }
}

impl Default for PromptVersions {
    /// [`PromptVersions::FIRST`]: a file without a version was written before there was a second one.
    fn default() -> Self {
        Self::FIRST
    }
}

impl fmt::Display for PromptVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { judge, fault_rules } = self;
        write!(f, "judge prompts {judge}, fault rules {fault_rules}")
    }
}

/// A version of prompts or rules that this version of Probity does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPromptVersion {
    /// What has the version: `judge prompts` or `fault rules`.
    pub what: &'static str,
    /// The version.
    pub version: u32,
    /// The newest known version.
    pub latest: u32,
}

impl fmt::Display for UnknownPromptVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            version,
            latest,
        } = self;
        write!(
            f,
            "unknown version {version} of the {what}; known: 1 to {latest}"
        )
    }
}

impl std::error::Error for UnknownPromptVersion {}
