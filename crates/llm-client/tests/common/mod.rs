//! An HTTP server that answers just what a test says, well formed or not, and what tests ask of it.
#![allow(dead_code, reason = "not every test file uses all of it")]

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use llm_client::{HttpClient, HttpOptions, ModelSettings, OpenAi, RetryPolicy};
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, Event, EventKind, Journal, Message, ModelError,
    ModelId, Purpose, Role,
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// A request as the server got it.
#[derive(Clone, Debug)]
pub struct Got {
    pub head: String,
    pub body: Value,
}

impl Got {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// What the server does with a request.
#[derive(Clone)]
pub enum Act {
    /// Answers with this status, these headers and this body.
    Answer(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// The same after a while.
    Later(Duration, Box<Act>),
    /// Promises more bytes than it sends, then closes.
    BreakOff(Vec<u8>),
    /// Closes without a word.
    Close,
    /// Never answers.
    Hang,
}

impl Act {
    pub fn json(status: u16, body: impl ToString) -> Self {
        Self::Answer(status, Vec::new(), body.to_string().into_bytes())
    }

    pub fn with(self, name: &'static str, value: impl ToString) -> Self {
        match self {
            Self::Answer(status, mut headers, body) => {
                headers.push((name, value.to_string()));
                Self::Answer(status, headers, body)
            }
            other => other,
        }
    }

    pub fn later(self, delay: Duration) -> Self {
        Self::Later(delay, Box::new(self))
    }

    /// A completion that says `text`, with usage.
    pub fn say(text: &str) -> Self {
        Self::json(
            200,
            serde_json::json!({
                "id": "x", "model": "echoed-name",
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
            }),
        )
    }
}

type Handler = dyn Fn(usize, &Got) -> Act + Send + Sync;

pub struct Server {
    pub address: String,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

struct Shared {
    handler: Box<Handler>,
    requests: Mutex<Vec<Got>>,
    connections: AtomicUsize,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
}

impl Server {
    /// Starts a server. The handler is given the number of the request, from 0.
    pub async fn start(handler: impl Fn(usize, &Got) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared {
            handler: Box::new(handler),
            requests: Mutex::default(),
            connections: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            most_in_flight: AtomicUsize::new(0),
        });
        let task = tokio::spawn({
            let shared = Arc::clone(&shared);
            async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    shared.connections.fetch_add(1, Ordering::SeqCst);
                    tokio::spawn(serve(stream, Arc::clone(&shared)));
                }
            }
        });
        Self {
            address,
            shared,
            task,
        }
    }

    /// A server that does the same with every request.
    pub async fn always(act: Act) -> Self {
        Self::start(move |_, _| act.clone()).await
    }

    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn requests(&self) -> Vec<Got> {
        self.shared.requests.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.shared.requests.lock().unwrap().len()
    }

    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    pub fn most_in_flight(&self) -> usize {
        self.shared.most_in_flight.load(Ordering::SeqCst)
    }

    pub fn settings(&self) -> ModelSettings {
        ModelSettings::new(
            ModelId::new("my-model").unwrap(),
            "wire-model",
            self.base_url(),
        )
    }

    pub fn model(&self) -> OpenAi {
        model(self.settings())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    let mut buffer = Vec::new();
    while let Some(got) = read(&mut stream, &mut buffer).await {
        let now = shared.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        shared.most_in_flight.fetch_max(now, Ordering::SeqCst);
        let number = {
            let mut requests = shared.requests.lock().unwrap();
            requests.push(got.clone());
            requests.len() - 1
        };
        let act = (shared.handler)(number, &got);
        let goes_on = perform(&mut stream, act, &shared).await;
        if !goes_on {
            return;
        }
    }
}

/// Handles one request. False when the connection ends with it.
async fn perform(stream: &mut TcpStream, mut act: Act, shared: &Shared) -> bool {
    while let Act::Later(delay, then) = act {
        tokio::time::sleep(delay).await;
        act = *then;
    }
    let leave = || shared.in_flight.fetch_sub(1, Ordering::SeqCst);
    match act {
        Act::Answer(status, headers, body) => {
            let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            head.push_str("\r\n");
            leave();
            let bytes = [head.as_bytes(), &body].concat();
            stream.write_all(&bytes).await.is_ok()
        }
        Act::BreakOff(body) => {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n",
                body.len() + 9
            );
            leave();
            let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
            false
        }
        Act::Close => {
            leave();
            false
        }
        _ => {
            std::future::pending::<()>().await;
            false
        }
    }
}

async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Got> {
    loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let got = Got {
                head,
                body: Value::Null,
            };
            let length: usize = got.header("content-length").unwrap_or("0").parse().unwrap();
            if buffer.len() >= end + 4 + length {
                let body = serde_json::from_slice(&buffer[end + 4..end + 4 + length]).unwrap();
                buffer.drain(..end + 4 + length);
                return Some(Got { body, ..got });
            }
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

pub fn http() -> HttpClient {
    HttpClient::new(HttpOptions::default())
}

pub fn model(settings: ModelSettings) -> OpenAi {
    OpenAi::new(settings, &http()).unwrap()
}

pub fn request() -> ChatRequest {
    let context = CallContext::new(Purpose::TargetTurn, "row");
    ChatRequest::new(vec![Message::new(Role::User, "hello")], context)
}

pub async fn ask(model: &(impl ChatModel + ?Sized)) -> Result<ChatReply, ModelError> {
    model.chat(&request()).await
}

/// Retries that hardly wait.
pub fn quick() -> RetryPolicy {
    RetryPolicy {
        base_delay: Duration::from_micros(100),
        max_delay: Duration::from_millis(1),
        ..RetryPolicy::default()
    }
}

/// A journal that can be looked at.
#[derive(Default)]
pub struct Record(Mutex<Vec<Value>>);

impl Record {
    pub fn events(&self, message: EventKind) -> Vec<Value> {
        let events = self.0.lock().unwrap();
        let of_it = |event: &&Value| event["message"] == message;
        events.iter().filter(of_it).cloned().collect()
    }

    pub fn counts(&self) -> HashMap<String, usize> {
        let mut counts = HashMap::new();
        for event in self.0.lock().unwrap().iter() {
            let message = event["message"].as_str().unwrap().to_owned();
            *counts.entry(message).or_default() += 1;
        }
        counts
    }
}

impl Journal for Record {
    fn record(&self, event: Event) {
        let event = serde_json::to_value(&event).unwrap();
        self.0.lock().unwrap().push(event);
    }
}
