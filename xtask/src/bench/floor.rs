//! The floor: the same requests at the same concurrency, sent with reqwest alone, as in a program for a single endpoint: one client
//! posts the JSON and reads the whole reply. Replies are not parsed or kept, and requests are not retried.

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
use reqwest::{Client, header};
use tokio::task::JoinSet;

use super::{Measure, process::Used};

/// Sends `calls` requests, `in_flight` at a time, to `base_url`. The bodies are the lines of the file `bodies`, in turn.
pub(super) async fn run(
    base_url: &str,
    in_flight: usize,
    calls: usize,
    bodies: &Path,
) -> Result<Measure, Box<dyn Error>> {
    let text = files::read_text(bodies)?;
    let bodies: Arc<Vec<Bytes>> = Arc::new(
        text.lines()
            .map(|line| Bytes::copy_from_slice(line.as_bytes()))
            .collect(),
    );
    if bodies.is_empty() {
        return Err("there are no request bodies to send".into());
    }
    drop(text);
    let client = super::client()?;
    let url: Arc<str> = format!("{base_url}/chat/completions").into();
    let next = Arc::new(AtomicUsize::new(0));
    let before = Used::now();
    let start = Instant::now();
    let mut workers = JoinSet::new();
    for _ in 0..in_flight {
        let (bodies, next) = (Arc::clone(&bodies), Arc::clone(&next));
        let (client, url) = (client.clone(), Arc::clone(&url));
        workers.spawn(async move { worker(&client, &url, &bodies, &next, calls).await });
    }
    while let Some(ended) = workers.join_next().await {
        ended??;
    }
    Ok(Measure::since(before, start, calls))
}

async fn worker(
    client: &Client,
    url: &str,
    bodies: &[Bytes],
    next: &AtomicUsize,
    calls: usize,
) -> Result<(), reqwest::Error> {
    loop {
        let n = next.fetch_add(1, Ordering::Relaxed);
        let Some(body) = bodies.get(n % bodies.len()).filter(|_| n < calls) else {
            return Ok(());
        };
        let request = client
            .post(url)
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.clone());
        let response = request.send().await?.error_for_status()?;
        response.bytes().await?;
    }
}
