//! Everything that reads data from outside, as functions of bytes: for the mutants of `cargo xtask chaos` and for the fuzz targets in `fuzz/`.
//!
//! ```
//! use parsers::{Parser, Parsers};
//!
//! let folder = tempfile::tempdir()?;
//! let parsers = Parsers::new(folder.path().to_owned())?;
//! parsers.read(Parser::Config, "config.yaml", b"targets: [{id: [")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! - No network: replies of endpoints are given as their bodies. Statuses, headers and what is not UTF-8 are tried by the mutants, over HTTP.
//! - A parser gets one file. Rules between the files of a tree are not reached.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod in_text;
mod input;
mod of_file;
mod read;
pub mod samples;
mod seeds;

pub use input::{from_input, to_input};
pub use read::Parsers;
pub use seeds::{Seed, seeds};

/// A parser of data from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parser {
    /// `validate`, by the name of the file: files of trees, of runs and of safety evaluations.
    TreeFile,
    /// The configuration, as YAML or TOML.
    Config,
    /// The rules of a gate.
    GateRules,
    /// Packs of test cases, as YAML, JSONL or CSV.
    TestCases,
    /// Prices of models.
    Prices,
    /// A prompt template of a benchmark or a project.
    Prompt,
    /// A check that decides in the place of a judge.
    ReplyCheck,
    /// The JSON schema of a tool, and the arguments of a call.
    ToolSchema,
    /// A journal, plain or compressed.
    Journal,
    /// Segments of rows, and their index.
    Segments,
    /// Recorded runs.
    Cassette,
    /// Labels that people made elsewhere.
    Labels,
    /// Logs of Inspect, as zip or JSON.
    InspectLog,
    /// Results in the format of Every Eval Ever.
    EveryEvalEver,
    /// Results of promptfoo.
    Promptfoo,
    /// Transcripts of Petri and Bloom.
    Petri,
    /// Rows with conversations.
    ConversationRows,
    /// Data sets, but for Parquet.
    Data,
    /// Data sets as Parquet.
    Parquet,
    /// Replies of models, through three interfaces.
    ModelReply,
    /// Replies of applications.
    AppReply,
    /// The verdict in a judge's reply.
    Verdict,
    /// The answers of a program.
    ProgramAnswer,
    /// What a run and its workers send each other.
    ClusterMessage,
}

impl Parser {
    /// All of them.
    pub const ALL: [Self; 24] = [
        Self::TreeFile,
        Self::Config,
        Self::GateRules,
        Self::TestCases,
        Self::Prices,
        Self::Prompt,
        Self::ReplyCheck,
        Self::ToolSchema,
        Self::Journal,
        Self::Segments,
        Self::Cassette,
        Self::Labels,
        Self::InspectLog,
        Self::EveryEvalEver,
        Self::Promptfoo,
        Self::Petri,
        Self::ConversationRows,
        Self::Data,
        Self::Parquet,
        Self::ModelReply,
        Self::AppReply,
        Self::Verdict,
        Self::ProgramAnswer,
        Self::ClusterMessage,
    ];

    /// The name of its fuzz target.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TreeFile => "tree_file",
            Self::Config => "config",
            Self::GateRules => "gate_rules",
            Self::TestCases => "test_cases",
            Self::Prices => "prices",
            Self::Prompt => "prompt",
            Self::ReplyCheck => "reply_check",
            Self::ToolSchema => "tool_schema",
            Self::Journal => "journal",
            Self::Segments => "segments",
            Self::Cassette => "cassette",
            Self::Labels => "labels",
            Self::InspectLog => "inspect_log",
            Self::EveryEvalEver => "every_eval_ever",
            Self::Promptfoo => "promptfoo",
            Self::Petri => "petri",
            Self::ConversationRows => "conversation_rows",
            Self::Data => "data",
            Self::Parquet => "parquet",
            Self::ModelReply => "model_reply",
            Self::AppReply => "app_reply",
            Self::Verdict => "verdict",
            Self::ProgramAnswer => "program_answer",
            Self::ClusterMessage => "cluster_message",
        }
    }

    /// Whether the name of a file decides how it is read.
    #[must_use]
    pub fn goes_by_name(self) -> bool {
        matches!(
            self,
            Self::TreeFile | Self::Config | Self::TestCases | Self::Labels | Self::Data
        )
    }
}
