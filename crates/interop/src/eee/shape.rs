//! The fields of an instance row, in both versions.

use std::borrow::Cow;

use schema::Extra;
use serde::{Serialize, Serializer, ser::SerializeMap};

#[derive(Serialize)]
pub(super) struct Row<'a> {
    pub(super) schema_version: &'a str,
    pub(super) evaluation_id: &'a str,
    pub(super) model_id: &'a str,
    pub(super) evaluation_name: String,
    pub(super) evaluation_result_id: String,
    pub(super) sample_id: String,
    pub(super) sample_hash: String,
    pub(super) interaction_type: &'a str,
    pub(super) input: Input<'a>,
    pub(super) output: Option<Output<'a>>,
    #[serde(flatten)]
    pub(super) messages: Messages<'a>,
    pub(super) answer_attribution: Vec<Attribution>,
    pub(super) evaluation: Evaluation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) token_usage: Option<TokenUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) performance: Option<Performance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    pub(super) metadata: Texts<'a>,
}

/// The transcript, under its name in the version.
#[derive(Serialize)]
pub(super) enum Messages<'a> {
    #[serde(rename = "messages")]
    Messages(Option<Vec<Message<'a>>>),
    #[serde(rename = "interactions")]
    Interactions(Option<Vec<Message<'a>>>),
}

#[derive(Serialize)]
pub(super) struct Input<'a> {
    pub(super) raw: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) formatted: Option<String>,
    pub(super) reference: Listed<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) choices: Option<Vec<&'a str>>,
}

/// A list of texts, which is a single text in 0.2.0.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Listed<'a> {
    One(&'a str),
    List([&'a str; 1]),
}

#[derive(Serialize)]
pub(super) struct Output<'a> {
    pub(super) raw: Listed<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_trace: Option<Listed<'a>>,
}

#[derive(Serialize)]
pub(super) struct Message<'a> {
    pub(super) turn_idx: usize,
    pub(super) role: &'a str,
    pub(super) content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_trace: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<ToolCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<[&'a str; 1]>,
}

#[derive(Serialize)]
pub(super) struct ToolCall<'a> {
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) arguments: Arguments<'a>,
}

/// Arguments of a call.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Arguments<'a> {
    Texts(Texts<'a>),
    Values(Extra),
}

#[derive(Serialize)]
pub(super) struct Attribution {
    pub(super) turn_idx: usize,
    pub(super) source: String,
    pub(super) extracted_value: &'static str,
    pub(super) extraction_method: &'static str,
    pub(super) is_terminal: bool,
}

#[derive(Serialize)]
pub(super) struct Evaluation {
    pub(super) score: f64,
    pub(super) is_correct: bool,
    pub(super) num_turns: usize,
    pub(super) tool_calls_count: usize,
}

#[derive(Serialize)]
pub(super) struct TokenUsage {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input_tokens_cache_write: Option<u64>,
    pub(super) input_tokens_cache_read: u64,
    pub(super) reasoning_tokens: u64,
}

#[derive(Serialize)]
pub(super) struct Performance {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) latency_ms: Option<f64>,
    pub(super) additional_details: Texts<'static>,
}

/// Texts by name, in insertion order. A name that already exists is not added again.
#[derive(Default)]
pub(super) struct Texts<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Texts<'a> {
    pub(super) fn add(&mut self, name: impl Into<Cow<'a, str>>, text: impl Into<Cow<'a, str>>) {
        let name = name.into();
        if !self.0.iter().any(|(known, _)| *known == name) {
            self.0.push((name, text.into()));
        }
    }

    pub(super) fn add_known(&mut self, name: &'static str, text: Option<impl Into<Cow<'a, str>>>) {
        if let Some(text) = text {
            self.add(name, text);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Texts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, text) in &self.0 {
            map.serialize_entry(name, text)?;
        }
        map.end()
    }
}
