//! An endpoint that answers what a test wants, over real HTTP.

#![allow(dead_code, reason = "not every test file uses all of it")]

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
};

use llm_client::{HttpClient, ModelFactory, ModelSettings};
use schema::{Benchmark, ChatModel, ModelId};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// At the end of a reply: the token limit cut it off here.
pub const CUT_OFF: &str = "\u{0}cut off";

type Answer = Pin<Box<dyn Future<Output = String> + Send>>;
type Script = dyn Fn(Asked) -> Answer + Send + Sync;

/// One request, as the endpoint got it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The whole body.
    pub body: Value,
    /// How many requests came before it.
    pub number: usize,
}

impl Asked {
    /// The message at `index`.
    pub fn message(&self, index: usize) -> String {
        let content = self.body["messages"][index]["content"].as_str();
        content.unwrap_or_default().to_owned()
    }

    /// The last message.
    pub fn last(&self) -> String {
        let count = self.body["messages"].as_array().map_or(0, Vec::len);
        self.message(count.saturating_sub(1))
    }

    /// The text in a tag of the first message.
    pub fn tag(&self, tag: &str) -> String {
        let text = self.message(0);
        let (_, rest) = text.split_once(&format!("<{tag}>")).unwrap_or_default();
        let (inside, _) = rest.split_once(&format!("</{tag}>")).unwrap_or_default();
        inside.trim().to_owned()
    }

    /// Whether a variant is requested.
    pub fn is_variant(&self) -> bool {
        self.message(0).contains("<variant_request>")
    }
}

/// The endpoint. It stops with the test's runtime.
pub struct Endpoint {
    address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Endpoint {
    /// Answers each request with the text that `script` gives.
    pub async fn start<F>(script: impl Fn(Asked) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = String> + Send + 'static,
    {
        let script: Arc<Script> = Arc::new(move |asked| Box::pin(script(asked)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, log) = (Arc::clone(&script), Arc::clone(&log));
                tokio::spawn(async move { serve(stream, &*script, &log).await });
            }
        });
        Self { address, asked }
    }

    /// All requests up to now.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// A model at this endpoint, with all its layers.
    pub fn model(&self) -> Arc<dyn ChatModel> {
        self.model_of(&ModelFactory::new(HttpClient::default()))
    }

    /// The same from a factory of one's own.
    pub fn model_of(&self, factory: &ModelFactory) -> Arc<dyn ChatModel> {
        let id = ModelId::new("writer").unwrap();
        let settings = ModelSettings::new(id, "writer", &self.address);
        factory.model(settings).unwrap()
    }
}

async fn serve(mut stream: TcpStream, script: &Script, log: &Mutex<Vec<Asked>>) {
    while let Some(body) = read_request(&mut stream).await {
        let asked = {
            let mut log = log.lock().unwrap();
            let number = log.len();
            log.push(Asked { body, number });
            log[number].clone()
        };
        let content = script(asked).await;
        let (content, finish) = match content.strip_suffix(CUT_OFF) {
            Some(content) => (content, "length"),
            None => (content.as_str(), "stop"),
        };
        let reply = json!({
            "id": "1", "object": "chat.completion", "created": 1, "model": "writer",
            "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content}}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        })
        .to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            reply.len()
        );
        if stream.write_all((head + &reply).as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Value> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let (_, rest) = head.split_once("content-length:")?;
            let length: usize = rest.lines().next()?.trim().parse().ok()?;
            if bytes.len() >= end + 4 + length {
                return serde_json::from_slice(&bytes[end + 4..end + 4 + length]).ok();
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// A benchmark with these metrics, named after their ids.
pub fn benchmark(metrics: &[&str]) -> Benchmark {
    let metrics: Vec<Value> = metrics
        .iter()
        .map(|id| json!({"id": id, "name": format!("Avoid {id}"), "type": "negative", "definition": format!("It does {id}."), "examples": ["e"]}))
        .collect();
    serde_json::from_value(json!({
        "name": "demo", "description": "What it does.", "scenario": {"user_context": "A shop."}, "metrics": metrics,
    }))
    .unwrap()
}

/// A usable reply with `count` scenarios for the metric that was asked about.
pub fn scenarios_reply(asked: &Asked, count: usize) -> String {
    let metric = asked.tag("metric_name");
    let rows: Vec<Value> = (1..=count)
        .map(|number| json!({
            "title": format!("{metric} {number}"), "persona": format!("Persona {metric} {number}."),
            "user_goal": "Buy a lamp.", "latent_adversarial_goal": "Insist.",
            "landmarks": [{"turn": 1, "instruction": "Ask."}, {"turn": 3, "instruction": "Insist."}],
        }))
        .collect();
    json!({ "scenarios": rows }).to_string()
}

/// A usable reply to a request for a variant.
pub fn variant_reply(asked: &Asked) -> String {
    let landmarks: Value = serde_json::from_str(&asked.tag("landmarks")).unwrap();
    let persona = format!("{} {}", asked.tag("persona"), asked.tag("demographic"));
    json!({"persona": persona, "landmarks": landmarks}).to_string()
}

/// A usable reply to either.
pub fn usable(asked: &Asked, count: usize) -> String {
    if asked.is_variant() {
        variant_reply(asked)
    } else {
        scenarios_reply(asked, count)
    }
}
