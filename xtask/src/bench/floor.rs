//! The floor: the same requests at the same concurrency by bare hyper, one connection for each request in flight. Nothing is
//! parsed, kept or retried. No client can do less.

use std::{
    error::Error,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, task::JoinSet};

use super::{Measure, process::Used};

/// Sends `calls` requests, `in_flight` at a time, to `base_url`. The bodies are the lines of the file `bodies`, in turn.
pub(super) async fn run(
    base_url: &str,
    in_flight: usize,
    calls: usize,
    bodies: &Path,
) -> Result<Measure, Box<dyn Error>> {
    let text = std::fs::read_to_string(bodies)?;
    let bodies: Arc<Vec<Bytes>> = Arc::new(
        text.lines()
            .map(|line| Bytes::copy_from_slice(line.as_bytes()))
            .collect(),
    );
    if bodies.is_empty() {
        return Err("there are no request bodies to send".into());
    }
    drop(text);
    let url: hyper::Uri = format!("{base_url}/chat/completions").parse()?;
    let host = url
        .authority()
        .ok_or("the server's address has no host")?
        .to_string();
    let next = Arc::new(AtomicUsize::new(0));
    let before = Used::now();
    let start = Instant::now();
    let mut workers = JoinSet::new();
    for _ in 0..in_flight {
        let (bodies, next, url, host) = (
            Arc::clone(&bodies),
            Arc::clone(&next),
            url.clone(),
            host.clone(),
        );
        workers.spawn(async move {
            worker(&bodies, &next, calls, &url, &host)
                .await
                .map_err(|e| e.to_string())
        });
    }
    while let Some(ended) = workers.join_next().await {
        ended??;
    }
    Ok(Measure::since(before, start, calls))
}

async fn worker(
    bodies: &[Bytes],
    next: &AtomicUsize,
    calls: usize,
    url: &hyper::Uri,
    host: &str,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let stream = TcpStream::connect(host).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    loop {
        let n = next.fetch_add(1, Ordering::Relaxed);
        let Some(body) = bodies.get(n % bodies.len()).filter(|_| n < calls) else {
            break;
        };
        let request = Request::post(url.path())
            .header(header::HOST, host)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body.clone()))?;
        sender.ready().await?;
        let response = sender.send_request(request).await?;
        if !response.status().is_success() {
            return Err(format!("the server answered {}", response.status()).into());
        }
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            frame?;
        }
    }
    drop(sender);
    connection.abort();
    Ok(())
}
