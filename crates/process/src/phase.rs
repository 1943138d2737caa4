//! A program in the place of a phase's prompts: a judge, a simulated user, the answers of tools, metrics and scenarios.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use async_trait::async_trait;
use llm_client::{HostModels, ReplyBody, Wire};
use schema::{
    CallContext, ChatReply, ChatRequest, ConversationRoom, Exchange, FinishReason, JsonText,
    ModelError, ModelErrorKind, Origin, PhaseProgram, ProgramKind, Spend,
};
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::{
    error::{ProcessError, StartError},
    host::Host,
    ongoing::{AllOngoing, Given, Gives, Items, Ongoing},
    pool::{ProcessPool, Request},
    target::model_error,
    tool_sessions::ToolSessions,
    whole_conversation::WholeConversation,
};

/// A program that judges, plays the user, answers tools, or writes metrics and scenarios. The request's only message is the JSON of the parameters of its method; the reply is
/// the JSON of its result.
#[derive(Debug)]
pub struct ProcessPhase {
    part: Arc<Part>,
    kind: ProgramKind,
    canonical: String,
    /// The requests for which programs give one thing after the other.
    ongoing: AllOngoing,
    /// Places for them. One that waited for a process within a call would keep others from going on, where calls are limited.
    room: Arc<Semaphore>,
    /// The conversations that tools keep.
    sessions: ToolSessions,
}

/// What its requests share.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) pool: ProcessPool,
    pub(crate) host: Host,
}

impl ProcessPhase {
    /// The program that `pool` runs, as its hello says what it does. It may call `models`.
    ///
    /// # Errors
    /// When it calls a model that cannot be called, or is a target.
    pub fn new(pool: ProcessPool, models: &HostModels) -> Result<Self, StartError> {
        let host = pool.host(models)?;
        let kind = ProgramKind::of(&pool.hello().kind);
        let most = pool.most_in_flight();
        Ok(Self {
            kind: kind.ok_or_else(|| pool.unusable("it answers as a model does"))?,
            canonical: pool.canonical(&host),
            part: Arc::new(Part { pool, host }),
            ongoing: AllOngoing::default(),
            room: Arc::new(Semaphore::new(most)),
            sessions: ToolSessions::default(),
        })
    }

    /// The result of `method`; of a generator perhaps one item of it, and of a user that plays a whole conversation its next message.
    async fn result(
        &self,
        method: &'static str,
        params: &Value,
        context: &CallContext,
    ) -> Result<(Value, Spend), ProcessError> {
        let Part { pool, host } = &*self.part;
        if self.kind == ProgramKind::Tools && pool.hello().sessions {
            return self.sessions.answer(&self.part, params, context).await;
        }
        let is_talk = pool.hello().plays_whole_conversations();
        if self.kind != ProgramKind::Generator && !is_talk {
            let sent = Request::new(method, params.clone());
            return host.request(pool, sent, context, None).await;
        }
        let begun = self.ongoing.take(context).and_then(|mut begun| {
            let goes_on = begun.is_answered_by(params);
            goes_on.then_some(begun)
        });
        let begin = || {
            let (gives, request): (Box<dyn Gives>, Request) = match is_talk {
                true => {
                    let (talk, request) = WholeConversation::begin(params);
                    (Box::new(talk), request)
                }
                false => (
                    Box::new(Items::after(params)),
                    Request::new(method, params.clone()),
                ),
            };
            Ongoing::begin(&self.part, gives, request, context)
        };
        let mut ongoing = begun.unwrap_or_else(begin);
        match ongoing.next().await? {
            Given::One(thing) => {
                self.ongoing.put(context, ongoing);
                Ok((thing, Spend::default()))
            }
            Given::All(result, called) => Ok((result, called)),
        }
    }
}

/// The reply whose content is `result`.
pub(crate) fn body(result: &Value) -> ReplyBody {
    let cost = result.get("cost").and_then(Value::as_f64);
    ReplyBody {
        content: result.to_string(),
        reasoning: None,
        returned_reasoning: None,
        tool_calls: Vec::new(),
        steps: Vec::new(),
        finish: FinishReason::Stop,
        usage: crate::target::usage(result),
        // What it does not say that it spent, it did not spend.
        cost: Some(
            cost.filter(|cost| cost.is_finite() && *cost >= 0.0)
                .unwrap_or(0.0),
        ),
        model: None,
        called: None,
    }
}

