//! One row of an instance file, in both versions.

use std::sync::Arc;

use schema::{Extra, Role, ToolCall, Turn};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::own::{number, own, text_of};
use crate::import::{
    Recorded, calls,
    inspect::split_system,
    text::{json_text, known},
};

/// A row.
#[derive(Debug, Deserialize)]
pub(super) struct Row {
    #[serde(default)]
    pub(super) schema_version: Option<String>,
    #[serde(default)]
    pub(super) evaluation_id: Option<String>,
    #[serde(default)]
    pub(super) model_id: Option<String>,
    #[serde(default)]
    pub(super) evaluation_name: Option<String>,
    #[serde(default)]
    evaluation_result_id: Option<String>,
    #[serde(default)]
    sample_id: Value,
    #[serde(default)]
    input: Option<Input>,
    #[serde(default)]
    output: Option<Output>,
    #[serde(default)]
    messages: Option<Vec<Message>>,
    /// The name of `messages` in 0.2.0.
    #[serde(default)]
    interactions: Option<Vec<Message>>,
    #[serde(default)]
    evaluation: Value,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    pub(super) metadata: Option<Extra>,
}

#[derive(Debug, Deserialize)]
struct Input {
    #[serde(default)]
    raw: Option<String>,
    #[serde(default)]
    formatted: Option<String>,
    #[serde(default)]
    reference: Value,
    #[serde(default)]
    choices: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct Output {
    #[serde(default)]
    raw: OneOrMore,
    #[serde(default)]
    reasoning_trace: OneOrMore,
}

#[derive(Debug, Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    reasoning_trace: OneOrMore,
    #[serde(default)]
    tool_calls: Option<Vec<Call>>,
    #[serde(default)]
    tool_call_id: OneOrMore,
}

#[derive(Debug, Deserialize)]
struct Call {
    #[serde(default)]
    id: Option<String>,
    name: String,
    #[serde(default)]
    arguments: Value,
}

/// A text in 0.2.0, a list of texts in 0.3.0.
#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    #[default]
    None,
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn into_list(self) -> Vec<String> {
        match self {
            Self::None => Vec::new(),
            Self::One(text) => vec![text],
            Self::More(list) => list,
        }
    }

    /// The texts joined with `between`; `None` if they are empty.
    fn joined(self, between: &str) -> Option<Arc<str>> {
        let text = self.into_list().join(between);
        (!text.is_empty()).then(|| text.into())
    }
}

/// A row as a conversation, and the values that distinguish it from others of its sample.
pub(super) struct Read {
    pub(super) recorded: Recorded,
    /// The evaluation result of the row.
    pub(super) result: String,
    /// A hash of the conversation.
    pub(super) hash: [u8; 32],
    /// The repetition of the sample, if the row states it.
    pub(super) stated_repetition: Option<u32>,
}

impl Row {
    /// The conversation.
    pub(super) fn read(self) -> Result<Read, String> {
        let sample_id = match &self.sample_id {
            Value::String(id) if !id.is_empty() => id.clone(),
            Value::Number(id) => id.to_string(),
            other => {
                return Err(format!("sample_id is {other}; expected text or a number"));
            }
        };
        let result = self
            .evaluation_result_id
            .or(self.evaluation_name)
            .unwrap_or_default();
        let mut metadata = self.metadata.unwrap_or_default();
        let metric = text_of(&metadata, "metric_id").unwrap_or_else(|| result.clone());
        let reference = self
            .input
            .as_ref()
            .map_or(Value::Null, |input| input.reference.clone());
        let raw = self.input.as_ref().and_then(|input| input.raw.clone());
        let choices = self.input.as_ref().and_then(|input| input.choices.clone());
        // Probity's rows have the scenario as their input, and the prompt in the metadata.
        let prompt = text_of(&metadata, "prompt").filter(|_| own(&metadata).is_some());
        let (system_prompt, transcript) = conversation(
            self.messages.or(self.interactions),
            self.input,
            self.output,
            prompt,
        )?;
        let mut hash = Sha256::new();
        let said = serde_json::to_vec(&(&system_prompt, &transcript));
        hash.update(said.map_err(|error| error.to_string())?);
        let mut score = Extra::new();
        score.insert("name".to_owned(), metric.into());
        score.insert("result".to_owned(), result.clone().into());
        if let Value::Object(evaluation) = self.evaluation {
            score.extend(known(evaluation, &[]));
        }
        for key in ["present", "justification"] {
            if let Some(value) = metadata.get(key) {
                score.insert(key.to_owned(), value.clone());
            }
        }
        let mut recorded = Recorded {
            sample_id,
            system_prompt,
            transcript,
            reference,
            scores: vec![Value::Object(score)],
            ..Recorded::default()
        };
        let stated_repetition;
        if let Some(scenario) = own(&metadata) {
            stated_repetition = number(&metadata, "sample");
            recorded.sample_id.clone_from(&scenario.id);
            recorded.scenario = Some(scenario);
        } else {
            // The converter from Inspect's logs writes it like this.
            stated_repetition = number(&metadata, "epoch").and_then(|epoch| epoch.checked_sub(1));
            // A row with an error still has a score: it was judged, and can be judged again.
            if let Some(error) = self.error {
                metadata.insert("error".to_owned(), error.into());
            }
            if let Some(choices) = choices.filter(|choices| !choices.is_empty()) {
                metadata.insert("choices".to_owned(), choices.into());
            }
            recorded.metadata = metadata;
            recorded.question = Some(question(raw.as_deref(), &recorded.transcript));
        }
        recorded.repetition = stated_repetition.unwrap_or_default();
        recorded.check();
        Ok(Read {
            recorded,
            result,
            hash: hash.finalize().into(),
            stated_repetition,
        })
    }
}

