//! A program as a system under test.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use async_trait::async_trait;
use llm_client::{
    CallFailure, HostModels, Live, Lives, ReplyBody, ReplySteps, Wire, earlier, masked, row_seed,
};
use schema::{
    CallContext, ChatReply, ChatRequest, Event, EventBody, Exchange, FinishReason, JsonText,
    Message, ModelError, ModelErrorKind, NoJournal, Role, ToolCall, Usage, event::SessionStep,
};
use serde_json::{Map, Value, json};

use crate::{
    error::{ErrorKind, ProcessError, StartError},
    host::Host,
    phase::{called, reply, response},
    pool::{ProcessPool, Request},
};

/// A target that is a program. It gets the whole conversation with each turn, or it keeps conversations (`sessions`) and gets what is new.
#[derive(Debug)]
pub struct ProcessTarget {
    pool: ProcessPool,
    host: Host,
    canonical: String,
    lives: Lives,
}

impl ProcessTarget {
    /// The target that `pool` runs. It may call `models`.
    ///
    /// # Errors
    /// When it calls a model that cannot be called.
    pub fn new(pool: ProcessPool, models: &HostModels) -> Result<Self, StartError> {
        let host = pool.host(models)?;
        Ok(Self {
            canonical: pool.canonical(&host),
            host,
            pool,
            lives: Lives::default(),
        })
    }

    /// The parameters of `chat`.
    fn params(&self, request: &ChatRequest, live: &Live, messages: &[Message]) -> Value {
        let context = &request.context;
        let mut params = json!({
            "conversation": live.conversation,
            "turn": context.turn,
            "step": context.step,
            "attempt": 1,
            "seed": row_seed(context),
            "tools": request.tools.as_ref(),
            "metadata": self.pool.metadata(),
            "messages": messages.iter().map(said).collect::<Value>(),
        });
        if !live.session.is_null() {
            params["session"] = live.session.clone();
        }
        params
    }

    async fn chat(
        &self,
        request: &ChatRequest,
        live: &Live,
        messages: &[Message],
        conversation: Option<String>,
    ) -> Result<ChatReply, ProcessError> {
        let params = self.params(request, live, messages);
        let started = Instant::now();
        let sent = Request {
            conversation,
            ..Request::new("chat", params.clone())
        };
        let result = self.host.request(&self.pool, sent, &request.context, None);
        let (result, called) = result.await?;
        let mut body = read(&result).map_err(|reason| {
            let text = format!("{}: {reason}", self.pool.name());
            ProcessError::new(ErrorKind::Malformed, text)
        })?;
        let exchange = Exchange {
            request: recorded(params),
            response: response(&result, &called),
        };
        body.called = Some(called);
        Ok(reply(body, started, exchange))
    }

    /// The messages of `request` that the program gets.
    fn shown<'m>(&self, request: &'m ChatRequest) -> Vec<&'m Message> {
        let own_system = self.pool.hello().system.as_deref() == Some("own");
        let is_left_out = |message: &&Message| own_system && message.role == Role::System;
        request
            .messages
            .iter()
            .filter(|message| !is_left_out(message))
            .collect()
    }

    /// Opens a conversation; one that goes on with what was said `before`.
    async fn open(&self, request: &ChatRequest, before: &[Message]) -> Result<Live, ProcessError> {
        let mut live = Live::new();
        let shown = self.shown(request);
        let system = shown.iter().find(|message| message.role == Role::System);
        let mut params = json!({
            "conversation": live.conversation,
            "system": system.map(|message| &message.content),
            "tools": request.tools.as_ref(),
            "metadata": self.pool.metadata(),
        });
        if !before.is_empty() {
            let is_said = |message: &&Message| message.role != Role::System;
            params["history"] = before.iter().filter(is_said).map(said).collect();
        }
        let context = &request.context;
        let opened = session_step(&self.pool, "open", &live.conversation, params, context);
        let result = opened.await?;
        live.session = result.get("session").cloned().unwrap_or_default();
        Ok(live)
    }

    /// Closes a conversation, as far as that succeeds.
    async fn close(&self, live: &Live, reason: &str, context: &CallContext) {
        let params =
            json!({"conversation": live.conversation, "session": live.session, "reason": reason});
        let _closed = session_step(&self.pool, "close", &live.conversation, params, context).await;
    }

    /// A turn of a program that keeps conversations.
    async fn turn(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let context = &request.context;
        let before = earlier(&request.messages);
        let is_first = before.is_empty();
        let mut live = match self.lives.take_seen(context, before) {
            Ok(live) => live,
            Err(other) => {
                if let Some(other) = other {
                    self.close(&other, "begun again", context).await;
                }
                if !is_first && !self.pool.hello().restore {
                    let text = format!(
                        "{}: its conversation is gone: an earlier run had these turns",
                        self.pool.name()
                    );
                    return Err(ModelError::new(ModelErrorKind::Unseen, text).with_attempts(0));
                }
                self.open(request, before)
                    .await
                    .map_err(|error| model_error(&error))?
            }
        };
        let new: Vec<Message> = request
            .messages
            .get(before.len()..)
            .unwrap_or_default()
            .iter()
            .filter(|message| message.role != Role::System)
            .cloned()
            .collect();
        let conversation = Some(live.conversation.clone());
        match self.chat(request, &live, &new, conversation).await {
            Ok(reply) => {
                // The next request has the steps of this reply, too.
                live.saw(request.messages.iter().chain(&reply.steps), &reply.content);
                self.lives.put(context, live);
                Ok(reply)
            }
            Err(error) if !error.is_seen && !is_first => {
                self.lives.put(context, live);
                Err(model_error(&error))
            }
            Err(error) => {
                self.close(&live, "failed", context).await;
                // One that can be restored repeats this turn only.
                Err(match is_first || self.pool.hello().restore {
                    true => model_error(&error),
                    false => lost(&error),
                })
            }
        }
    }
}

