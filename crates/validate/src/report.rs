//! What was found.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::{Kind, SourceLocation};

/// The result of checking a path.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The files that were looked at, in order.
    pub files: Vec<FileReport>,
}

impl Report {
    /// Problems in all files.
    #[must_use]
    pub fn problems(&self) -> u64 {
        self.files.iter().map(|file| file.problems).sum()
    }

    /// Notes on all files.
    #[must_use]
    pub fn notes(&self) -> u64 {
        self.files.iter().map(|file| file.notes).sum()
    }
}

/// The result of checking one file.
#[derive(Clone, Debug, Serialize)]
pub struct FileReport {
    /// The file.
    pub path: PathBuf,
    /// What it is.
    pub kind: &'static str,
    /// Rows or lines that were looked at; 1 of a file that has none.
    pub rows: u64,
    /// How many problems there are.
    pub problems: u64,
    /// How many notes there are.
    pub notes: u64,
    /// Problems and notes in the order of the file, as far as they are kept: see [`Options::keep`](crate::Options::keep).
    pub findings: Vec<Finding>,
    #[serde(skip)]
    keep: usize,
}

/// Something that is to be fixed, or to be known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Whether readers can do with it.
    pub severity: Severity,
    /// The line, from 1; `None`: of the file as a whole.
    pub line: Option<u64>,
    /// The column in characters, from 1.
    pub column: Option<u64>,
    /// The key path: `metrics[0].type`, `[3].transcript`. Empty: the file as a whole.
    pub key: String,
    /// What is wrong.
    pub reason: String,
    /// What to do about it, where that is known.
    pub help: Option<String>,
}

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A reader refuses the file, or takes it for something else than was meant.
    Problem,
    /// Readers do with it; it may be a mistake.
    Note,
}

impl Finding {
    /// A problem.
    #[must_use]
    pub fn problem(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            severity: Severity::Problem,
            line: None,
            column: None,
            key: key.into(),
            reason: reason.into(),
            help: None,
        }
    }

    /// A note.
    #[must_use]
    pub fn note(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            severity: Severity::Note,
            ..Self::problem(key, reason)
        }
    }

    /// Sets the place.
    #[must_use]
    pub fn at(mut self, place: Option<SourceLocation>) -> Self {
        self.line = place.map(|place| place.line);
        self.column = place.map(|place| place.column);
        self
    }

    /// Sets what to do about it.
    #[must_use]
    pub fn with_help(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }

    /// Sets the line alone.
    #[must_use]
    pub fn at_line(mut self, line: Option<u64>) -> Self {
        self.line = line;
        self
    }
}

impl FileReport {
    /// A report without findings. `keep`: how many findings are kept at most.
    #[must_use]
    pub fn new(path: &Path, kind: Kind, keep: usize) -> Self {
        Self::named(path, kind.name(), keep)
    }

    /// The same of what has no schema.
    pub(crate) fn named(path: &Path, kind: &'static str, keep: usize) -> Self {
        Self {
            path: path.to_owned(),
            kind,
            rows: 0,
            problems: 0,
            notes: 0,
            findings: Vec::new(),
            keep,
        }
    }

    /// Whether nothing has to be fixed.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        self.problems == 0
    }

    /// Adds a finding.
    pub fn push(&mut self, finding: Finding) {
        match finding.severity {
            Severity::Problem => self.problems += 1,
            Severity::Note => self.notes += 1,
        }
        if self.findings.len() < self.keep {
            self.findings.push(finding);
        }
    }

    /// Adds a finding on the file as a whole, in front of the others.
    pub(crate) fn push_first(&mut self, finding: Finding) {
        let findings = std::mem::take(&mut self.findings);
        self.push(finding);
        self.findings.extend(findings);
        self.findings.truncate(self.keep);
    }

    /// Adds findings.
    pub fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }
}
