//! A server, before and after it is connected.

use std::{fmt, sync::Arc, time::Instant};

use async_trait::async_trait;
use llm_client::{HostModels, HttpClient, ReplyBody, Scrubber, Wire};
use rmcp::model::CallToolRequestParams;
use schema::{
    ChatReply, ChatRequest, Exchange, HIDDEN, JsonText, ModelError, ModelErrorKind, PhaseProgram,
    ProgramKind, ToolSpec, text::hex,
};
use secrecy::SecretString;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{answer, thread::Connections};
use crate::{
    phase::{body, reply},
    record::ProgramRecord,
    settings::ProcessSettings,
    version,
};

/// Where a server is, and how it is called.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// Its name, its program with folder and environment, the most time for a call and for the start. Without a program, `url` is its address.
    pub process: ProcessSettings,
    /// Its address, for streamable HTTP.
    pub url: Option<String>,
    /// Headers of each request to `url`.
    pub headers: Vec<(String, SecretString)>,
    /// The connections to `url`.
    pub http: HttpClient,
}

impl McpSettings {
    /// What is secret of them, to be removed from what the server says.
    fn scrubber(&self) -> Scrubber {
        let headers = self.headers.iter().map(|(_, value)| value);
        Scrubber::of(&self.process.secrets(), headers)
    }
}

/// A server that is configured. Nothing is called before [`start`](Wire::start): a plan or a dry run connects to none, and knows its tools if it was
/// connected so before, and has a record.
#[derive(Debug)]
pub struct McpServer {
    settings: McpSettings,
    canonical: String,
    record: Option<ProgramRecord>,
}

impl McpServer {
    /// The server of `settings`.
    #[must_use]
    pub fn new(settings: McpSettings) -> Self {
        let record = ProgramRecord::read(&settings.process, settings.url.as_deref());
        let known = record.as_ref().and_then(|record| record.canonical.clone());
        Self {
            settings,
            canonical: known.unwrap_or_else(|| format!("not started {:016x}", fastrand::u64(..))),
            record,
        }
    }
}

#[async_trait]
impl Wire for McpServer {
    fn canonical(&self) -> &str {
        &self.canonical
    }

    async fn call(&self, _request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let name = &self.settings.process.name;
        let text = format!("{name}: the MCP server is not connected");
        Err(ModelError::new(ModelErrorKind::Permanent, text))
    }

    fn read(&self, request: &ChatRequest, stored: JsonText) -> Option<(ReplyBody, Exchange)> {
        read_stored(request, stored)
    }

    fn phase_program(&self) -> Option<PhaseProgram> {
        self.record.as_ref()?.phase_program()
    }

    fn start(&self, _models: &HostModels) -> Result<Option<Arc<dyn Wire>>, String> {
        let settings = self.settings.clone();
        let name = settings.process.name.clone();
        let given = settings.process.version.clone();
        let version = given.or_else(|| version::of_files(&settings.process));
        let timeout = settings.process.timeout;
        let scrubber = settings.scrubber();
        let look = |connection: &super::connection::Connection| {
            (connection.server.clone(), connection.tools.clone())
        };
        let started = Connections::start(settings, look);
        let (connections, said) =
            started.map_err(|reason| format!("MCP server {name}: {}", scrubber.text(&reason)))?;
        let (server, tools) = without_secrets(&scrubber, &said)
            .ok_or_else(|| format!("MCP server {name}: its tools hold a secret of its settings"))?;
        let offered = hex(&Sha256::digest(json!(tools).to_string()));
        let fingerprint = json!({
            "kind": "mcp",
            "name": server.0,
            "version": version.unwrap_or(server.1),
            "tools": offered.get(..16),
        });
        let connected = McpTools {
            canonical: fingerprint.to_string(),
            fingerprint: Arc::new(fingerprint),
            tools: tools.into(),
            name,
            timeout,
            scrubber,
            connections,
        };
        let address = self.settings.url.as_deref();
        ProgramRecord::write(&self.settings.process, address, &connected, true);
        Ok(Some(Arc::new(connected)))
    }
}

/// What a server says of itself.
type Said = ((String, String), Vec<ToolSpec>);