/// A hash of the question: the input, or the user's first message if there is no input.
fn question(raw: Option<&str>, transcript: &[Turn]) -> [u8; 32] {
    let mut turns = transcript.iter();
    let first = turns.find(|turn| turn.role == Role::User);
    let raw = raw.filter(|raw| !raw.is_empty());
    let asked = raw.or(first.map(|turn| &*turn.content));
    Sha256::digest(asked.unwrap_or_default()).into()
}

/// The transcript: the messages, or a single question and its answer.
fn conversation(
    messages: Option<Vec<Message>>,
    input: Option<Input>,
    output: Option<Output>,
    prompt: Option<String>,
) -> Result<(Option<Arc<str>>, Vec<Turn>), String> {
    if let Some(messages) = messages.filter(|messages| !messages.is_empty()) {
        return transcript(messages);
    }
    let Some(input) = input else {
        return Ok((None, Vec::new()));
    };
    let raw = prompt.or(input.raw).unwrap_or_default();
    let mut turns = Vec::new();
    let (answers, reasoning) = output.map_or_else(Default::default, |output| {
        let reasoning = output.reasoning_trace.joined("\n");
        (output.raw.into_list(), reasoning)
    });
    if raw.is_empty() && answers.is_empty() {
        return Ok((None, turns));
    }
    // The model's input, in the form that Probity writes.
    let system = input
        .formatted
        .as_deref()
        .and_then(|formatted| formatted.strip_prefix("SYSTEM: "))
        .and_then(|rest| rest.strip_suffix(&format!("\n\nUSER: {raw}")))
        .map(Arc::from);
    turns.push(Turn::new(Role::User, raw));
    if !answers.is_empty() {
        turns.push(Turn {
            reasoning,
            ..Turn::new(Role::Assistant, answers.join("\n\n"))
        });
    }
    Ok((system, turns))
}

fn transcript(messages: Vec<Message>) -> Result<(Option<Arc<str>>, Vec<Turn>), String> {
    let mut turns: Vec<Turn> = Vec::with_capacity(messages.len());
    for message in messages {
        let role = match message.role.to_lowercase().as_str() {
            "system" | "developer" => Role::System,
            "user" | "human" => Role::User,
            "assistant" | "model" => Role::Assistant,
            "tool" | "function" => Role::Tool,
            other => {
                return Err(format!("a message has the unknown role {other:?}"));
            }
        };
        let mut turn = Turn::new(role, message.content.unwrap_or_default());
        if role == Role::Assistant {
            let calls = message.tool_calls.into_iter().flatten();
            turn.tool_calls = calls.map(Call::tool_call).collect();
            turn.reasoning = message.reasoning_trace.joined("\n");
        }
        if role == Role::Tool {
            let id = message.tool_call_id.into_list().into_iter().next();
            turn.tool_call_id = id.map(Arc::from);
        }
        turns.push(turn);
    }
    calls::link(&mut turns);
    Ok(split_system(turns))
}

impl Call {
    fn tool_call(self) -> ToolCall {
        ToolCall {
            id: self.id.unwrap_or_default(),
            name: self.name,
            arguments: match self.arguments {
                Value::Null => String::new(),
                Value::String(text) => text,
                other => json_text(&other),
            },
        }
    }
}
