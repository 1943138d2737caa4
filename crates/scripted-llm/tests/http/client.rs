//! A small HTTP client for the tests.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Request, StatusCode, client::conn::http1, header::HOST};
use hyper_util::rt::TokioIo;
use scripted_llm::ScriptedServer;
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// An answer that came whole.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    pub fn content(&self) -> String {
        let json = self.json();
        json["choices"][0]["message"]["content"]
            .as_str()
            .unwrap_or_else(|| panic!("{json}"))
            .to_owned()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }
}

/// Sends a request on a connection of its own.
pub async fn send(
    server: &ScriptedServer,
    method: &str,
    path: &str,
    key: Option<&str>,
    body: impl Into<Bytes>,
) -> Result<Answer, hyper::Error> {
    let key = key.map(|key| format!("Bearer {key}"));
    let headers = key.as_deref().map(|key| ("authorization", key));
    send_with(server, method, path, headers.as_slice(), body).await
}

/// Sends a request with these headers on a connection of its own.
pub async fn send_with(
    server: &ScriptedServer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Result<Answer, hyper::Error> {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let driver = tokio::spawn(connection);
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, "localhost");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = sender
        .send_request(request.body(Full::new(body.into())).unwrap())
        .await?;
    let (head, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    drop(sender);
    driver.abort();
    Ok(Answer {
        status: head.status,
        headers: head.headers,
        body,
    })
}

/// Posts a body to the chat endpoint.
pub async fn post(server: &ScriptedServer, body: impl Into<Bytes>) -> Answer {
    send(server, "POST", "/v1/chat/completions", None, body)
        .await
        .unwrap()
}

/// Asks `model` with one user message.
pub async fn ask(server: &ScriptedServer, model: &str, text: &str) -> Answer {
    post(server, body(model, text)).await
}

/// A request body with one user message.
pub fn body(model: &str, text: &str) -> String {
    json!({"model": model, "messages": [{"role": "user", "content": text}]}).to_string()
}

pub const JUDGE: &str = "<judge_request><definition>It says \"yes indeed\".</definition><examples></examples>\
    <transcript>\n[1] USER: yes indeed?\n[2] ASSISTANT: Yes, indeed!\n</transcript></judge_request>";
