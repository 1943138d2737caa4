//! The result of a check.

use std::path::{Path, PathBuf};

use schema::{Notice, ProgramName};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::{Kind, SourceLocation};

/// The result of checking a path.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The checked files, in order.
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FileReport {
    /// The file.
    #[serde(serialize_with = "path_text")]
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The kind of the file.
    pub kind: &'static str,
    /// The number of checked rows or lines; 1 for a file without any.
    pub rows: u64,
    /// The number of problems.
    pub problems: u64,
    /// The number of notes.
    pub notes: u64,
    /// The kept problems and notes, in the order of the file.
    pub findings: Vec<Finding>,
    #[serde(skip)]
    keep: usize,
}

/// A path that is not UTF-8 is written with replacement characters.
fn path_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// A problem or a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "FileFinding")]
pub struct Finding {
    /// Whether readers accept it.
    pub severity: Severity,
    /// The line, from 1; null: the file as a whole.
    pub line: Option<u64>,
    /// The column in characters, from 1.
    pub column: Option<u64>,
    /// The key path: `metrics[0].type`, `[3].transcript`. Empty: the file as a whole.
    pub key: String,
    /// The reason.
    pub reason: String,
    /// The advice, if there is any.
    #[schemars(with = "Option<String>")]
    pub help: Option<Notice>,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "FileFindingSeverity")]
pub enum Severity {
    /// A reader refuses the file, or interprets it differently than intended.
    Problem,
    /// Readers accept it; it may be a mistake.
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

    /// Sets the position.
    #[must_use]
    pub fn at(mut self, place: Option<SourceLocation>) -> Self {
        self.line = place.map(|place| place.line);
        self.column = place.map(|place| place.column);
        self
    }

    /// Sets the advice.
    #[must_use]
    pub fn with_help(mut self, help: Option<Notice>) -> Self {
        self.help = help;
        self
    }

    /// Sets the line only.
    #[must_use]
    pub fn at_line(mut self, line: Option<u64>) -> Self {
        self.line = line;
        self
    }
}

impl FileReport {
    /// Writes out the commands of advice for `program`.
    pub fn name_commands(&mut self, program: &ProgramName) {
        for finding in &mut self.findings {
            finding.help = finding.help.take().map(|help| help.named(program));
        }
    }

    /// A report without findings. `keep`: the most findings that are kept.
    #[must_use]
    pub fn new(path: &Path, kind: Kind, keep: usize) -> Self {
        Self::named(path, kind.name(), keep)
    }

    /// A report on a file without a schema.
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

    /// Whether there are no problems.
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

    /// Adds a finding about the file as a whole, before the others.
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
