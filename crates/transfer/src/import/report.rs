//! The options of an import, and its report.

use std::path::PathBuf;

use interop::import::Format;
use schema::{Metric, MetricType, Notice, TargetRef};
use schemars::JsonSchema;
use serde::Serialize;

use super::verdicts::ImportVerdicts;

/// The format of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// A benchmark tree, of Probity or ImpactBench.
    Tree,
    /// Logs of Inspect.
    Inspect,
    /// Instance files of Every Eval Ever.
    EveryEvalEver,
    /// Results of promptfoo.
    Promptfoo,
    /// Transcripts of Petri and Bloom.
    Petri,
    /// Rows of any program with a conversation each.
    Rows,
}

impl ImportFormat {
    /// All formats.
    pub const ALL: [Self; 6] = [
        Self::Tree,
        Self::Inspect,
        Self::EveryEvalEver,
        Self::Promptfoo,
        Self::Petri,
        Self::Rows,
    ];

    /// `tree`, `inspect`, `eee`, `promptfoo`, `petri` or `jsonl`, as in commands and files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Inspect => "inspect",
            Self::EveryEvalEver => "eee",
            Self::Promptfoo => "promptfoo",
            Self::Petri => "petri",
            Self::Rows => "jsonl",
        }
    }

    /// The format with this name; `bloom` is the same as `petri`, since Bloom writes Petri's transcripts.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let name = if name == "bloom" { "petri" } else { name };
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }
}

impl From<Format> for ImportFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Inspect => Self::Inspect,
            Format::EveryEvalEver => Self::EveryEvalEver,
            Format::Promptfoo => Self::Promptfoo,
            Format::Petri => Self::Petri,
            Format::Rows => Self::Rows,
        }
    }
}

/// The options of an import.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The format; `None`: detected from the files.
    pub format: Option<ImportFormat>,
    /// Files and folders of a single format.
    pub paths: Vec<PathBuf>,
    /// The name of the benchmark; `None`: derived from the evaluation's name.
    pub name: Option<String>,
    /// The metrics to judge each conversation for. Empty: those that the files define.
    pub metrics: Vec<Metric>,
    /// The scores of the files that become verdicts.
    pub verdicts: ImportVerdicts,
    /// The type of metrics that only `verdicts` names; `None`: positive.
    pub metric_type: Option<MetricType>,
    /// The key of the samples' data whose value dependent samples share: it becomes their base scenario.
    pub cluster: Option<String>,
    /// Which evaluations of the files are imported.
    pub tasks: ImportTasks,
    /// Where all logs are of a single model, each file is a target of its own, with the file's name.
    pub one_model_by_file: bool,
    /// Replaces an existing benchmark with that name.
    pub force: bool,
}

/// The evaluations (tasks of Inspect, datasets of Every Eval Ever) that an import takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ImportTasks {
    /// All that the files have, in one benchmark.
    #[default]
    All,
    /// The only one that the files have.
    Single,
    /// The one of this name.
    Named(String),
}

/// The result of an import.
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
    /// The metrics.
    pub metrics: Vec<Metric>,
    /// Rows of `scenarios.json`.
    pub scenarios: u64,
    /// The systems under test, by id.
    pub targets: Vec<ImportedTarget>,
    /// Whether there are conversations and all targets have scores, so that nothing is left to
    /// judge.
    pub judged: bool,
    /// What was left out, by reason.
    pub left_out: Vec<LeftOut>,
    /// Conversations of other programs that were imported with an error, by the error: no judge reads them. Empty for a tree, whose rows
    /// are copied as they are.
    pub failures: Vec<LeftOut>,
    /// Further notes for people, one line each.
    pub notes: Vec<Notice>,
}

impl ImportReport {
    /// Rows of all `conversations.json`.
    #[must_use]
    pub fn conversations(&self) -> u64 {
        self.targets.iter().map(|target| target.conversations).sum()
    }
}

/// A system under test, and the number of imported rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ImportedTarget {
    /// Its id in the tree, and its name in the files.
    #[serde(flatten)]
    pub target: TargetRef,
    /// Rows of its `conversations.json`.
    pub conversations: u64,
    /// The rows with an error, which no judge reads.
    pub failed: u64,
    /// The rows of its `scores.json` with a verdict of another program.
    pub verdicts: u64,
}

impl ImportedTarget {
    pub(super) fn new(target: TargetRef) -> Self {
        Self {
            target,
            conversations: 0,
            failed: 0,
            verdicts: 0,
        }
    }
}

/// Things that were left out for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// The reason.
    pub reason: String,
    /// The number of things.
    pub count: u64,
    /// Some of them.
    pub examples: Vec<String>,
}