/// Opens or closes a conversation, and records it in the item of `context`.
pub(crate) async fn session_step(
    pool: &ProcessPool,
    method: &'static str,
    conversation: &str,
    params: Value,
    context: &CallContext,
) -> Result<Value, ProcessError> {
    let request = JsonText::of(&masked(&json!({"method": method, "params": params})));
    let sent = Request {
        conversation: Some(conversation.to_owned()),
        ..Request::new(method, params)
    };
    let started = Instant::now();
    let result = pool.request(sent).await;
    let received = result.as_ref().ok();
    let step = SessionStep {
        model: pool.name().into(),
        purpose: method.into(),
        row: Arc::clone(&context.row),
        run_time: started.elapsed().as_secs_f64(),
        request,
        response: received.map(|result| JsonText::of(&masked(&json!({"result": result})))),
        error: result.as_ref().err().map(ToString::to_string),
    };
    let event = Event::new(EventBody::SessionStep(step)).by("ProcessTarget", "step");
    context.record(event, &NoJournal);
    result.inspect_err(|error| tracing::debug!("{}: {method}: {error}", pool.name()))
}

/// A turn as it is recorded: a program may put a secret into what it wants back as its session.
fn recorded(mut params: Value) -> JsonText {
    if let Some(session) = params.get_mut("session") {
        *session = masked(session);
    }
    JsonText::of(&json!({"method": "chat", "params": params}))
}

/// A message as the protocol has it.
fn said(message: &Message) -> Value {
    let mut said = json!({"role": message.role.as_str(), "content": message.content});
    if let Some(id) = &message.tool_call_id {
        said["tool_call_id"] = json!(id);
    }
    if !message.tool_calls.is_empty() {
        let call = |call: &ToolCall| json!({"id": call.id, "name": call.name, "arguments": call.arguments});
        said["tool_calls"] = message.tool_calls.iter().map(call).collect();
    }
    said
}

/// The error of a turn whose conversation is lost with it.
fn lost(error: &ProcessError) -> ModelError {
    match error.kind {
        ErrorKind::Retryable | ErrorKind::RateLimited | ErrorKind::Malformed | ErrorKind::Lost => {
            ModelError::new(ModelErrorKind::Unseen, error.message.as_str())
        }
        _ => model_error(error),
    }
}

/// The error as the layers of policy act on it.
pub(crate) fn model_error(error: &ProcessError) -> ModelError {
    let kind = match error.kind {
        ErrorKind::Retryable | ErrorKind::RateLimited | ErrorKind::Malformed if error.is_final => {
            ModelErrorKind::Permanent
        }
        ErrorKind::Retryable | ErrorKind::Lost => ModelErrorKind::Transient,
        ErrorKind::RateLimited => ModelErrorKind::RateLimited,
        ErrorKind::Malformed => ModelErrorKind::Malformed,
        ErrorKind::Refused | ErrorKind::Permanent | ErrorKind::Unavailable => {
            ModelErrorKind::Permanent
        }
        ErrorKind::Cancelled => ModelErrorKind::Cancelled,
        ErrorKind::OverBudget => ModelErrorKind::OverBudget,
    };
    let failure = CallFailure {
        retry_after: error.retry_after,
        reason: error.message.lines().next().unwrap_or_default().to_owned(),
        ..CallFailure::default()
    };
    let made = ModelError::new(kind, error.message.as_str()).with_source(failure);
    match error.kind {
        ErrorKind::Refused => made.refused_for_content(),
        _ => made,
    }
}

/// The tokens that a result says it used.
pub(crate) fn usage(result: &Value) -> Option<Usage> {
    let usage = result.get("usage")?;
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    let (input, output) = (count("input_tokens"), count("output_tokens"));
    (input.is_some() || output.is_some()).then(|| Usage {
        input_tokens: input.unwrap_or_default(),
        output_tokens: output.unwrap_or_default(),
        ..Usage::default()
    })
}

