//! A program in the place of a phase's prompts: a judge, a simulated user, the answers of tools, metrics and scenarios.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use async_trait::async_trait;
use llm_client::{HostModels, ReplyBody, Wire};
use schema::{
    ChatReply, ChatRequest, Exchange, FinishReason, JsonText, ModelError, ModelErrorKind, Origin,
    PhaseProgram, ProgramKind, Spend,
};
use serde::Deserialize as _;
use serde_json::Value;

use crate::{
    error::StartError,
    host::Host,
    pool::{ProcessPool, Request},
    target::model_error,
};

/// A program that judges, plays the user, answers tools, or writes metrics and scenarios. The request's only message is the JSON of the parameters of its method; the reply is
/// the JSON of its result.
#[derive(Debug)]
pub struct ProcessPhase {
    pool: ProcessPool,
    host: Host,
    kind: ProgramKind,
    canonical: String,
}

impl ProcessPhase {
    /// The program that `pool` runs, as its hello says what it does. It may call `models`.
    ///
    /// # Errors
    /// When it calls a model that cannot be called, or is a target.
    pub fn new(pool: ProcessPool, models: &HostModels) -> Result<Self, StartError> {
        let host = pool.host(models)?;
        let kind = ProgramKind::of(&pool.hello().kind);
        Ok(Self {
            kind: kind.ok_or_else(|| pool.unusable("it answers as a model does"))?,
            canonical: pool.canonical(&host),
            host,
            pool,
        })
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
                self.pool.name()
            );
            return Err(ModelError::new(ModelErrorKind::Permanent, text));
        };
        let started = Instant::now();
        let method = self.kind.method(request.context.purpose);
        let sent = Request::new(method, params.clone());
        let result = self.host.request(&self.pool, sent, &request.context);
        let (result, called) = result.await.map_err(|error| model_error(&error))?;
        let exchange = Exchange {
            request: JsonText::of(&serde_json::json!({"method": method, "params": params})),
            response: response(&result, &called),
        };
        let mut body = body(&result);
        body.called = Some(called);
        Ok(reply(body, started, exchange))
    }

    fn phase_program(&self) -> Option<PhaseProgram> {
        let hello = self.pool.hello();
        let mut fingerprint = self.pool.fingerprint(self.pool.version(), &self.host);
        if let Some(calls) = self.host.recorded() {
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
        self.pool.hello().models_called()
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
