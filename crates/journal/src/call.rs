//! One shape for the messages of all calls.

use schema::{
    EventBody, JsonText, Purpose, Spend,
    event::{AnnotatorReply, Exception, ModelException, ModelReply, SutReply},
};

use crate::replay::summarised_turns;

/// A call to a model that ended, as a journal records it.
///
/// ```
/// use journal::{Call, CallRole};
///
/// let line = br#"{"message":"fetched annotator response","annotator":"judge","run_time":0.5,"request":{},"response":{"id":"x"}}"#;
/// let event = journal::Line::parse(line)?.event().ok_or("an unknown message")??;
/// let call = Call::of(&event, "").ok_or("not a call")?;
/// assert_eq!((call.role, call.model, call.run_time), (CallRole::Annotator, "judge", Some(0.5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Call<'e> {
    /// What the model is called as.
    pub role: CallRole,
    /// The model's id; empty if the journal does not have it.
    pub model: &'e str,
    /// The turn of the conversation, from 1.
    pub turn: Option<u32>,
    /// The call within the turn, from 0.
    pub step: Option<u32>,
    /// How the call ended.
    pub ending: CallEnding<'e>,
    /// Seconds that the successful attempt took. For a cached reply, those when it was fetched.
    pub run_time: Option<f64>,
    /// The request body.
    pub request: Option<&'e JsonText>,
    /// The response body.
    pub response: Option<&'e JsonText>,
    /// What the call used and cost; for a cached reply, when it was fetched.
    pub spend: Option<&'e Spend>,
    /// Where the reply was kept, if this run took it from there and made no call: `conversations.json`, for example.
    pub source: Option<&'e str>,
}

/// What a model is called as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallRole {
    /// A generator of metrics, scenarios or variations.
    Generator,
    /// The simulated user.
    User,
    /// The system under test.
    Sut,
    /// A model that simulates a tool.
    Tool,
    /// A judge of a metric.
    Annotator,
    /// A judge of the conversation itself: of the simulated user's messages, or of its realism.
    ConversationJudge,
    /// A model that a program of the run called.
    Host,
    /// A check whether an endpoint answers.
    Probe,
}

/// How a call ended.
#[derive(Clone, Copy, Debug)]
pub enum CallEnding<'e> {
    /// The endpoint replied.
    Fetched,
    /// The reply came from a cache.
    Cached,
    /// The call failed for good.
    Failed(&'e Exception),
}

/// Whether a reply is the result of a test, for which no model was called.
fn is_check(reply: &AnnotatorReply) -> bool {
    reply.spend.is_some_and(|spend| spend.calls == 0)
}

impl<'e> Call<'e> {
    /// The call that `event` records, in an item of the system under test `sut`. `None` for an event that is not a call, sums up
    /// several, or records a test in place of a judge.
    #[must_use]
    pub fn of(event: &'e EventBody, sut: &'e str) -> Option<Self> {
        if summarised_turns(event).is_some() {
            return None;
        }
        Some(match event {
            EventBody::FetchedSutTurn(reply) | EventBody::FetchedSutResponse(reply) => {
                Self::of_sut(reply, sut, CallEnding::Fetched)
            }
            EventBody::UsingCachedSutTurn(reply) | EventBody::UsingCachedSutResponse(reply) => {
                Self::of_sut(reply, sut, CallEnding::Cached)
            }
            EventBody::SutException(failed) => Self {
                turn: failed.turn,
                step: failed.step,
                spend: failed.spend.as_ref(),
                ..Self::new(CallRole::Sut, sut, CallEnding::Failed(&failed.exception))
            },
            EventBody::FetchedAnnotatorResponse(reply) if is_check(reply) => return None,
            EventBody::FetchedAnnotatorTurn(reply) | EventBody::FetchedAnnotatorResponse(reply) => {
                Self {
                    run_time: reply.run_time,
                    request: reply.request.as_ref(),
                    response: reply.response.as_ref(),
                    spend: reply.spend.as_ref(),
                    ..Self::new(CallRole::Annotator, &reply.annotator, CallEnding::Fetched)
                }
            }
            EventBody::UsingCachedAnnotatorTurn(reply)
            | EventBody::UsingCachedAnnotatorResponse(reply) => Self {
                run_time: reply.original_run_time,
                request: reply.annotator_request.as_ref(),
                response: reply.response.as_ref(),
                spend: reply.spend.as_ref(),
                ..Self::new(CallRole::Annotator, &reply.annotator, CallEnding::Cached)
            },
            EventBody::AnnotatorException(failed) => Self {
                spend: failed.spend.as_ref(),
                ..Self::new(
                    CallRole::Annotator,
                    &failed.annotator,
                    CallEnding::Failed(&failed.exception),
                )
            },
            other => return Self::of_helper(other),
        })
    }