/// See [`Wire::read`].
pub(crate) fn read_stored(
    request: &ChatRequest,
    stored: JsonText,
) -> Option<(ReplyBody, Exchange)> {
    let response: Value = serde_json::from_str(stored.get()).ok()?;
    let mut body = read(response.get("result")?).ok()?;
    body.called = called(&response);
    let messages: Value = request.messages.iter().map(said).collect();
    let exchange = Exchange {
        request: JsonText::of(&json!({"method": "chat", "params": {"messages": messages}})),
        response: stored,
    };
    Some((body, exchange))
}

/// Reads the result of `chat`.
///
/// # Errors
/// What is wrong with it, with its key.
pub(crate) fn read(result: &Value) -> Result<ReplyBody, String> {
    let Some(result_object) = result.as_object() else {
        return Err("result: expected an object".to_owned());
    };
    let text = |key: &str| result.get(key).and_then(Value::as_str).map(str::to_owned);
    let tool_calls = tool_calls(result_object)?;
    let ReplySteps { steps, content } = said_in(result_object, &tool_calls)?;
    let cost = match result.get("cost") {
        None | Some(Value::Null) => None,
        Some(cost) => match cost
            .as_f64()
            .filter(|cost| cost.is_finite() && *cost >= 0.0)
        {
            Some(cost) => Some(cost),
            None => return Err("cost: expected dollars, 0 or more".to_owned()),
        },
    };
    let finish = match text("finish") {
        Some(finish) => FinishReason::from(finish),
        None if !tool_calls.is_empty() => FinishReason::ToolCalls,
        None => FinishReason::Stop,
    };
    Ok(ReplyBody {
        content,
        reasoning: text("reasoning"),
        returned_reasoning: None,
        tool_calls,
        steps,
        finish,
        usage: usage(result),
        cost,
        model: text("model"),
        called: None,
    })
}

/// What a result says: `content`, or `messages` in its place.
fn said_in(result: &Map<String, Value>, tool_calls: &[ToolCall]) -> Result<ReplySteps, String> {
    let given = |key: &str| result.get(key).filter(|value| !value.is_null());
    if let Some(messages) = given("messages") {
        if given("content").is_some() {
            return Err("messages: expected one of content and messages".to_owned());
        }
        if !tool_calls.is_empty() {
            return Err("tool_calls: those of `messages` are in them".to_owned());
        }
        return ReplySteps::read(messages);
    }
    let content = match given("content") {
        Some(Value::String(content)) => content.clone(),
        None if !tool_calls.is_empty() => String::new(),
        None => return Err("content: missing".to_owned()),
        Some(_) => return Err("content: expected a text".to_owned()),
    };
    Ok(ReplySteps {
        steps: Vec::new(),
        content,
    })
}

fn tool_calls(result: &Map<String, Value>) -> Result<Vec<ToolCall>, String> {
    let calls = match result.get("tool_calls") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(calls)) => calls,
        Some(_) => return Err("tool_calls: expected a list".to_owned()),
    };
    let read = |(at, call): (usize, &Value)| {
        let name = call
            .get("name")
            .and_then(Value::as_str)
            .ok_or_else(|| format!("tool_calls[{at}]: expected id, name, arguments"))?;
        let arguments = match call.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Object(object)) => Value::from(object.clone()).to_string(),
            _ => {
                return Err(format!(
                    "tool_calls[{at}].arguments: expected an object or its text"
                ));
            }
        };
        let id = call.get("id").and_then(Value::as_str);
        Ok(ToolCall {
            id: id.map_or_else(|| format!("call_{at}"), str::to_owned),
            name: name.to_owned(),
            arguments,
        })
    };
    calls.iter().enumerate().map(read).collect()
}

#[async_trait]
impl Wire for ProcessTarget {
    fn canonical(&self) -> &str {
        &self.canonical
    }

    async fn call(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        if self.pool.hello().sessions {
            return self.turn(request).await;
        }
        let shown: Vec<Message> = self.shown(request).into_iter().cloned().collect();
        let reply = self.chat(request, &Live::new(), &shown, None).await;
        reply.map_err(|error| model_error(&error))
    }

    fn read(&self, request: &ChatRequest, stored: JsonText) -> Option<(ReplyBody, Exchange)> {
        read_stored(request, stored)
    }

    fn keeps_conversations(&self) -> bool {
        self.pool.hello().sessions
    }

    fn models_called(&self) -> BTreeMap<String, (u32, u32)> {
        self.pool.hello().models_called()
    }

    async fn end_conversation(&self, context: &CallContext) {
        if let Some(live) = self.lives.take(context) {
            self.close(&live, "done", context).await;
        }
    }
}
