//! What a program asks of models: its calls to the host.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
};

use llm_client::HostModels;
use schema::{
    CallContext, Caller, ChatModel, ChatReply, ChatRequest, Message, ModelError, ModelErrorKind,
    NoVerdict, Origin, ResponseFormat, Role, Spend, ToolCall, ToolChoice, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::{
    OnceCell,
    mpsc::{self, error::TrySendError},
};

use crate::{
    error::{ErrorKind, ProcessError},
    hello::{Hello, ModelUse},
    pool::{ProcessPool, Request},
    worker::HostCall,
};

/// The most calls of one request that wait to be made.
const QUEUE: usize = 16;
/// The answer to what a program gives when nothing more is requested.
pub(crate) const NO_MORE: &str = "nothing more is requested";
/// The most calls of one request.
const MOST_CALLS: u32 = 100;

/// Answers the calls of one program.
#[derive(Debug)]
pub(crate) struct Host {
    name: Arc<str>,
    models: BTreeMap<String, Callable>,
    /// The requests that have no result yet.
    unanswered: Mutex<HashMap<Hash, Arc<Mutex<Unanswered>>>>,
}

type Hash = [u8; 32];

/// The calls for one request, in all its deliveries and attempts: a program that asks again what it asked before it died, or before it
/// reported an error, gets the same answer, and the call is counted once.
#[derive(Debug, Default)]
struct Unanswered {
    /// How often a result was useless: of this request, and of those before it that asked for the same.
    unusable: u32,
    spent: Spend,
    /// The answers, by what was asked. A call that is being made is waited for; one that failed is made again.
    answers: HashMap<Hash, Arc<OnceCell<Value>>>,
}

/// A model that the program may call, and how often in a request.
struct Callable {
    identity: String,
    /// The name at its endpoint.
    name: String,
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
                .ok_or_else(|| format!("it calls `{model}`, which is not configured"))?
                .map_err(|reason| format!("it calls `{model}`: {reason}"))?;
            let callable = Callable {
                identity: found.identity,
                name: found.name,
                model: found.model,
                most: uses.most(),
            };
            models.insert(model.clone(), callable);
        }
        Ok(Self {
            name: name.into(),
            models,
            unanswered: Mutex::default(),
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

    /// The same with the names at their endpoints, for records.
    pub(crate) fn recorded(&self) -> Option<Value> {
        let mut all = self.fingerprint()?;
        for (name, callable) in &self.models {
            all[name]["name"] = callable.name.as_str().into();
        }
        Some(all)
    }

    /// Sends a request to the program, and answers its calls meanwhile. Returns what these spent beside the result. `given` takes the calls by
    /// which it gives one thing after the other.
    ///
    /// # Errors
    /// What the program answered, or did.
    pub(crate) async fn request(
        &self,
        pool: &ProcessPool,
        mut request: Request,
        context: &CallContext,
        given: Option<mpsc::Sender<HostCall>>,
    ) -> Result<(Value, Spend), ProcessError> {
        if self.models.is_empty() && given.is_none() {
            return Ok((pool.request(request).await?, Spend::default()));
        }
        let digest = digest_of(&request.params, context);
        let useless_before = useless_before(&request.params);
        let unanswered = || {
            let calls_made = Unanswered {
                unusable: useless_before,
                ..Unanswered::default()
            };
            Arc::new(Mutex::new(calls_made))
        };
        let calls_made = Arc::clone(self.unanswered().entry(digest).or_insert_with(unanswered));
        let (sender, mut calls) = mpsc::channel(QUEUE);
        request.calls = Some(sender);
        let has_given = Arc::clone(&request.has_given);
        let result = {
            let result = pool.request(request);
            tokio::pin!(result);
            loop {
                tokio::select! {
                    biased;
                    Some(call) = calls.recv() => match (call.method(), &given) {
                        ("chat", _) => self.answer(call, context, &calls_made),
                        (_, given) => {
                            has_given.store(true, Relaxed);
                            forward(call, given.as_ref());
                        }
                    },
                    result = &mut result => break result,
                }
            }
        };
        if !result.as_ref().is_err_and(may_be_retried) {
            self.unanswered().remove(&digest);
        }
        let mut made = lock(&calls_made);
        if matches!(&result, Err(error) if error.kind == ErrorKind::Malformed) {
            // Its next calls are other draws.
            made.unusable += 1;
            made.answers.clear();
        }
        Ok((result?, made.spent))
    }

    /// Makes a call in a task of its own: it goes on, is stored and counted, also when the program is gone.
    fn answer(&self, call: HostCall, context: &CallContext, calls_made: &Arc<Mutex<Unanswered>>) {
        if self.models.is_empty() {
            let text = "the program's hello names no model, so it may call none";
            return call.answer(&error(ErrorKind::Permanent, text));
        }
        let unusable = lock(calls_made).unusable;
        let (model, request) = match self.read(&call, context, unusable) {
            Ok(read) => read,
            Err(text) => {
                call.answer(&error(ErrorKind::Permanent, &format!("chat: {text}")));
                return;
            }
        };
        let asked = digest_of_call(call.params());
        let known = Arc::clone(lock(calls_made).answers.entry(asked).or_default());
        let calls_made = Arc::clone(calls_made);
        tokio::spawn(async move {
            let mut is_known = true;
            let made = known.get_or_try_init(|| {
                is_known = false;
                made(&*model, &request, &calls_made)
            });
            let mut answer = made.await.map_or_else(|failed| failed, Value::clone);
            if is_known && let Some(cached) = answer.pointer_mut("/result/cached") {
                *cached = true.into();
            }
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

    fn unanswered(&self) -> MutexGuard<'_, HashMap<Hash, Arc<Mutex<Unanswered>>>> {
        let all = self.unanswered.lock();
        all.unwrap_or_else(PoisonError::into_inner)
    }
}

fn lock(calls: &Mutex<Unanswered>) -> MutexGuard<'_, Unanswered> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes on a thing that the program gives.
fn forward(call: HostCall, given: Option<&mpsc::Sender<HostCall>>) {
    let Some(given) = given else {
        let text = format!("this request takes no `{}`", call.method());
        return call.answer(&error(ErrorKind::Permanent, &text));
    };
    match given.try_send(call) {
        Ok(()) => {}
        Err(TrySendError::Full(call)) => {
            let text = "too many calls at once; wait for an answer";
            call.answer(&error(ErrorKind::Permanent, text));
        }
        Err(TrySendError::Closed(call)) => {
            call.answer(&error(ErrorKind::Cancelled, NO_MORE));
        }
    }
}

/// Makes a call and counts it. Returns its answer, as an error where it failed.
async fn made(
    model: &dyn ChatModel,
    request: &ChatRequest,
    calls_made: &Mutex<Unanswered>,
) -> Result<Value, Value> {
    let outcome = model.chat(request).await;
    let spend = match &outcome {
        Ok(reply) => reply.spend(),
        Err(error) => *error.spend(),
    };
    lock(calls_made).spent.add(&spend);
    match outcome {
        Ok(reply) => Ok(json!({"result": result(&reply)})),
        Err(error) => Err(failed(&error)),
    }
}

/// Whether the layers above may send the request again.
fn may_be_retried(error: &ProcessError) -> bool {
    let is_retried = matches!(
        error.kind,
        ErrorKind::Retryable | ErrorKind::RateLimited | ErrorKind::Malformed
    );
    is_retried && !error.is_final
}

/// How many results were useless before this request, by its number.
fn useless_before(params: &Value) -> u32 {
    let attempt = params.get("attempt").and_then(Value::as_u64).unwrap_or(1);
    u32::try_from(attempt.saturating_sub(1)).unwrap_or(u32::MAX)
}

/// The hash of a request, the same in all its attempts: each of them has another conversation.
fn digest_of(params: &Value, context: &CallContext) -> Hash {
    let mut params = params.clone();
    if let Some(params) = params.as_object_mut() {
        params.remove("conversation");
        params.remove("session");
        params.remove("existing");
    }
    let (purpose, row) = (context.purpose.as_str(), &*context.row);
    let place = json!([purpose, row, context.sample, context.turn, context.step]);
    Sha256::digest(format!("{place}{params}")).into()
}

/// The hash of what a call asks, the same in all deliveries of its request.
fn digest_of_call(params: &Map<String, Value>) -> Hash {
    let mut params = params.clone();
    params.remove("for");
    Sha256::digest(Value::from(params).to_string()).into()
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
    /// The fewest calls of one request.
    pub(crate) fn fewest(&self) -> u32 {
        self.0.first().copied().unwrap_or(0)
    }

    /// The most calls of one request.
    pub(crate) fn most(&self) -> u32 {
        self.0.get(1).copied().unwrap_or(MOST_CALLS)
    }
}
