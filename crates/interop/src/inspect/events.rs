//! What happened in a sample: the target's replies, and the verdicts. The viewer's transcript and `messages_df` are made of these.

use jiff::Timestamp;
use schema::Role;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    ids,
    message::{Message, ModelOutput, target_name},
    score::{Score, Scores},
};
use crate::{Run, Sample};

/// One event.
#[derive(Serialize)]
pub(super) struct Event<'a> {
    event: &'static str,
    uuid: String,
    timestamp: String,
    /// Seconds of the target's replies before it.
    working_start: f64,
    #[serde(flatten)]
    what: What<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum What<'a> {
    Model(Box<Model<'a>>),
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

/// A reply of the target. Its input is a part of the sample's message pool.
#[derive(Serialize)]
struct Model<'a> {
    model: &'a str,
    input: [u8; 0],
    input_refs: [(usize, usize); 1],
    tools: [u8; 0],
    tool_choice: &'static str,
    config: Map<String, Value>,
    output: ModelOutput<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    working_time: Option<f64>,
}

/// What stopped a sample.
#[derive(Serialize)]
pub(super) struct EvalError<'a> {
    message: &'a str,
    traceback: &'a str,
    traceback_ansi: &'a str,
}

impl<'a> EvalError<'a> {
    /// An error without a traceback. The viewer shows the traceback and not the message, so the message stands there too.
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
    /// All of `messages` but the last, which is nobody's input.
    pub(super) fn of(messages: &'a [Message]) -> Self {
        let but_last = messages.split_last().map_or(messages, |(_, rest)| rest);
        Self {
            messages: but_last,
            calls: [],
        }
    }
}

/// The replies of a sample's target, and the last of them where the conversation ends on it.
///
/// Events carry the time of the sample's start: when each call was made is not known.
pub(super) fn events<'a>(
    run: &'a Run,
    sample: &'a Sample,
    uuid: &str,
    messages: &'a [Message],
) -> Vec<Event<'a>> {
    let time = ids::time(time_of(run, sample));
    let turns = &sample.conversation.transcript;
    let system = messages.len().saturating_sub(turns.len());
    let mut events = Vec::with_capacity(turns.len());
    let mut seconds = 0.0;
    let mut turn = 0;
    for (at, said) in turns.iter().enumerate() {
        turn += u32::from(said.role == Role::User);
        let Some(message) = messages.get(system + at) else {
            break;
        };
        if said.role != Role::Assistant {
            continue;
        }
        let call = sample.reply(turn);
        let took = call.and_then(|call| call.run_time);
        events.push(Event {
            event: "model",
            uuid: format!("{uuid}-e{}", at + 1),
            timestamp: time.clone(),
            working_start: seconds,
            what: What::Model(Box::new(Model {
                model: target_name(run),
                input: [],
                input_refs: [(0, system + at)],
                tools: [],
                tool_choice: "none",
                config: Map::new(),
                output: ModelOutput::of(run, call, said, message),
                cache: call.filter(|call| call.cached).map(|_| "read"),
                working_time: took,
            })),
        });
        seconds += took.unwrap_or(0.0);
    }
    events
}

/// What came of the conversation: an error, and the verdicts.
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
    let error = sample.conversation.error.as_deref();
    let error = error.map(|error| {
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