    /// Like [`of`](Self::of), for a model that is neither the system under test nor a judge of a metric.
    fn of_helper(event: &'e EventBody) -> Option<Self> {
        Some(match event {
            EventBody::FetchedUserResponse(reply) => {
                Self::of_model(user_role(&reply.purpose), reply, CallEnding::Fetched)
            }
            EventBody::UsingCachedUserResponse(reply) => {
                Self::of_model(user_role(&reply.purpose), reply, CallEnding::Cached)
            }
            EventBody::UserException(failed) => Self::failed(user_role(&failed.purpose), failed),
            EventBody::FetchedToolResponse(reply) => {
                Self::of_model(CallRole::Tool, reply, CallEnding::Fetched)
            }
            EventBody::UsingCachedToolResponse(reply) => {
                Self::of_model(CallRole::Tool, reply, CallEnding::Cached)
            }
            EventBody::ToolException(failed) => Self::failed(CallRole::Tool, failed),
            EventBody::FetchedHostResponse(reply) => {
                Self::of_model(CallRole::Host, reply, CallEnding::Fetched)
            }
            EventBody::UsingCachedHostResponse(reply) => {
                Self::of_model(CallRole::Host, reply, CallEnding::Cached)
            }
            EventBody::HostException(failed) => Self::failed(CallRole::Host, failed),
            EventBody::FetchedGeneratorResponse(reply) => {
                Self::of_model(CallRole::Generator, reply, CallEnding::Fetched)
            }
            EventBody::UsingCachedGeneratorResponse(reply) => {
                Self::of_model(CallRole::Generator, reply, CallEnding::Cached)
            }
            EventBody::GeneratorException(failed) => Self::failed(CallRole::Generator, failed),
            EventBody::FetchedProbeResponse(reply) => {
                Self::of_model(CallRole::Probe, reply, CallEnding::Fetched)
            }
            EventBody::ProbeException(failed) => Self::failed(CallRole::Probe, failed),
            _ => return None,
        })
    }

    fn new(role: CallRole, model: &'e str, ending: CallEnding<'e>) -> Self {
        Self {
            role,
            model,
            turn: None,
            step: None,
            ending,
            run_time: None,
            request: None,
            response: None,
            spend: None,
            source: None,
        }
    }

    fn of_sut(reply: &'e SutReply, sut: &'e str, ending: CallEnding<'e>) -> Self {
        Self {
            turn: reply.turn,
            step: reply.step,
            run_time: reply.run_time.or(reply.original_run_time),
            request: reply.request.as_ref(),
            response: reply.response.as_ref(),
            spend: reply.spend.as_ref(),
            source: reply.source.as_deref(),
            ..Self::new(CallRole::Sut, sut, ending)
        }
    }

    fn of_model(role: CallRole, reply: &'e ModelReply, ending: CallEnding<'e>) -> Self {
        Self {
            turn: reply.turn,
            run_time: reply.run_time.or(reply.original_run_time),
            request: Some(&reply.request),
            response: Some(&reply.response),
            spend: Some(&reply.spend),
            ..Self::new(role, &reply.model, ending)
        }
    }

    fn failed(role: CallRole, failed: &'e ModelException) -> Self {
        Self {
            turn: failed.turn,
            spend: Some(&failed.spend),
            ..Self::new(role, &failed.model, CallEnding::Failed(&failed.exception))
        }
    }

    /// Whether the reply came from a cache.
    #[must_use]
    pub fn is_cached(&self) -> bool {
        matches!(self.ending, CallEnding::Cached)
    }

    /// Whether the call failed for good.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        matches!(self.ending, CallEnding::Failed(_))
    }
}

/// The role of a model whose message says `user`: a judge of the conversation is not a user.
fn user_role(purpose: &str) -> CallRole {
    match Purpose::is_of_conversation_judge(purpose) {
        true => CallRole::ConversationJudge,
        false => CallRole::User,
    }
}

/// The calls to one model in an item that came whole from the cache: one line stands for them, and an earlier journal has them.
#[derive(Clone, Copy, Debug)]
pub struct KeptCalls<'e> {
    /// What the model was called as.
    pub role: CallRole,
    /// The model's id.
    pub model: &'e str,
    /// Their number.
    pub replies: u64,
    /// What all of them used and cost when they were fetched.
    pub spend: Option<&'e Spend>,
}

impl<'e> KeptCalls<'e> {
    /// The calls that `event` of an item of the system under test `sut` stands for. `None` for all other events.
    #[must_use]
    pub fn of(event: &'e EventBody, sut: &'e str) -> Option<Self> {
        let (role, model, turns, spend, kept) = match event {
            EventBody::UsingCachedSutResponse(reply) => (
                CallRole::Sut,
                sut,
                reply.turns,
                reply.spend.as_ref(),
                &reply.kept,
            ),
            EventBody::UsingCachedAnnotatorResponse(reply) => {
                let (model, spend) = (&*reply.annotator, reply.spend.as_ref());
                (CallRole::Annotator, model, reply.turns, spend, &reply.kept)
            }
            EventBody::UsingCachedUserResponse(reply) => {
                let (role, spend) = (user_role(&reply.purpose), Some(&reply.spend));
                (role, &*reply.model, reply.turns, spend, &reply.kept)
            }
            EventBody::UsingCachedToolResponse(reply) => {
                let spend = Some(&reply.spend);
                (
                    CallRole::Tool,
                    &*reply.model,
                    reply.turns,
                    spend,
                    &reply.kept,
                )
            }
            _ => return None,
        };
        kept.as_ref()?;
        Some(Self {
            role,
            model,
            replies: turns?,
            spend,
        })
    }
}
