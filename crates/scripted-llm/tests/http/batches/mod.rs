//! The interfaces for batches.

mod anthropic;
mod faults;
mod openai;

use std::time::Duration;

use crate::client::{Answer, send, send_with};
use scripted_llm::{BatchScript, ScriptedServer};
use serde_json::{Value, json};

/// A server whose batches end at the first look at them.
async fn server() -> ScriptedServer {
    with(at_once()).await
}

fn at_once() -> BatchScript {
    BatchScript {
        duration: Duration::ZERO,
        ..BatchScript::default()
    }
}

async fn with(script: BatchScript) -> ScriptedServer {
    ScriptedServer::builder()
        .batches(script)
        .start()
        .await
        .unwrap()
}

/// A body for `model`, as it stands in a batch.
fn body(model: &str, text: &str) -> Value {
    json!({"model": model, "max_tokens": 500, "messages": [{"role": "user", "content": text}]})
}

/// Lines of an input file: one for each text, named `item-N` from 0.
fn input(texts: &[&str]) -> String {
    let line = |(number, text): (usize, &&str)| {
        line(
            &format!("item-{number}"),
            &body("scripted-careful", text).to_string(),
        )
    };
    texts.iter().enumerate().map(line).collect()
}

fn line(custom_id: &str, body: &str) -> String {
    format!(
        "{{\"custom_id\":\"{custom_id}\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":{body}}}\n"
    )
}

/// Uploads a file.
async fn upload(server: &ScriptedServer, content: &str) -> Answer {
    let form = format!(
        "--x7\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
         --x7\r\ncontent-disposition: form-data; name=\"file\"; filename=\"in.jsonl\"\r\ncontent-type: application/jsonl\r\n\r\n\
         {content}\r\n--x7--\r\n"
    );
    let headers = [("content-type", "multipart/form-data; boundary=x7")];
    send_with(server, "POST", "/v1/files", &headers, form)
        .await
        .unwrap()
}

/// Uploads a file and creates a batch of it; returns the batch's id.
async fn create(server: &ScriptedServer, content: &str) -> String {
    let file = upload(server, content).await.json();
    let request = json!({
        "input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h", "metadata": {"run": "7"},
    });
    let batch = call(server, "POST", "/v1/batches", &request.to_string()).await;
    assert_eq!(batch["status"], "validating", "{batch}");
    batch["id"].as_str().unwrap().to_owned()
}

/// The JSON of an answer with status 200.
async fn call(server: &ScriptedServer, method: &str, path: &str, body: &str) -> Value {
    let answer = send(server, method, path, None, body.to_owned())
        .await
        .unwrap();
    assert_eq!(answer.status, 200, "{method} {path}: {}", answer.json());
    answer.json()
}

async fn batch(server: &ScriptedServer, id: &str) -> Value {
    call(server, "GET", &format!("/v1/batches/{id}"), "").await
}

/// The lines of a file; none where there is no file.
async fn lines(server: &ScriptedServer, file: &Value) -> Vec<Value> {
    let Some(id) = file.as_str() else {
        return Vec::new();
    };
    let path = format!("/v1/files/{id}/content");
    let answer = send(server, "GET", &path, None, "").await.unwrap();
    assert_eq!(answer.status, 200);
    jsonl(&answer.body)
}

fn jsonl(content: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(content).unwrap();
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

fn ids(lines: &[Value]) -> Vec<&str> {
    lines
        .iter()
        .map(|line| line["custom_id"].as_str().unwrap())
        .collect()
}
