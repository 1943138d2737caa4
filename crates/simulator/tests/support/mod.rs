//! A server that writes down what it is asked and answers from a script, and the real client in front of it.
#![allow(dead_code, reason = "no test file uses all of it")]

pub mod play;

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use llm_client::{HttpClient, ModelSettings, OpenAi, Price};
use schema::{
    ChatModel, ChatReply, ChatRequest, Event, Journal, ModelError, ModelErrorKind, ModelId,
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
    contexts: Arc<Mutex<Vec<Value>>>,
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
        Self {
            address,
            requests,
            contexts: Arc::default(),
        }
    }

    /// A model of this name on the server. A million tokens cost 1000 dollars to send and 20,000 to receive.
    pub fn model(&self, name: &str) -> Arc<dyn ChatModel> {
        self.model_until(name, usize::MAX, ModelErrorKind::Cancelled)
    }

    /// The same, but calls after the first `calls` are not made and fail as `kind`, as a layer around the model would do it.
    pub fn model_until(
        &self,
        name: &str,
        calls: usize,
        kind: ModelErrorKind,
    ) -> Arc<dyn ChatModel> {
        let mut settings = ModelSettings::new(
            ModelId::new(name).unwrap(),
            name,
            format!("http://{}/v1", self.address),
        );
        settings.price = Some(Price {
            input: 1_000.0,
            output: 20_000.0,
            cached_input: None,
        });
        Arc::new(Watched {
            inner: OpenAi::new(settings, &HttpClient::default()).unwrap(),
            contexts: Arc::clone(&self.contexts),
            left: Mutex::new(calls),
            kind,
        })
    }

    /// The bodies of the requests to `model`, in order.
    pub fn asked(&self, model: &str) -> Vec<Value> {
        let requests = self.requests.lock().unwrap();
        let of_model = requests.iter().filter(|body| body["model"] == model);
        of_model.cloned().collect()
    }

    /// What the calls of one purpose were said to be for, in order.
    pub fn contexts(&self, purpose: &str) -> Vec<Value> {
        let contexts = self.contexts.lock().unwrap();
        let of_purpose = contexts
            .iter()
            .filter(|context| context["purpose"] == purpose);
        of_purpose.cloned().collect()
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
        let start = head.len() + 4;
        let end = start + length.unwrap().parse::<usize>().unwrap();
        if bytes.len() >= end {
            let body = serde_json::from_slice(&bytes[start..end]).unwrap();
            return (stream, body);
        }
    }
}

async fn respond(mut stream: TcpStream, answer: Answer) {
    let body = match answer.status {
        200 => json!({
            "choices": [{
                "message": {"role": "assistant", "content": answer.content},
                "finish_reason": answer.finish,
            }],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2},
        }),
        status => json!({"error": {"message": format!("refused with {status}")}}),
    }
    .to_string();
    let head = format!(
        "HTTP/1.1 {} X\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        answer.status,
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
}

/// The client, with its calls' contexts written down. They never go on the wire.
struct Watched {
    inner: OpenAi,
    contexts: Arc<Mutex<Vec<Value>>>,
    left: Mutex<usize>,
    kind: ModelErrorKind,
}

impl Watched {
    fn may_call(&self) -> bool {
        let mut left = self.left.lock().unwrap();
        let may = *left > 0;
        *left = left.saturating_sub(1);
        may
    }
}

#[async_trait]
impl ChatModel for Watched {
    fn id(&self) -> &ModelId {
        self.inner.id()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        if !self.may_call() {
            return Err(ModelError::new(self.kind, "not made"));
        }
        let context = &request.context;
        self.contexts.lock().unwrap().push(json!({
            "purpose": context.purpose, "row": &*context.row, "sample": context.sample,
            "turn": context.turn, "item": context.item.as_deref(),
        }));
        self.inner.chat(request).await
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