#[async_trait]
impl Wire for ProcessPhase {
    fn canonical(&self) -> &str {
        &self.canonical
    }

    async fn call(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let text = request
            .messages
            .last()
            .map(|message| message.content.to_string())
            .unwrap_or_default();
        let Ok(params) = serde_json::from_str::<Value>(&text) else {
            let text = format!(
                "{}: a program of its kind gets no free text",
                self.part.pool.name()
            );
            return Err(ModelError::new(ModelErrorKind::Permanent, text));
        };
        let started = Instant::now();
        let method = self.kind.method(request.context.purpose);
        let result = self.result(method, &params, &request.context).await;
        let (result, called) = result.map_err(|error| model_error(&error))?;
        let exchange = Exchange {
            request: JsonText::of(&json!({"method": method, "params": params})),
            response: response(&result, &called),
        };
        let mut body = body(&result);
        body.called = Some(called);
        Ok(reply(body, started, exchange))
    }

    fn phase_program(&self) -> Option<PhaseProgram> {
        let Part { pool, host } = &*self.part;
        let hello = pool.hello();
        let mut fingerprint = pool.fingerprint(pool.version(), host);
        if let Some(calls) = host.recorded() {
            fingerprint["calls"] = calls;
        }
        Some(PhaseProgram {
            kind: self.kind,
            wants: hello.wants.clone().into(),
            fingerprint: Arc::new(fingerprint),
            tools: Arc::default(),
        })
    }

    fn models_called(&self) -> BTreeMap<String, (u32, u32)> {
        self.part.pool.hello().models_called()
    }

    async fn conversation_room(&self) -> ConversationRoom {
        let is_talk = self.part.pool.hello().plays_whole_conversations();
        if self.kind != ProgramKind::Generator && !is_talk {
            return ConversationRoom::default();
        }
        let place = Arc::clone(&self.room).acquire_owned().await;
        place.map_or_else(|_| ConversationRoom::default(), ConversationRoom::new)
    }

    async fn end_conversation(&self, context: &CallContext) {
        drop(self.ongoing.take(context));
        self.sessions.end(&self.part, context).await;
    }

    fn read(&self, request: &ChatRequest, stored: JsonText) -> Option<(ReplyBody, Exchange)> {
        read_stored(self.kind, request, stored)
    }
}

/// See [`Wire::read`].
pub(crate) fn read_stored(
    kind: ProgramKind,
    request: &ChatRequest,
    stored: JsonText,
) -> Option<(ReplyBody, Exchange)> {
    let response: Value = serde_json::from_str(stored.get()).ok()?;
    let mut body = body(response.get("result")?);
    body.called = called(&response);
    let text = request.messages.last()?.content.to_string();
    let params: Value = serde_json::from_str(&text).ok()?;
    let exchange = Exchange {
        request: JsonText::of(&serde_json::json!({
            "method": kind.method(request.context.purpose),
            "params": params,
        })),
        response: stored,
    };
    Some((body, exchange))
}

/// A result as it is stored, with what the program spent on models of the run.
pub(crate) fn response(result: &Value, called: &Spend) -> JsonText {
    let mut response = serde_json::json!({"result": result});
    if called.calls > 0 {
        response["called"] = serde_json::json!(called);
    }
    JsonText::of(&response)
}

/// What the program of a stored response spent on models of the run.
pub(crate) fn called(response: &Value) -> Option<Spend> {
    Spend::deserialize(response.get("called")?).ok()
}

/// The reply with this content.
pub(crate) fn reply(body: ReplyBody, started: Instant, exchange: Exchange) -> ChatReply {
    ChatReply {
        reasoning: body.reasoning,
        tool_calls: body.tool_calls,
        steps: body.steps,
        finish: body.finish,
        usage: body.usage,
        cost: body.cost,
        failed_attempts: Spend::default(),
        called: body.called.unwrap_or_default(),
        origin: Origin::Fetched,
        run_time: started.elapsed(),
        exchange: Some(Arc::new(exchange)),
        ..ChatReply::text(body.content)
    }
}
