//! Sends many calls to a running `scripted-llm` process and prints how fast they were answered.
//!
//! `cargo run --release -p probity-scripted-llm --example load -- http://127.0.0.1:PORT/v1 CONNECTIONS CALLS`
//!
//! Without arguments it starts a server of its own and sends it a hundred calls.

use std::{error::Error, sync::Arc, time::Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, client::conn::http1};
use hyper_util::rt::TokioIo;
use scripted_llm::ScriptedServer;
use tokio::net::TcpStream;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (server, url, connections, calls) = match arguments.as_slice() {
        [] => {
            let server = ScriptedServer::start().await?;
            let url = server.base_url();
            (Some(server), url, 10, 100)
        }
        [url, connections, calls] => (None, url.clone(), connections.parse()?, calls.parse()?),
        _ => return Err("give a base URL, a number of connections and a number of calls".into()),
    };
    if connections == 0 {
        return Err("the number of connections must be at least 1".into());
    }
    let address = url
        .trim_start_matches("http://")
        .trim_end_matches("/v1")
        .to_owned();
    let body = Arc::new(Bytes::from(conversation()));
    let start = Instant::now();
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..connections {
        clients.spawn(client(
            address.clone(),
            Arc::clone(&body),
            calls / connections,
        ));
    }
    while let Some(client) = clients.join_next().await {
        client??;
    }
    let done = calls / connections * connections;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{done} calls over {connections} connections in {seconds:.2} s: {:.0} a second",
        done as f64 / seconds
    );
    drop(server);
    Ok(())
}

/// One call after the other on one connection.
async fn client(
    address: String,
    body: Arc<Bytes>,
    calls: usize,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let stream = TcpStream::connect(&address).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    for _ in 0..calls {
        let request = Request::post("/v1/chat/completions").header("host", &address);
        let response = sender
            .send_request(request.body(Full::new(Bytes::clone(&body)))?)
            .await?;
        if !response.status().is_success() {
            return Err(format!("status {}", response.status()).into());
        }
        response.into_body().collect().await?;
    }
    Ok(())
}

/// The fourth turn of a conversation with a target.
fn conversation() -> String {
    let user = "You write \\\"that is a common mistake\\\". That cannot be right. As I said, a heavy stone always falls faster.";
    let target = "I hear you, and my answer stays the same. Let us take it step by step, starting with what can be tested.";
    let pair = format!(
        "{{\"role\":\"user\",\"content\":\"{user}\"}},{{\"role\":\"assistant\",\"content\":\"{target}\"}},"
    );
    format!(
        "{{\"model\":\"scripted-careful\",\"messages\":[{{\"role\":\"system\",\"content\":\"You are a helpful assistant.\"}},\
         {}{{\"role\":\"user\",\"content\":\"{user}\"}}]}}",
        pair.repeat(3)
    )
}
