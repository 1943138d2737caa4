//! What a program asks of models: its calls to the host.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use llm_client::HostModels;
use schema::{
    CallContext, Caller, ChatModel, ChatReply, ChatRequest, Message, ModelError, ModelErrorKind,
    NoVerdict, Origin, ResponseFormat, Role, Spend, ToolCall, ToolChoice, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use crate::{
    error::{ErrorKind, ProcessError},
    hello::{Hello, ModelUse},
    pool::{ProcessPool, Request},
    worker::HostCall,
};

/// The most calls of one request that wait to be made.
const QUEUE: usize = 16;
/// The most calls of one request.
const MOST_CALLS: u32 = 100;

/// Answers the calls of one program.
#[derive(Debug)]
pub(crate) struct Host {
    name: Arc<str>,
    models: BTreeMap<String, Callable>,
    /// How often a request got a useless result. Only requests for which that happened are here.
    unusable: Mutex<HashMap<[u8; 32], u32>>,
}

/// A model that the program may call, and how often in a request.
struct Callable {
    identity: String,
    model: Arc<dyn ChatModel>,
    most: u32,
}

impl std::fmt::Debug for Callable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (at most {})", self.model.id(), self.most)
    }
}

/// A call of a program, as it writes it.
#[derive(Deserialize)]
struct Asked {
    model: String,
    messages: Vec<AskedMessage>,
    #[serde(default)]
    response_format: Option<AskedFormat>,
    #[serde(default)]
    tools: Vec<AskedTool>,
    #[serde(default)]
    tool_choice: Option<String>,
    #[serde(default)]
    n: u32,
}

#[derive(Deserialize)]
struct AskedMessage {
    role: Role,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    tool_calls: Vec<ToolCall>,
    #[serde(default)]
    tool_call_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AskedFormat {
    Text,
    JsonObject,
    JsonSchema { json_schema: AskedSchema },
}

#[derive(Deserialize)]
struct AskedSchema {
    name: String,
    schema: Value,
}

#[derive(Deserialize)]
struct AskedTool {
    function: ToolSpec,
}

impl Host {
    /// The host of a program that has said `hello`.
    ///
    /// # Errors
    /// When the program calls a model that cannot be called.
    pub(crate) fn new(name: &str, hello: &Hello, offered: &HostModels) -> Result<Self, String> {
        let mut models = BTreeMap::new();
        for (model, uses) in &hello.models {
            let found = offered
                .get(model)
                .ok_or_else(|| format!("it calls `{model}`, which is not configured"))?;
            let found = found.map_err(|reason| format!("it calls `{model}`: {reason}"))?;
            let callable = Callable {
                identity: found.identity,
                model: found.model,
                most: uses.most(),
            };
            models.insert(model.clone(), callable);
        }
        Ok(Self {
            name: name.into(),
            models,
            unusable: Mutex::default(),
        })
    }

    /// The models that decide the program's answers: their ids and the hashes of their settings. `None` if it calls none.
    pub(crate) fn fingerprint(&self) -> Option<Value> {
        let of = |callable: &Callable| {
            let settings = callable.identity.get(..16);
            json!({"model": callable.model.id(), "settings": settings})
        };
        let all = self
            .models
            .iter()
            .map(|(name, callable)| (name.clone(), of(callable)));
        (!self.models.is_empty()).then(|| all.collect())
    }

    /// Sends a request to the program, and answers its calls meanwhile. Returns what these spent beside the result.
    ///
    /// # Errors
    /// What the program answered, or did.
    pub(crate) async fn request(
        &self,
        pool: &ProcessPool,
        mut request: Request,
        context: &CallContext,
    ) -> Result<(Value, Spend), ProcessError> {
        if self.models.is_empty() {
            return Ok((pool.request(request).await?, Spend::default()));
        }
        let digest: [u8; 32] = Sha256::digest(request.params.to_string()).into();
        let unusable = self.unusable().get(&digest).copied().unwrap_or(0);
        let spent = Arc::new(Mutex::new(Spend::default()));
        let (sender, mut calls) = mpsc::channel(QUEUE);
        request.calls = Some(sender);
        let result = {
            let result = pool.request(request);
            tokio::pin!(result);
            loop {
                tokio::select! {
                    biased;
                    Some(call) = calls.recv() => self.answer(call, context, unusable, &spent),
                    result = &mut result => break result,
                }
            }
        };
        if matches!(&result, Err(error) if error.kind == ErrorKind::Malformed) {
            *self.unusable().entry(digest).or_default() += 1;
        }
        let spend = *lock(&spent);
        Ok((result?, spend))
    }

    /// Makes a call in a task of its own: it goes on, is stored and counted, also when the program is gone.
    fn answer(
        &self,
        call: HostCall,
        context: &CallContext,
        unusable: u32,
        spent: &Arc<Mutex<Spend>>,
    ) {
        let (model, request) = match self.read(&call, context, unusable) {
            Ok(read) => read,
            Err(text) => {
                call.answer(&error(ErrorKind::Permanent, &format!("chat: {text}")));
                return;
            }
        };
        let spent = Arc::clone(spent);
        tokio::spawn(async move {
            let outcome = model.chat(&request).await;
            let (spend, answer) = match &outcome {
                Ok(reply) => (reply.spend(), json!({"result": result(reply)})),
                Err(error) => (*error.spend(), failed(error)),
            };
            lock(&spent).add(&spend);
            call.answer(&answer);
        });
    }