/// `None`: what was removed does not lie within texts.
fn without_secrets(scrubber: &Scrubber, said: &Said) -> Option<Said> {
    serde_json::from_str(&scrubber.reply(json!(said).to_string())).ok()
}

/// A server with its tools. A request's only message is the JSON of the parameters of `answer`: see `docs/any-language.md`.
struct McpTools {
    name: String,
    connections: Connections,
    tools: Arc<[ToolSpec]>,
    timeout: std::time::Duration,
    scrubber: Scrubber,
    fingerprint: Arc<Value>,
    canonical: String,
}

impl fmt::Debug for McpTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpTools")
            .field("name", &self.name)
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

/// The call that a request is.
struct ToolCall {
    tool: String,
    arguments: serde_json::Map<String, Value>,
}

impl ToolCall {
    fn of(request: &ChatRequest) -> Option<Self> {
        let text = request.messages.last()?.content.to_string();
        let params: Value = serde_json::from_str(&text).ok()?;
        Some(Self {
            tool: params.get("tool")?.as_str()?.to_owned(),
            arguments: params.get("arguments")?.as_object()?.clone(),
        })
    }

    fn exchange(&self, response: JsonText) -> Exchange {
        Exchange {
            request: JsonText::of(&json!({
                "method": "tools/call",
                "params": {"name": self.tool, "arguments": self.arguments},
            })),
            response,
        }
    }
}

impl McpTools {
    fn permanent(&self, text: impl fmt::Display) -> ModelError {
        let text = format!("{}: {text}", self.name);
        let text = self.scrubber.text(&text).into_owned();
        ModelError::new(ModelErrorKind::Permanent, text)
    }

    /// A result without the secrets of the settings.
    fn scrubbed(&self, result: Value) -> Value {
        let text = self.scrubber.reply(result.to_string());
        // What is removed lies within texts, or the result is not shown.
        serde_json::from_str(&text).unwrap_or_else(|_| json!({"error": HIDDEN}))
    }

    async fn result(&self, call: &ToolCall) -> Result<Value, ModelError> {
        let peer = self
            .connections
            .peer()
            .await
            .map_err(|reason| self.permanent(format!("the MCP server: {reason}")))?;
        let params =
            CallToolRequestParams::new(call.tool.clone()).with_arguments(call.arguments.clone());
        let answer = tokio::time::timeout(self.timeout, peer.call_tool(params));
        match answer.await {
            Ok(Ok(answered)) => {
                self.connections.answered();
                Ok(answer::result(&answered))
            }
            Ok(Err(error)) => {
                answer::failed(&error).map_err(|reason| self.permanent(reason))
            }
            Err(_) => Err(self.permanent(format!(
                "the MCP server gave no answer within {} s, and may have acted: the call is not sent a second time",
                self.timeout.as_secs()
            ))),
        }
    }
}

#[async_trait]
impl Wire for McpTools {
    fn canonical(&self) -> &str {
        &self.canonical
    }

    async fn call(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let started = Instant::now();
        let Some(call) = ToolCall::of(request) else {
            return Err(self.permanent("an MCP server gets calls of its tools only"));
        };
        let result = self.result(&call).await?;
        let result = self.scrubbed(result);
        let response = JsonText::of(&json!({"result": result}));
        Ok(reply(body(&result), started, call.exchange(response)))
    }

    fn phase_program(&self) -> Option<PhaseProgram> {
        Some(PhaseProgram {
            kind: ProgramKind::Tools,
            wants: Arc::default(),
            fingerprint: Arc::clone(&self.fingerprint),
            tools: Arc::clone(&self.tools),
        })
    }

    fn read(&self, request: &ChatRequest, stored: JsonText) -> Option<(ReplyBody, Exchange)> {
        read_stored(request, stored)
    }
}

/// See [`Wire::read`].
fn read_stored(request: &ChatRequest, stored: JsonText) -> Option<(ReplyBody, Exchange)> {
    let response: Value = serde_json::from_str(stored.get()).ok()?;
    let body = body(response.get("result")?);
    Some((body, ToolCall::of(request)?.exchange(stored)))
}
