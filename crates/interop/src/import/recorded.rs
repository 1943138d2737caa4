//! Conversations recorded by another program.

use std::{ops::ControlFlow, sync::Arc};

use schema::{Extra, Metric, PhaseCost, Scenario, Tool, Turn};
use serde_json::Value;

/// The facts that all conversations of one file share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceFile {
    /// The file's name, without folders.
    pub file: String,
    /// The id of the evaluation in the program that ran it. The same evaluation in another format has the same id.
    pub id: String,
    /// The evaluation's name: Inspect's task, or the dataset of Every Eval Ever.
    pub task: String,
    /// The description of the evaluation in the file; may be empty.
    pub description: String,
    /// The model under test, as the file names it.
    pub model: String,
    /// The user's own name for the model, if Probity wrote the file.
    pub target: Option<String>,
    /// Metrics with definitions that a judge can use. Empty if the file has none: only Probity's own files have them.
    pub metrics: Vec<Metric>,
    /// The tools of the benchmark, if Probity wrote the file and it contains them.
    pub tools: Vec<Tool>,
    /// The world state for simulated tools, if Probity wrote the file.
    pub world_state: Option<String>,
    /// The ids of the samples in the order of the dataset; empty if unknown.
    pub sample_ids: Vec<String>,
    /// Notes about the file for people, one line each.
    pub notes: Vec<String>,
}

/// One conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// The sample's id in the dataset. Repetitions share it.
    pub sample_id: String,
    /// A hash of the question, in formats where different questions can have the same id: two samples are the same if id and question
    /// are. `None` if the id is sufficient.
    pub question: Option<[u8; 32]>,
    /// The id of this run of the sample, if the file has one: a copy in another file has the same id.
    pub uuid: Option<String>,
    /// The model under test, in files with several; `None`: the model of the file.
    pub model: Option<String>,
    /// Which repetition of the sample, from 0.
    pub repetition: u32,
    /// The target's system prompt.
    pub system_prompt: Option<Arc<str>>,
    /// The messages after the system prompt.
    pub transcript: Vec<Turn>,
    /// Why the conversation is incomplete, or cannot be judged.
    pub error: Option<String>,
    /// The scenario, if Probity wrote the file.
    pub scenario: Option<Scenario>,
    /// Other data about the sample in the file.
    pub metadata: Extra,
    /// The scores in the file: objects with `name`, and the format's own keys.
    pub scores: Vec<Value>,
    /// The expected answer; null if there is none.
    pub reference: Value,
    /// Usage and cost of the sample's calls, if Probity wrote the file.
    pub usage: Option<PhaseCost>,
    /// Replies of the target that are not in the transcript, because the conversation was begun again, or went on from an earlier message.
    pub taken_back: u64,
    /// Parts of messages that are not text, by kind, each replaced by a note in brackets: `[image]`.
    pub not_text: Vec<&'static str>,
}

impl Recorded {
    /// Sets an error if there is nothing to judge and no other error is known.
    pub(super) fn check(&mut self) {
        let said = |turn: &Turn| turn.role == schema::Role::Assistant;
        if self.error.is_none() && !self.transcript.iter().any(said) {
            self.error = Some(if self.transcript.is_empty() {
                "the file has no messages of this conversation".to_owned()
            } else {
                "the target says nothing in this conversation".to_owned()
            });
        }
    }
}

/// An item that a reader returns.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// The next conversation.
    Conversation(Box<Recorded>),
    /// A part that is left out, and why. `what` names it; `why` is the same for all of one kind.
    LeftOut {
        /// The part that is left out.
        what: String,
        /// The reason.
        why: String,
    },
}

/// Receives the items of a reader, and can stop it.
pub type Take<'a> = dyn FnMut(Found) -> ControlFlow<()> + 'a;
