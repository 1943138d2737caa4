//! A server that writes down what it is asked and answers from a script, and a model that talks to it over HTTP.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use schema::{
    ChatModel, ChatReply, ChatRequest, Event, FinishReason, Journal, ModelError, ModelErrorKind,
    ModelId, ResponseFormat, Usage,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// What the server answers.
#[derive(Clone)]
pub struct Answer {
    status: u16,
    content: String,
    finish: &'static str,
}

impl Answer {
    pub fn says(content: impl Into<String>) -> Self {
        Self::ends(content, "stop")
    }

    pub fn ends(content: impl Into<String>, finish: &'static str) -> Self {
        Self {
            status: 200,
            content: content.into(),
            finish,
        }
    }

    pub fn status(status: u16) -> Self {
        Self {
            status,
            content: String::new(),
            finish: "stop",
        }
    }
}

/// A server on a free port. It stops with the test's runtime.
pub struct Recorder {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Recorder {
    /// `script` is given the model asked for and how many calls that model had before.
    pub async fn start(script: impl Fn(&str, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let shared = (Arc::new(script), Arc::clone(&requests));
        tokio::spawn(async move {
            let counts = Arc::new(Mutex::new(HashMap::<String, usize>::new()));
            while let Ok((stream, _)) = listener.accept().await {
                let ((script, requests), counts) = (shared.clone(), Arc::clone(&counts));
                tokio::spawn(async move {
                    let (stream, body) = read_request(stream).await;
                    let model = body["model"].as_str().unwrap().to_owned();
                    requests.lock().unwrap().push(body);
                    let nth = {
                        let mut counts = counts.lock().unwrap();
                        let count = counts.entry(model.clone()).or_default();
                        *count += 1;
                        *count - 1
                    };
                    respond(stream, script(&model, nth)).await;
                });
            }
        });
        Self { address, requests }
    }

    /// A model of this name on the server.
    pub fn model(&self, name: &str) -> Arc<HttpModel> {
        Arc::new(HttpModel {
            id: ModelId::new(name).unwrap(),
            address: self.address,
        })
    }

    /// The bodies of the requests to `model`, in order.
    pub fn asked(&self, model: &str) -> Vec<Value> {
        let requests = self.requests.lock().unwrap();
        let of_model = requests.iter().filter(|body| body["model"] == model);
        of_model.cloned().collect()
    }
}

async fn read_request(mut stream: TcpStream) -> (TcpStream, Value) {
    let mut bytes = Vec::new();
    loop {
        stream.read_buf(&mut bytes).await.unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, _)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let end = head.len() + 4 + length.unwrap().parse::<usize>().unwrap();
        if bytes.len() >= end {
            return (
                stream,
                serde_json::from_slice(&bytes[head.len() + 4..end]).unwrap(),
            );
        }
    }
}

async fn respond(mut stream: TcpStream, answer: Answer) {
    let body = json!({
        "choices": [{"message": {"content": answer.content}, "finish_reason": answer.finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2},
    })
    .to_string();
    let head = format!(
        "HTTP/1.1 {} X\r\ncontent-length: {}\r\n\r\n",
        answer.status,
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
}

/// The least that can be called a client.
pub struct HttpModel {
    id: ModelId,
    address: SocketAddr,
}

#[async_trait]
impl ChatModel for HttpModel {
    fn id(&self) -> &ModelId {
        &self.id
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let strict = matches!(request.response_format, ResponseFormat::JsonSchema { .. });
        // The context is no part of a real request; tests look at it here.
        let context = &request.context;
        let body = json!({
            "model": self.id,
            "messages": request.messages,
            "strict": strict,
            "context": {
                "purpose": context.purpose, "row": &*context.row, "sample": context.sample,
                "turn": context.turn, "item": context.item.as_deref(),
            },
        })
        .to_string();
        let head = format!("POST / HTTP/1.1\r\ncontent-length: {}\r\n\r\n", body.len());
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status: u16 = head[9..12].parse().unwrap();
        let kind = match status {
            200 => {
                let body: Value = serde_json::from_str(body).unwrap();
                return Ok(reply(&body));
            }
            402 => ModelErrorKind::OverBudget,
            499 => ModelErrorKind::Cancelled,
            _ => ModelErrorKind::Permanent,
        };
        Err(ModelError::new(kind, format!("status {status}")))
    }
}

fn reply(body: &Value) -> ChatReply {
    let choice = &body["choices"][0];
    let usage = Usage {
        input_tokens: body["usage"]["prompt_tokens"].as_u64().unwrap(),
        output_tokens: body["usage"]["completion_tokens"].as_u64().unwrap(),
        ..Usage::default()
    };
    ChatReply {
        finish: FinishReason::from(choice["finish_reason"].as_str().unwrap().to_owned()),
        usage: Some(usage),
        cost: Some(0.5),
        ..ChatReply::text(choice["message"]["content"].as_str().unwrap())
    }
}

/// A journal that keeps its events.
#[derive(Default)]
pub struct Kept(Mutex<Vec<Value>>);

impl Journal for Kept {
    fn record(&self, event: Event) {
        let line = serde_json::to_value(event).unwrap();
        self.0.lock().unwrap().push(line);
    }
}

impl Kept {
    /// The events in order.
    pub fn events(&self) -> Vec<Value> {
        self.0.lock().unwrap().clone()
    }
}
