//! The events of a sample: the target's replies, tool calls, and verdicts. The viewer's transcript and `messages_df` are made from them.

use jiff::Timestamp;
use schema::{Role, Turn};
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    ids,
    message::{Message, ModelOutput, message_id},
    provider::Named,
    score::{Score, Scores},
    tools::{Call, CallError, error_of},
};
use crate::{Run, Sample, places::places};

/// One event.
#[derive(Serialize)]
pub(super) struct Event<'a> {
    event: &'static str,
    uuid: String,
    timestamp: String,
    /// The duration of the target's earlier replies, in seconds.
    working_start: f64,
    #[serde(flatten)]
    what: What<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum What<'a> {
    Model(Box<Model<'a>>),
    Tool(Box<ToolUse<'a>>),
    Score {
        score: &'a Score<'a>,
        target: &'a [&'a str],
        scorer: &'a str,
        intermediate: bool,
    },
    Error {
        error: EvalError<'a>,
    },
}

/// A reply of the target. Its input is a range of the sample's message pool.
#[derive(Serialize)]
struct Model<'a> {
    model: String,
    input: [u8; 0],
    input_refs: [(usize, usize); 1],
    tools: &'a [&'a RawValue],
    tool_choice: &'static str,
    config: Map<String, Value>,
    output: ModelOutput<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    working_time: Option<f64>,
}

/// A tool call and its answer.
#[derive(Serialize)]
struct ToolUse<'a> {
    #[serde(flatten)]
    call: Call<'a>,
    result: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<CallError>,
    events: [u8; 0],
    message_id: String,
}

impl<'a> ToolUse<'a> {
    /// The call that the message at `at` in `turns` answers, if there is one.
    fn of(turns: &'a [Turn], at: usize, uuid: &str) -> Option<Self> {
        let answer = turns.get(at)?;
        let id = answer.tool_call_id.as_deref()?;
        let before = turns.get(..at)?.iter().rev();
        let call = before
            .flat_map(|turn| &turn.tool_calls)
            .find(|call| call.id == id)?;
        Some(Self {
            call: Call::of(call),
            result: &answer.content,
            error: error_of(&answer.content),
            events: [],
            message_id: message_id(uuid, at),
        })
    }
}

/// The error that stopped a sample.
#[derive(Serialize)]
pub(super) struct EvalError<'a> {
    message: &'a str,
    traceback: &'a str,
    traceback_ansi: &'a str,
}

impl<'a> EvalError<'a> {
    /// An error without a traceback. The viewer shows the traceback instead of the message, so both contain the message.
    pub(super) fn new(message: &'a str) -> Self {
        Self {
            message,
            traceback: message,
            traceback_ansi: message,
        }
    }
}

/// The messages that the inputs of a sample's events refer to.
#[derive(Serialize)]
pub(super) struct EventsData<'a> {
    messages: &'a [Message],
    calls: [u8; 0],
}

impl<'a> EventsData<'a> {
    /// All of `messages` except the last, which is not the input of any event.
    pub(super) fn of(messages: &'a [Message]) -> Self {
        let but_last = messages.split_last().map_or(messages, |(_, rest)| rest);
        Self {
            messages: but_last,
            calls: [],
        }
    }
}

/// The events of the target's replies and of the tool calls in a sample.
///
/// All have the time of the sample's start: the time of each call is unknown.
pub(super) fn events<'a>(
    run: &'a Run,
    sample: &'a Sample,
    uuid: &str,
    messages: &'a [Message],
    tools: &'a [&'a RawValue],
) -> Vec<Event<'a>> {
    let time = ids::time(time_of(run, sample));
    let turns = &sample.conversation.transcript;
    let system = messages.len().saturating_sub(turns.len());
    let model = Named::target(run).name;
    let mut events = Vec::with_capacity(turns.len());
    let mut seconds = 0.0;
    for (at, (place, said)) in places(turns).enumerate() {
        let Some(message) = messages.get(system + at) else {
            break;
        };
        let call = match said.role {
            Role::Assistant if said.own_step => continue,
            _ => sample.reply_call(said, place),
        };
        let took = call.and_then(|call| call.run_time);
        let (event, what) = match said.role {
            Role::Assistant => {
                let model = Model {
                    model: model.clone(),
                    input: [],
                    input_refs: [(0, system + at)],
                    tools,
                    tool_choice: if tools.is_empty() { "none" } else { "auto" },
                    config: Map::new(),
                    output: ModelOutput::of(run, call, said, message),
                    cache: call.filter(|call| call.cached).map(|_| "read"),
                    working_time: took,
                };
                ("model", What::Model(Box::new(model)))
            }
            Role::Tool => match ToolUse::of(turns, at, uuid) {
                Some(used) => ("tool", What::Tool(Box::new(used))),
                None => continue,
            },
            Role::User | Role::System => continue,
        };
        events.push(Event {
            event,
            uuid: format!("{uuid}-e{}", at + 1),
            timestamp: time.clone(),
            working_start: seconds,
            what,
        });
        seconds += took.unwrap_or(0.0);
    }
    events
}

/// The events at the end of the conversation: an error, and the verdicts.
pub(super) fn endings<'a>(
    run: &'a Run,
    sample: &'a Sample,
    uuid: &str,
    target: &'a [&'a str],
    scores: &'a Scores<'a>,
) -> Vec<Event<'a>> {
    let time = ids::time(sample.ended.unwrap_or_else(|| time_of(run, sample)));
    let replies = sample.calls_to(crate::Asked::Target);
    let seconds: f64 = replies.filter_map(|call| call.run_time).sum();
    let error = sample.conversation.error.as_deref().map(|error| {
        let error = EvalError::new(error);
        ("error", What::Error { error })
    });
    let verdicts = scores.0.iter().map(|(scorer, score)| {
        let what = What::Score {
            score,
            target,
            scorer,
            intermediate: false,
        };
        ("score", what)
    });
    let all = error.into_iter().chain(verdicts).enumerate();
    all.map(|(at, (event, what))| Event {
        event,
        uuid: format!("{uuid}-x{at}"),
        timestamp: time.clone(),
        working_start: seconds,
        what,
    })
    .collect()
}

fn time_of(run: &Run, sample: &Sample) -> Timestamp {
    sample.started.or(run.started).unwrap_or(run.time)
}
