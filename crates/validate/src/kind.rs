//! The files that Probity reads and writes.

use std::{fmt, str::FromStr};

/// The kind of a file. Each kind has a published schema, `docs/schemas/<name>.schema.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// `benchmark.yaml`.
    Benchmark,
    /// The list `hazards` of a `benchmark.yaml` alone.
    Hazards,
    /// `scenarios.json`.
    Scenarios,
    /// `conversations.json`.
    Conversations,
    /// `scores.json`.
    Scores,
    /// `conversations/index.json` or `scores/index.json`: the index of rows that are segments.
    Segments,
    /// `labels.json`: labels of people.
    Labels,
    /// `cost.json`.
    Cost,
    /// `results.json`.
    Results,
    /// `grades.json`.
    Grades,
    /// `statistics.json`.
    Statistics,
    /// `sequence.json`: the order of runs that stop when rules are decided.
    Sequence,
    /// `shard.json`: which parts of its benchmark a tree has.
    Shard,
    /// `baseline.json`.
    Baseline,
    /// `gate.yaml`: the rules of a gate.
    Gate,
    /// `standards.json`, as `calibrate` writes it.
    Standards,
    /// `record.json`.
    Record,
    /// `manifest.json`.
    Manifest,
    /// `imported.json`: the source of an imported benchmark.
    Imported,
    /// `config.yaml` or `probity.toml`.
    Config,
    /// One line of a run journal.
    Journal,
    /// The results of a single-turn safety run, wrapped or bare.
    SafetySingleTurn,
    /// The results of a multi-turn safety run, wrapped or bare.
    SafetyMultiTurn,
    /// A pack of safety test cases: YAML, JSONL or CSV.
    TestCases,
    /// A table of prices.
    Prices,
    /// One line of `runs.jsonl`, an export.
    ExportRuns,
    /// One line of `conversations.jsonl`, an export.
    ExportConversations,
    /// One line of `scores.jsonl`, an export.
    ExportScores,
    /// An aggregate of Every Eval Ever.
    EeeLog,
    /// One line of the samples of Every Eval Ever.
    EeeSamples,
    /// A log of Inspect: a zip of small files, or one JSON file.
    InspectLog,
    /// One line between Probity and a program, in either direction.
    ProgramLines,
    /// The output of a command with `--json`.
    Output,
}

impl Kind {
    /// All kinds, in the order of the documentation.
    pub const ALL: [Self; 33] = [
        Self::Benchmark,
        Self::Hazards,
        Self::Scenarios,
        Self::Conversations,
        Self::Scores,
        Self::Segments,
        Self::Labels,
        Self::Cost,
        Self::Results,
        Self::Grades,
        Self::Statistics,
        Self::Sequence,
        Self::Shard,
        Self::Baseline,
        Self::Gate,
        Self::Standards,
        Self::Record,
        Self::Manifest,
        Self::Imported,
        Self::Config,
        Self::Journal,
        Self::SafetySingleTurn,
        Self::SafetyMultiTurn,
        Self::TestCases,
        Self::Prices,
        Self::ExportRuns,
        Self::ExportConversations,
        Self::ExportScores,
        Self::EeeLog,
        Self::EeeSamples,
        Self::InspectLog,
        Self::ProgramLines,
        Self::Output,
    ];

    /// The kind's name, in the name of its schema and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Benchmark => "benchmark",
            Self::Hazards => "hazards",
            Self::Scenarios => "scenarios",
            Self::Conversations => "conversations",
            Self::Scores => "scores",
            Self::Segments => "segments",
            Self::Labels => "labels",
            Self::Cost => "cost",
            Self::Results => "results",
            Self::Grades => "grades",
            Self::Statistics => "statistics",
            Self::Sequence => "sequence",
            Self::Shard => "shard",
            Self::Baseline => "baseline",
            Self::Gate => "gate",
            Self::Standards => "standards",
            Self::Record => "record",
            Self::Manifest => "manifest",
            Self::Imported => "imported",
            Self::Config => "config",
            Self::Journal => "journal",
            Self::SafetySingleTurn => "safety-single-turn",
            Self::SafetyMultiTurn => "safety-multi-turn",
            Self::TestCases => "test-cases",
            Self::Prices => "prices",
            Self::ExportRuns => "export-runs",
            Self::ExportConversations => "export-conversations",
            Self::ExportScores => "export-scores",
            Self::EeeLog => "eee",
            Self::EeeSamples => "eee-samples",
            Self::InspectLog => "inspect-log",
            Self::ProgramLines => "program-lines",
            Self::Output => "output",
        }
    }

    /// A short description for the schema.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Benchmark => "benchmark.yaml",
            Self::Hazards => "hazards of a benchmark.yaml",
            Self::Scenarios => "scenarios.json",
            Self::Conversations => "conversations.json",
            Self::Scores => "scores.json",
            Self::Segments => "conversations/index.json and scores/index.json",
            Self::Labels => "labels.json",
            Self::Cost => "cost.json",
            Self::Results => "results.json",
            Self::Grades => "grades.json",
            Self::Statistics => "statistics.json",
            Self::Sequence => "sequence.json",
            Self::Shard => "shard.json",
            Self::Baseline => "baseline.json",
            Self::Gate => "gate.yaml",
            Self::Standards => "standards.json",
            Self::Record => "record.json",
            Self::Manifest => "manifest.json",
            Self::Imported => "imported.json",
            Self::Config => "config.yaml and probity.toml",
            Self::Journal => "a line of a run journal",
            Self::SafetySingleTurn => "results of a single-turn safety run",
            Self::SafetyMultiTurn => "results of a multi-turn safety run",
            Self::TestCases => "a pack of safety test cases",
            Self::Prices => "a table of prices",
            Self::ExportRuns => "a line of runs.jsonl",
            Self::ExportConversations => "a line of conversations.jsonl",
            Self::ExportScores => "a line of scores.jsonl",
            Self::EeeLog => "an aggregate of Every Eval Ever",
            Self::EeeSamples => "a line of the samples of Every Eval Ever",
            Self::InspectLog => "the header of a log of Inspect",
            Self::ProgramLines => "a line between Probity and a program",
            Self::Output => "the JSON output of a command",
        }
    }

    /// The file name of its published schema.
    #[must_use]
    pub fn schema_file(self) -> String {
        format!("{}.schema.json", self.name())
    }

    /// Whether a file of this kind is a JSON list of rows, which is read row by row.
    #[must_use]
    pub fn is_rows(self) -> bool {
        matches!(
            self,
            Self::Scenarios | Self::Conversations | Self::Scores | Self::Labels | Self::Results
        )
    }

    /// Whether a file of this kind has one JSON object per line.
    #[must_use]
    pub fn is_lines(self) -> bool {
        matches!(
            self,
            Self::Journal
                | Self::ExportRuns
                | Self::ExportConversations
                | Self::ExportScores
                | Self::ProgramLines
                | Self::EeeSamples
        )
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error of a word that names no kind: the word, a suggestion, and the known words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind of file `{word}`{hint}")]
pub struct UnknownKind {
    word: String,
    hint: String,
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(word: &str) -> Result<Self, UnknownKind> {
        let names = Self::ALL.map(Self::name);
        let found = Self::ALL.into_iter().find(|kind| kind.name() == word);
        found.ok_or_else(|| UnknownKind {
            word: word.to_owned(),
            hint: match schema::nearest(word, names) {
                Some(near) => format!("; did you mean `{near}`?"),
                None => format!("; known are {}", names.join(", ")),
            },
        })
    }
}
