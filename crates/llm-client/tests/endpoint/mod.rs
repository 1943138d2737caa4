//! A small HTTP endpoint whose every reply the test decides.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use llm_client::{
    HttpClient, ModelFactory, ModelSettings, Price, ReplyBody, RetryPolicy, StoredReply,
};
use schema::{CallContext, ChatRequest, FinishReason, Message, ModelId, Purpose, Role, Spend};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

/// Dollars per million tokens.
pub const PRICE: Price = Price {
    input: 1.0,
    output: 2.0,
    cached_input: None,
    cache_write: None,
};

type Respond = dyn Fn(usize, &str) -> (u16, String) + Send + Sync;

/// A server that counts its calls.
pub struct Endpoint {
    pub base_url: String,
    calls: Arc<AtomicUsize>,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl Endpoint {
    /// `respond` gets the number of the call, from 0, and the request body; it gives status and body.
    pub async fn start(
        respond: impl Fn(usize, &str) -> (u16, String) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let endpoint = Self {
            base_url,
            calls: Arc::default(),
            bodies: Arc::default(),
        };
        let (calls, bodies) = (Arc::clone(&endpoint.calls), Arc::clone(&endpoint.bodies));
        let respond: Arc<Respond> = Arc::new(respond);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (calls, bodies) = (Arc::clone(&calls), Arc::clone(&bodies));
                tokio::spawn(serve(stream, Arc::clone(&respond), calls, bodies));
            }
        });
        endpoint
    }

    /// Answers call n with the text `reply n`, 100 tokens sent and 10 received.
    pub async fn numbered() -> Self {
        Self::start(|n, _| (200, completion(&format!("reply {n}"), 100, 10))).await
    }

    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    pub fn bodies(&self) -> Vec<String> {
        self.bodies.lock().unwrap().clone()
    }

    /// A priced model of this endpoint. The cache knows the endpoint as `test`.
    pub fn settings(&self) -> ModelSettings {
        settings(&self.base_url)
    }
}

pub fn settings(base_url: &str) -> ModelSettings {
    let mut settings = ModelSettings::new(ModelId::new("my-model").unwrap(), "wire", base_url);
    settings.cache_name = Some("test".to_owned());
    settings.price = Some(PRICE);
    settings
}

/// A factory that loses no time with retries.
pub fn factory() -> ModelFactory {
    ModelFactory::new(HttpClient::default()).with_retries(RetryPolicy {
        base_delay: Duration::from_millis(1),
        ..RetryPolicy::default()
    })
}

/// A request of `row`.
pub fn request(row: &str) -> ChatRequest {
    let context = CallContext::new(Purpose::TargetTurn, row);
    ChatRequest::new(vec![Message::new(Role::User, "Hello.")], context)
}

pub fn completion(content: &str, input: u64, output: u64) -> String {
    serde_json::json!({
        "model": "wire-2026-01-01",
        "choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": input, "completion_tokens": output},
    })
    .to_string()
}

async fn serve(
    stream: TcpStream,
    respond: Arc<Respond>,
    calls: Arc<AtomicUsize>,
    bodies: Arc<Mutex<Vec<String>>>,
) {
    let mut stream = BufReader::new(stream);
    while let Some(body) = read_request(&mut stream).await {
        let n = calls.fetch_add(1, Ordering::SeqCst);
        let (status, reply) = respond(n, &body);
        bodies.lock().unwrap().push(body);
        let reply = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{reply}",
            reply.len()
        );
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    String::from_utf8(body).ok()
}

/// A stored reply whose content is `text`.
pub fn stored_reply(text: String) -> StoredReply {
    StoredReply {
        created: SystemTime::now(),
        run_time: Duration::from_millis(1),
        failed_attempts: Spend::default(),
        body: Some(ReplyBody {
            content: text,
            reasoning: None,
            returned_reasoning: None,
            tool_calls: Vec::new(),
            steps: Vec::new(),
            finish: FinishReason::Stop,
            usage: None,
            cost: None,
            model: None,
            called: None,
        }),
        wire: None,
        model: Some("m".to_owned()),
        endpoint: Some("http://127.0.0.1:9/v1".to_owned()),
    }
}