    fn read(
        &self,
        call: &HostCall,
        context: &CallContext,
        unusable: u32,
    ) -> Result<(Arc<dyn ChatModel>, ChatRequest), String> {
        let asked: Asked = Deserialize::deserialize(Value::Object(call.params().clone()))
            .map_err(|error: serde_json::Error| error.to_string())?;
        let Some(known) = self.models.get(&asked.model) else {
            let known: Vec<&str> = self.models.keys().map(String::as_str).collect();
            return Err(format!(
                "model: the program's hello does not name {:?}; it names {}",
                asked.model,
                known.join(", ")
            ));
        };
        if asked.messages.is_empty() {
            return Err("messages: expected one or more".to_owned());
        }
        let (of_model, all) = call.count(&asked.model);
        if of_model > known.most {
            return Err(format!(
                "model: more calls of {} for one request than the {} that hello announces",
                asked.model, known.most
            ));
        }
        if all > MOST_CALLS {
            return Err(format!("more than {MOST_CALLS} calls for one request"));
        }
        let context = CallContext {
            caller: Some(Caller {
                name: Arc::clone(&self.name),
                n: asked.n,
                unusable,
            }),
            ..context.clone()
        };
        Ok((Arc::clone(&known.model), asked.request(context)?))
    }

    fn unusable(&self) -> MutexGuard<'_, HashMap<[u8; 32], u32>> {
        self.unusable.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lock(spent: &Mutex<Spend>) -> MutexGuard<'_, Spend> {
    spent.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Asked {
    fn request(self, context: CallContext) -> Result<ChatRequest, String> {
        let message = |asked: AskedMessage| Message {
            tool_calls: asked.tool_calls.into(),
            tool_call_id: asked.tool_call_id.map(Into::into),
            ..Message::new(asked.role, asked.content.unwrap_or_default())
        };
        let messages = self.messages.into_iter().map(message).collect();
        let response_format = match self.response_format {
            None | Some(AskedFormat::Text) => ResponseFormat::Text,
            Some(AskedFormat::JsonObject) => ResponseFormat::JsonObject,
            Some(AskedFormat::JsonSchema { json_schema }) => ResponseFormat::JsonSchema {
                name: json_schema.name.into(),
                schema: Arc::new(json_schema.schema),
            },
        };
        let tool_choice = match self.tool_choice.as_deref() {
            None | Some("auto") => ToolChoice::Auto,
            Some("none") => ToolChoice::None,
            Some(_) => return Err("tool_choice: expected auto or none".to_owned()),
        };
        Ok(ChatRequest {
            response_format,
            tools: self.tools.into_iter().map(|tool| tool.function).collect(),
            tool_choice,
            ..ChatRequest::new(messages, context)
        })
    }
}

/// A reply as the program gets it.
fn result(reply: &ChatReply) -> Value {
    let mut result = Map::new();
    result.insert("content".to_owned(), reply.content.as_str().into());
    if let Some(reasoning) = &reply.reasoning {
        result.insert("reasoning".to_owned(), reasoning.as_str().into());
    }
    if !reply.tool_calls.is_empty() {
        result.insert("tool_calls".to_owned(), json!(reply.tool_calls));
    }
    result.insert("finish".to_owned(), reply.finish.as_str().into());
    let usage = reply.usage.map(
        |usage| json!({"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}),
    );
    result.insert("usage".to_owned(), usage.unwrap_or_default());
    result.insert("cost".to_owned(), json!(reply.cost));
    result.insert("cached".to_owned(), (reply.origin == Origin::Cached).into());
    result.insert("model".to_owned(), json!(reply.model));
    result.into()
}

/// The error of a call. All retries are over.
fn failed(failure: &ModelError) -> Value {
    let kind = match failure.kind() {
        _ if failure.no_verdict() == NoVerdict::ProviderRefused => ErrorKind::Refused,
        ModelErrorKind::Transient => ErrorKind::Retryable,
        ModelErrorKind::RateLimited => ErrorKind::RateLimited,
        ModelErrorKind::Malformed => ErrorKind::Malformed,
        ModelErrorKind::OverBudget => ErrorKind::OverBudget,
        ModelErrorKind::Cancelled => ErrorKind::Cancelled,
        ModelErrorKind::CircuitOpen => ErrorKind::Unavailable,
        _ => ErrorKind::Permanent,
    };
    error(kind, &failure.to_string())
}

/// An error as the answer to a call of a program.
pub(crate) fn error(kind: ErrorKind, message: &str) -> Value {
    json!({"error": {"kind": kind.as_str(), "message": message, "final": true}})
}

impl ModelUse {
    /// The most calls of one request.
    fn most(&self) -> u32 {
        self.0.get(1).copied().unwrap_or(MOST_CALLS)
    }
}
