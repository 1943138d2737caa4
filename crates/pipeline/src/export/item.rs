//! One item while its events are read, and what is kept of it.

use interop::{Asked, Call};
use jiff::Timestamp;
use journal::Line;
use schema::{
    Role, Spend, ToolCall, Turn, Usage,
    reasoning::{self, ReasoningOpening},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::scores::key;

/// What a journal knows of an item and the tree does not.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ItemFacts {
    /// The number of the conversation in the result file of a safety evaluation.
    pub(super) number: Option<i64>,
    pub(super) system_prompt: Option<String>,
    pub(super) calls: Vec<Call>,
    /// Keys of the target's replies, as they went into the transcript.
    replies: Vec<u64>,
    /// Whether the conversation was simulated in this run, not taken from the tree.
    played: bool,
    /// Microseconds since 1970.
    started: Option<i64>,
    ended: Option<i64>,
}

impl ItemFacts {
    /// From `queuing item`.
    pub(super) fn queued(line: &Line<'_>) -> Self {
        #[derive(Deserialize)]
        struct Context {
            conversation_id: Option<i64>,
        }
        let context = line.get::<Context>("context");
        Self {
            number: context.and_then(|context| context.conversation_id),
            started: micros(line),
            ..Self::default()
        }
    }

    /// From `item finished` or `item failed`.
    pub(super) fn ended(&mut self, line: &Line<'_>) {
        self.ended = micros(line);
    }

    /// When it was queued, and when it ended.
    pub(super) fn times(&self) -> [Option<Timestamp>; 2] {
        [self.started, self.ended].map(|time| Timestamp::from_microsecond(time?).ok())
    }

    /// Takes in an event of the item.
    pub(super) fn take(&mut self, line: &Line<'_>) {
        let asked = match line.call_message() {
            "retrying item" => return self.replies.clear(),
            "translated sut response" => {
                let text = line.text("response_text").unwrap_or_default();
                let calls: Vec<ToolCall> = line.get("tool_calls").unwrap_or_default();
                self.replies.push(reply_key(&text, &calls));
                self.played |= line.raw("source").is_none();
                return;
            }
            "fetched sut response" | "using cached sut response" | "sut exception" => Asked::Target,
            "fetched user response" | "using cached user response" | "user exception" => {
                Asked::User
            }
            "fetched tool response" | "using cached tool response" | "tool exception" => {
                Asked::Tool
            }
            "fetched annotator response"
            | "using cached annotator response"
            | "annotator exception" => Asked::Judge,
            _ => return,
        };
        if line.raw("source").is_none() {
            if asked == Asked::Target && self.system_prompt.is_none() {
                self.system_prompt = system_prompt(line);
            }
            self.calls.push(call(asked, line));
        }
    }

    /// Whether the replies are those of `transcript`.
    pub(super) fn fits(&self, transcript: &[Turn]) -> bool {
        reply_keys(transcript).eq(self.replies.iter().copied())
    }

    /// Whether the conversation was simulated in this run.
    pub(super) fn played(&self) -> bool {
        self.played || self.calls.iter().any(|call| call.by != Asked::Judge)
    }
}

/// Keys of the target's replies in `transcript`.
pub(super) fn reply_keys(transcript: &[Turn]) -> impl Iterator<Item = u64> {
    let said = transcript
        .iter()
        .filter(|turn| turn.role == Role::Assistant);
    said.map(|turn| reply_key(&turn.content, &turn.tool_calls))
}

/// A key of a reply. Ids of calls are left out: the simulator may give a call another one than the model did.
pub(super) fn reply_key(text: &str, calls: &[ToolCall]) -> u64 {
    let calls = calls.iter().map(|call| (&*call.name, &*call.arguments));
    key((text, calls.collect::<Vec<_>>()))
}

fn micros(line: &Line<'_>) -> Option<i64> {
    line.time().map(Timestamp::as_microsecond)
}

fn call(by: Asked, line: &Line<'_>) -> Call {
    let name = match by {
        Asked::Target => line.sut.as_deref().map(str::to_owned),
        Asked::User | Asked::Tool => line.text("model").map(|text| text.into_owned()),
        Asked::Judge => line.text("annotator").map(|text| text.into_owned()),
    };
    let reply = Reply::of(line);
    let spend: Spend = line.get("spend").unwrap_or_default();
    let used = Usage {
        input_tokens: spend.input_tokens,
        cached_input_tokens: spend.cached_input_tokens,
        cache_write_tokens: spend.cache_write_tokens,
        output_tokens: spend.output_tokens,
        reasoning_tokens: spend.reasoning_tokens,
    };
    Call {
        by,
        model: name.unwrap_or_default(),
        turn: line.get("turn").unwrap_or_default(),
        step: line.get("step").unwrap_or_default(),
        cached: line.message.starts_with("using cached "),
        run_time: line
            .get("run_time")
            .or_else(|| line.get("original_run_time")),
        request_id: reply.id,
        answered_by: reply.model,
        finish_reason: reply.finish_reason,
        reasoning: reply.reasoning,
        usage: (used != Usage::default()).then_some(used),
        cost: spend.total_cost().filter(|_| spend.calls > 0),
        error: line
            .get::<Exception>("exception")
            .map(|exception| exception.message),
    }
}

#[derive(Deserialize)]
struct Exception {
    message: String,
}

/// What is of interest in the body of a reply.
#[derive(Default)]
struct Reply {
    id: Option<String>,
    model: Option<String>,
    finish_reason: Option<String>,
    reasoning: Option<String>,
}

impl Reply {
    fn of(line: &Line<'_>) -> Self {
        let Some(body) = line.get::<Body>("response") else {
            return Self::default();
        };
        let text = |value: &Value| {
            value
                .as_str()
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let choice = body.choices.into_iter().next().unwrap_or_default();
        let message = choice.message.unwrap_or_default();
        let apart = text(&message.reasoning_content).or_else(|| text(&message.reasoning));
        Self {
            id: text(&body.id),
            model: text(&body.model),
            finish_reason: text(&choice.finish_reason),
            reasoning: apart.or_else(|| opening(message.content.as_str()?)),
        }
    }
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    model: Value,
    #[serde(default)]
    choices: Vec<Choice>,
}

#[derive(Default, Deserialize)]
struct Choice {
    #[serde(default)]
    finish_reason: Value,
    #[serde(default)]
    message: Option<Said>,
}

#[derive(Default, Deserialize)]
struct Said {
    #[serde(default)]
    content: Value,
    #[serde(default)]
    reasoning_content: Value,
    #[serde(default)]
    reasoning: Value,
}

/// The reasoning block that opens a reply.
fn opening(content: &str) -> Option<String> {
    let split = reasoning::split(content, ReasoningOpening::Reply, false);
    split.reasoning.map(str::to_owned)
}

/// The first message of a request, where it is of the role `system`.
fn system_prompt(line: &Line<'_>) -> Option<String> {
    let messages = messages(line)?;
    let first = messages
        .into_iter()
        .next()
        .filter(|message| message.role == "system")?;
    first.content.as_str().map(str::to_owned)
}

/// The messages of the request of a call.
pub(super) fn messages(line: &Line<'_>) -> Option<Vec<Told>> {
    #[derive(Deserialize)]
    struct Request {
        messages: Vec<Told>,
    }
    let request: Request = line
        .get("request")
        .or_else(|| line.get("annotator_request"))?;
    Some(request.messages)
}

/// A message of a request.
#[derive(Deserialize)]
pub(super) struct Told {
    pub(super) role: String,
    #[serde(default)]
    pub(super) content: Value,
}
