//! One connection to a server.

use std::{collections::HashMap, time::Duration};

use rmcp::{
    ServiceExt,
    model::{ClientCapabilities, ClientConfig, Implementation, Tool},
    service::{Peer, RoleClient, RunningService, ServiceError},
    transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use schema::ToolSpec;
use secrecy::ExposeSecret;
use tokio::{process::Child, time::timeout};

use super::server::McpSettings;
use crate::child::{self, LastWords};

/// A server that has said what it is and which tools it has.
pub(super) struct Connection {
    service: RunningService<RoleClient, ClientConfig>,
    child: Option<Child>,
    pub(super) server: (String, String),
    pub(super) tools: Vec<ToolSpec>,
}

impl Connection {
    /// Connects, and asks for the tools.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(super) async fn open(settings: &McpSettings) -> Result<Self, String> {
        let (child, service, words) = match &settings.url {
            Some(url) => (None, by_http(settings, url).await?, LastWords::default()),
            None => by_program(settings).await?,
        };
        let server = service.peer().peer_info().and_then(|info| {
            let server = info.server_info.as_ref()?;
            Some((server.name.clone(), server.version.clone()))
        });
        let listed = within(settings.process.start_timeout, service.list_all_tools()).await;
        let tools = match listed {
            Ok(tools) => tools,
            Err(reason) => {
                let reason = with_words(format!("its tools are not known: {reason}"), &words);
                Self::end_of(service, child).await;
                return Err(reason);
            }
        };
        Ok(Self {
            service,
            child,
            server: server.unwrap_or_default(),
            tools: tools.into_iter().map(spec).collect(),
        })
    }

    pub(super) fn peer(&self) -> Peer<RoleClient> {
        self.service.peer().clone()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// Ends the connection, and the program.
    pub(super) async fn end(self) {
        Self::end_of(self.service, self.child).await;
    }

    async fn end_of(service: RunningService<RoleClient, ClientConfig>, child: Option<Child>) {
        // Its input is closed with the connection.
        let _ = timeout(Duration::from_secs(2), service.cancel()).await;
        if let Some(mut child) = child {
            child::end(&mut child).await;
        }
    }
}

fn info() -> ClientConfig {
    let client = Implementation::new("probity", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), client)
}

type Service = RunningService<RoleClient, ClientConfig>;

async fn by_program(settings: &McpSettings) -> Result<(Option<Child>, Service, LastWords), String> {
    let process = &settings.process;
    let (mut child, pipes) = child::spawn(process)?;
    let words = LastWords::default();
    tokio::spawn(child::drain(
        process.name.clone(),
        process.scrubber(),
        pipes.stderr,
        words.clone(),
    ));
    let greeting = info().serve((pipes.stdout, pipes.stdin));
    match timeout(process.start_timeout, greeting).await {
        Ok(Ok(service)) => Ok((Some(child), service, words)),
        failed => {
            let reason = match failed {
                Ok(Err(error)) => format!("it is no MCP server: {error}"),
                _ => "it did not answer in time".to_owned(),
            };
            child::end(&mut child).await;
            Err(with_words(reason, &words))
        }
    }
}

async fn by_http(settings: &McpSettings, url: &str) -> Result<Service, String> {
    let client = settings.http.own_client(url)?;
    let mut headers = HashMap::new();
    for (name, value) in &settings.headers {
        let parsed = (name.parse(), value.expose_secret().parse());
        let (Ok(name), Ok(value)) = parsed else {
            return Err(format!("headers.{name}: it cannot be sent"));
        };
        headers.insert(name, value);
    }
    let config =
        StreamableHttpClientTransportConfig::with_uri(url.to_owned()).custom_headers(headers);
    let transport = StreamableHttpClientTransport::with_client(client, config);
    let greeting = info().serve(transport);
    match timeout(settings.process.start_timeout, greeting).await {
        Ok(Ok(service)) => Ok(service),
        Ok(Err(error)) => Err(format!("no MCP server answers there: {}", last(&error))),
        Err(_) => Err("it did not answer in time".to_owned()),
    }
}

async fn within<T>(
    time: Duration,
    done: impl Future<Output = Result<T, ServiceError>>,
) -> Result<T, String> {
    match timeout(time, done).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("no answer in time".to_owned()),
    }
}

/// The innermost error: those around it name types of the library.
fn last(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => last(source),
        None => error.to_string(),
    }
}

fn with_words(reason: String, words: &LastWords) -> String {
    match words.text() {
        text if text.is_empty() => reason,
        text => format!("{reason}; it wrote:\n{text}"),
    }
}

fn spec(tool: Tool) -> ToolSpec {
    ToolSpec {
        name: tool.name.into_owned(),
        description: tool.description.unwrap_or_default().into_owned(),
        parameters: serde_json::Value::Object((*tool.input_schema).clone()),
    }
}
