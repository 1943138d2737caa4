//! Conversations as another program recorded them.

use std::{ops::ControlFlow, sync::Arc};

use schema::{Extra, Metric, PhaseCost, Scenario, Tool, Turn};
use serde_json::Value;

/// What holds for all conversations of one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceFile {
    /// The file's name, without folders.
    pub file: String,
    /// What names the evaluation in the program that ran it. The same evaluation in another form has the same.
    pub id: String,
    /// The evaluation's name: Inspect's task, the data set of Every Eval Ever.
    pub task: String,
    /// What the evaluation is about, as the file says; may be empty.
    pub description: String,
    /// The model under test, as the file names it.
    pub model: String,
    /// The user's own name for it, where Probity wrote the file.
    pub target: Option<String>,
    /// Metrics with definitions that a judge can go by. Empty where the file has none: only Probity's own files have them.
    pub metrics: Vec<Metric>,
    /// The tools of the benchmark, where Probity wrote the file and they are in it.
    pub tools: Vec<Tool>,
    /// The state of the world for simulated tools, where Probity wrote the file.
    pub world_state: Option<String>,
    /// The ids of the samples in the order of the data set; empty where it is not known.
    pub sample_ids: Vec<String>,
    /// What a person should know of the file, one line each.
    pub notes: Vec<String>,
}

/// One conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// The sample's id in the data set. Repetitions share it.
    pub sample_id: String,
    /// A hash of the question, in formats in which different questions can have one id: samples are the same where id and question are.
    /// `None` where the id alone tells.
    pub question: Option<[u8; 32]>,
    /// What names this run of the sample, where the file says it: a copy in another file has the same.
    pub uuid: Option<String>,
    /// Which repetition of the sample, from 0.
    pub repetition: u32,
    /// The target's system prompt.
    pub system_prompt: Option<Arc<str>>,
    /// The messages behind it.
    pub transcript: Vec<Turn>,
    /// Why the conversation was not played to its end, or cannot be judged.
    pub error: Option<String>,
    /// The scenario, where Probity wrote the file.
    pub scenario: Option<Scenario>,
    /// What the file says of the sample besides.
    pub metadata: Extra,
    /// How the conversation was scored there: objects with `name`, and keys that the format has.
    pub scores: Vec<Value>,
    /// The expected answer; null where there is none.
    pub reference: Value,
    /// What its calls used and cost, where Probity wrote the file.
    pub usage: Option<PhaseCost>,
    /// Parts of messages that are not text, by kind, each replaced by a note in brackets: `[image]`.
    pub not_text: Vec<&'static str>,
}

impl Recorded {
    /// Says that there is nothing to judge, where that is so and no other reason is known.
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

/// What a reader hands on.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// The next conversation.
    Conversation(Box<Recorded>),
    /// Something that is left out, and why: `{what}` names it, `{why}` is the same for all of a kind.
    LeftOut {
        /// The one that is left out.
        what: String,
        /// Why.
        why: String,
    },
}

/// Takes what a reader finds, until it breaks.
pub type Take<'a> = dyn FnMut(Found) -> ControlFlow<()> + 'a;
