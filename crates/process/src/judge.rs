//! A program as a judge.

use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use llm_client::{HostModels, ReplyBody, Wire};
use schema::{
    ChatReply, ChatRequest, Exchange, FinishReason, JsonText, JudgeProgram, ModelError,
    ModelErrorKind, Origin, Spend,
};
use serde::Deserialize as _;
use serde_json::Value;

use crate::{
    error::StartError,
    host::Host,
    pool::{ProcessPool, Request},
    target::model_error,
};

/// A judge that is a program. The request's only message is the JSON of the parameters of `judge`; the reply is the JSON of its result.
#[derive(Debug)]
pub struct ProcessJudge {
    pool: ProcessPool,
    host: Host,
    canonical: String,
}

impl ProcessJudge {
    /// The judge that `pool` runs. It may call `models`.
    ///
    /// # Errors
    /// When it calls a model that cannot be called.
    pub fn new(pool: ProcessPool, models: &HostModels) -> Result<Self, StartError> {
        let host = pool.host(models)?;
        Ok(Self {
            canonical: pool.canonical(&host),
            host,
            pool,
        })
    }
}

/// The reply whose content is `result`.
fn body(result: &Value) -> ReplyBody {
    let cost = result.get("cost").and_then(Value::as_f64);
    ReplyBody {
        content: result.to_string(),
        reasoning: None,
        returned_reasoning: None,
        tool_calls: Vec::new(),
        finish: FinishReason::Stop,
        usage: crate::target::usage(result),
        // What a judge does not say that it spent, it did not spend.
        cost: Some(
            cost.filter(|cost| cost.is_finite() && *cost >= 0.0)
                .unwrap_or(0.0),
        ),
        model: None,
        called: None,
    }
}

#[async_trait]
impl Wire for ProcessJudge {
    fn canonical(&self) -> &str {
        &self.canonical
    }

    async fn call(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let text = request
            .messages
            .last()
            .map(|message| message.content.to_string());
        let text = text.unwrap_or_default();
        let Ok(params) = serde_json::from_str::<Value>(&text) else {
            let text = format!("{}: a program judges no free text", self.pool.name());
            return Err(ModelError::new(ModelErrorKind::Permanent, text));
        };
        let started = Instant::now();
        let sent = Request::new("judge", params.clone());
        let result = self.host.request(&self.pool, sent, &request.context);
        let (result, called) = result.await.map_err(|error| model_error(&error))?;
        let exchange = Exchange {
            request: JsonText::of(&serde_json::json!({"method": "judge", "params": params})),
            response: response(&result, &called),
        };
        let mut body = body(&result);
        body.called = Some(called);
        Ok(reply(body, started, exchange))
    }

    fn judge_program(&self) -> Option<JudgeProgram> {
        let hello = self.pool.hello();
        Some(JudgeProgram {
            wants: hello.wants.clone().into(),
            fingerprint: Arc::new(self.pool.fingerprint(self.pool.version(), &self.host)),
        })
    }

    fn read(&self, request: &ChatRequest, stored: JsonText) -> Option<(ReplyBody, Exchange)> {
        let response: Value = serde_json::from_str(stored.get()).ok()?;
        let mut body = body(response.get("result")?);
        body.called = called(&response);
        let text = request.messages.last()?.content.to_string();
        let params: Value = serde_json::from_str(&text).ok()?;
        let exchange = Exchange {
            request: JsonText::of(&serde_json::json!({"method": "judge", "params": params})),
            response: stored,
        };
        Some((body, exchange))
    }
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
