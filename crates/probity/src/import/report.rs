//! The request of an import, and its report.

use std::path::PathBuf;

use schema::{Metric, TargetRef};
use serde::Serialize;

/// What is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// A benchmark tree, of Probity or ImpactBench.
    Tree,
    /// Logs of Inspect.
    Inspect,
    /// Instance files of Every Eval Ever.
    EveryEvalEver,
}

impl ImportFormat {
    /// `tree`, `inspect` or `eee`, as commands and files spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Inspect => "inspect",
            Self::EveryEvalEver => "eee",
        }
    }

    /// The format of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Tree, Self::Inspect, Self::EveryEvalEver]
            .into_iter()
            .find(|format| format.as_str() == name)
    }
}

/// What to import, and what to make of it.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The format; `None`: found out by looking at the files.
    pub format: Option<ImportFormat>,
    /// Files and folders of one format.
    pub paths: Vec<PathBuf>,
    /// The name of the benchmark; `None`: made of the evaluation's.
    pub name: Option<String>,
    /// What to judge each conversation for. Empty: what the files define themselves.
    pub metrics: Vec<Metric>,
    /// Replace a benchmark of that name that is there.
    pub force: bool,
}

/// What was imported.
#[derive(Clone, Debug)]
pub struct ImportReport {
    /// The format.
    pub format: ImportFormat,
    /// The benchmark's name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// What is judged.
    pub metrics: Vec<Metric>,
    /// Rows of `scenarios.json`.
    pub scenarios: u64,
    /// The systems under test, by id.
    pub targets: Vec<ImportedTarget>,
    /// Whether there are conversations and all targets have scores: nothing is left to judge.
    pub judged: bool,
    /// What was not taken along, by reason.
    pub left_out: Vec<LeftOut>,
    /// What a person should know besides, one line each.
    pub notes: Vec<String>,
}

impl ImportReport {
    /// Rows of all `conversations.json`.
    #[must_use]
    pub fn conversations(&self) -> u64 {
        self.targets.iter().map(|target| target.conversations).sum()
    }
}

/// A system under test, and what was imported of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportedTarget {
    /// Its id in the tree, and its name in the files.
    #[serde(flatten)]
    pub target: TargetRef,
    /// Rows of its `conversations.json`.
    pub conversations: u64,
    /// Rows among them with an error, which no judge reads.
    pub failed: u64,
}

impl ImportedTarget {
    pub(super) fn new(target: TargetRef) -> Self {
        Self {
            target,
            conversations: 0,
            failed: 0,
        }
    }
}

/// Things that were left out for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Why.
    pub reason: String,
    /// How many.
    pub count: u64,
    /// Some of them.
    pub examples: Vec<String>,
}
