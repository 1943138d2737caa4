//! Counting conversations whose replies are empty or cut off.

use std::{fmt, ops::ControlFlow, path::Path};

use schema::{Benchmark, Conversation, FinishReason, IncompleteReplies, ModelId, Role, Turn};
use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, Visitor},
};

use super::each_row;
use crate::error::PipelineError;

/// Conversations of one system under test by what their replies lack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplyTally {
    conversations: u64,
    incomplete: u64,
    cut_off: u64,
    filtered: u64,
    empty: u64,
}

impl ReplyTally {
    /// Takes a conversation. One that failed is told of elsewhere and never judged.
    pub(crate) fn add(&mut self, conversation: &Conversation) {
        if conversation.error.is_none() {
            self.add_lacks(conversation.transcript.iter().map(Lack::of));
        }
    }

    fn add_lacks(&mut self, lacks: impl Iterator<Item = Option<Lack>>) {
        let (mut cut_off, mut filtered, mut empty) = (false, false, false);
        for lack in lacks.flatten() {
            match lack {
                Lack::CutOff => cut_off = true,
                Lack::Filtered => filtered = true,
                Lack::Empty => empty = true,
            }
        }
        self.conversations += 1;
        self.incomplete += u64::from(cut_off || filtered || empty);
        self.cut_off += u64::from(cut_off);
        self.filtered += u64::from(filtered);
        self.empty += u64::from(empty);
    }

    /// Whether no conversation was taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.conversations == 0
    }

    pub(crate) fn of(self, sut: ModelId) -> IncompleteReplies {
        IncompleteReplies {
            sut,
            conversations: self.conversations,
            incomplete: self.incomplete,
            cut_off: self.cut_off,
            filtered: self.filtered,
            empty: self.empty,
        }
    }
}

/// What a reply lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    CutOff,
    Filtered,
    Empty,
}

impl Lack {
    fn of(turn: &Turn) -> Option<Self> {
        let blank = turn.content.trim().is_empty();
        let says_nothing = blank && turn.tool_calls.is_empty();
        Self::find(turn.role, says_nothing, turn.finish_reason.as_ref())
    }

    fn find(role: Role, says_nothing: bool, finish: Option<&FinishReason>) -> Option<Self> {
        match (role, finish) {
            (Role::Assistant, Some(FinishReason::Length)) => Some(Self::CutOff),
            (Role::Assistant, Some(FinishReason::ContentFilter)) => Some(Self::Filtered),
            (Role::Assistant, _) => says_nothing.then_some(Self::Empty),
            _ => None,
        }
    }
}

/// Counts the conversations of a `conversations.json`, row by row, of the metrics that the benchmark has.
///
/// # Errors
/// When the file cannot be read or is no list of conversations.
pub(crate) fn count_replies(
    path: &Path,
    benchmark: &Benchmark,
) -> Result<ReplyTally, PipelineError> {
    let mut tally = ReplyTally::default();
    each_row(path, |row: Row| {
        if row.error.is_none() && benchmark.metric(&row.metric_id).is_some() {
            let said = row.transcript.unwrap_or_default();
            tally.add_lacks(said.iter().map(Said::lacks));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(tally)
}

/// What counting needs of a row; the texts themselves are passed over.
#[derive(Deserialize)]
struct Row {
    metric_id: String,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(default)]
    transcript: Option<Vec<Said>>,
}

#[derive(Deserialize)]
struct Said {
    role: Role,
    #[serde(default)]
    content: Option<HasText>,
    #[serde(default)]
    tool_calls: Option<Vec<IgnoredAny>>,
    #[serde(default)]
    finish_reason: Option<FinishReason>,
}

impl Said {
    fn lacks(&self) -> Option<Lack> {
        let text = self.content.as_ref().is_some_and(|content| content.0);
        let calls = self.tool_calls.as_ref().is_some_and(|all| !all.is_empty());
        Lack::find(self.role, !text && !calls, self.finish_reason.as_ref())
    }
}

/// Whether a text holds more than white space.
struct HasText(bool);

impl<'de> Deserialize<'de> for HasText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = HasText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<HasText, E> {
                Ok(HasText(!text.trim().is_empty()))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn row(metric: &str, said: Value) -> Value {
        let user = json!({"role": "user", "content": ""});
        json!({"id": "s", "metric_id": metric, "conv_id": "s__a", "target": {"id": "a"}, "transcript": [user, said]})
    }

    #[test]
    fn a_file_and_the_conversations_of_a_run_count_alike() {
        let reply = |content: Value| json!({"role": "assistant", "content": content});
        let ended = |content: &str, finish: &str| json!({"role": "assistant", "content": content, "finish_reason": finish});
        let call = json!({"id": "1", "function": {"name": "f", "arguments": "{}"}});
        let mut failed = row("m01", reply(json!("")));
        failed["error"] = json!("broken off");
        let rows = [
            row("m01", reply(json!("Yes."))),
            row("m01", reply(json!(" \n"))),
            row("m01", reply(Value::Null)),
            row("m01", ended("Ye", "length")),
            row("m01", ended("", "length")),
            row("m01", ended("Ye", "content_filter")),
            row(
                "m01",
                json!({"role": "assistant", "content": "", "tool_calls": [call]}),
            ),
            row("m01", json!({"role": "tool", "content": ""})),
            failed,
        ];
        let mut tally = ReplyTally::default();
        for row in &rows {
            tally.add(&serde_json::from_value(row.clone()).unwrap());
        }
        let wanted = ReplyTally {
            conversations: 8,
            incomplete: 5,
            cut_off: 2,
            filtered: 1,
            empty: 2,
        };
        assert_eq!(tally, wanted);

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("conversations.json");
        // A row of a metric that is no longer there is not judged, and not counted.
        let dropped = row("m02", reply(json!("")));
        let all: Vec<_> = rows.iter().chain([&dropped]).collect();
        std::fs::write(&path, json!(all).to_string()).unwrap();
        let metric = json!({"id": "m01", "name": "n", "type": "negative", "definition": "d", "examples": []});
        let benchmark = json!({"name": "b", "metrics": [metric]});
        let benchmark: Benchmark = serde_json::from_value(benchmark).unwrap();
        assert_eq!(count_replies(&path, &benchmark).unwrap(), wanted);
        std::fs::write(&path, "[{").unwrap();
        assert!(count_replies(&path, &benchmark).is_err());
    }
}
