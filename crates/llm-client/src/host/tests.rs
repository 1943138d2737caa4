//! Which connection a request goes over, at servers that count them.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use bytes::Bytes;
use futures::future::join_all;
use http_body_util::Full;
use hyper::{Request, Response, Uri};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::*;
use crate::{
    HttpClient, HttpOptions, ModelSettings, OpenAi,
    connect::tests::{COMPLETION, chat, listen, tls},
    http::Machine,
};
use schema::ModelId;

/// Answers every request on every connection. Counts the connections that are open.
async fn answering() -> (u16, Arc<AtomicUsize>) {
    let (listener, port) = listen().await;
    let open = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&open);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let count = Arc::clone(&count);
            tokio::spawn(async move {
                count.fetch_add(1, SeqCst);
                let mut head = Vec::new();
                while stream.read_buf(&mut head).await.unwrap() > 0 {
                    if head.ends_with(b"\r\n\r\n") {
                        head.clear();
                        let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
                        stream.write_all(reply).await.unwrap();
                    }
                }
                count.fetch_sub(1, SeqCst);
            });
        }
    });
    (port, open)
}

fn host_at(port: u16, concurrency: usize, idle: Duration) -> Host {
    let ways = Ways::new(
        Machine::default(),
        HttpOptions {
            concurrency,
            ..HttpOptions::default()
        },
    );
    let address = Uri::try_from(format!("http://127.0.0.1:{port}/")).unwrap();
    Host::new(address, Route::Local, Arc::new(ways), idle)
}

/// Sends a request and reads the reply, and waits with both until all of so many have a connection.
async fn ask(host: &Host, together: &tokio::sync::Barrier) {
    let mut connection = host.connection().await.unwrap();
    together.wait().await;
    let request = |_: Form<'_>| Request::new(Full::new(Bytes::new()));
    let Ok(response) = connection.send(&request).await else {
        panic!("the request was not answered");
    };
    let mut body = response.into_body();
    let frame = connection.frame(&mut body).await.unwrap().unwrap();
    assert_eq!(frame.into_data().unwrap(), "hi");
    host.give_back(connection);
}

/// Waits until the server sees so many connections.
async fn until(open: &AtomicUsize, count: usize) {
    for _ in 0..200 {
        if open.load(SeqCst) == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(open.load(SeqCst), count);
}

#[tokio::test]
async fn idle_connections_are_used_again_and_the_most_are_kept() {
    let (port, open) = answering().await;
    let host = host_at(port, 2, Duration::from_secs(60));
    for _ in 0..3 {
        let together = tokio::sync::Barrier::new(4);
        join_all((0..4).map(|_| ask(&host, &together))).await;
        assert_eq!(host.idle.count(), 2);
        until(&open, 2).await;
    }
    drop(host);
    until(&open, 0).await;
}

#[tokio::test]
async fn connections_that_were_idle_for_too_long_are_closed() {
    let (port, open) = answering().await;
    let host = host_at(port, 4, Duration::from_millis(200));
    let together = tokio::sync::Barrier::new(3);
    join_all((0..3).map(|_| ask(&host, &together))).await;
    until(&open, 3).await;
    tokio::time::sleep(Duration::from_millis(250)).await;
    let alone = tokio::sync::Barrier::new(1);
    // Taking one finds all of them too old.
    let connection = host.connection().await.unwrap();
    assert!(!connection.is_used());
    assert_eq!(host.idle.count(), 0);
    drop(connection);
    until(&open, 0).await;
    // Giving one back finds those that are.
    let together = tokio::sync::Barrier::new(2);
    join_all((0..2).map(|_| ask(&host, &together))).await;
    let last = host.idle.take().unwrap();
    tokio::time::sleep(Duration::from_millis(250)).await;
    host.give_back(Connection::Http1(last));
    assert_eq!(host.idle.count(), 1);
    until(&open, 1).await;
    ask(&host, &alone).await;
    until(&open, 1).await;
}

/// A server of HTTP/2 by TLS.
struct Http2 {
    model: OpenAi,
    /// The connection that each request came over.
    seen: Arc<Mutex<Vec<usize>>>,
}

impl Http2 {
    /// The first `silent` connections hang before TLS is agreed on. Every other says farewell after so many requests.
    async fn start(silent: usize, requests: usize) -> Self {
        let (acceptor, roots) = tls("127.0.0.1", "h2");
        let (listener, port) = listen().await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let also_seen = Arc::clone(&seen);
        tokio::spawn(async move {
            let mut held = Vec::new();
            for n in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                if n < silent {
                    held.push(stream);
                    continue;
                }
                let (acceptor, seen) = (acceptor.clone(), Arc::clone(&also_seen));
                tokio::spawn(async move {
                    // A client that has another connection by now goes away.
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream, n, requests, &seen).await;
                    }
                });
            }
        });
        let machine = Machine {
            proxies: None,
            certificates: Some(roots),
        };
        let http = HttpClient::on(machine, HttpOptions::default());
        let url = format!("https://127.0.0.1:{port}/v1");
        let settings = ModelSettings::new(ModelId::new("m").unwrap(), "wire", url);
        let model = OpenAi::new(settings, &http).unwrap();
        Self { model, seen }
    }

    async fn ask(&self) {
        assert_eq!(chat(&self.model).await.unwrap().content, "hi");
    }

    fn seen(&self) -> Vec<usize> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(
    stream: tokio_rustls::server::TlsStream<TcpStream>,
    number: usize,
    mut requests: usize,
    seen: &Mutex<Vec<usize>>,
) {
    let Ok(mut connection) = h2::server::handshake(stream).await else {
        return;
    };
    while let Some(Ok((_, mut respond))) = connection.accept().await {
        seen.lock().unwrap().push(number);
        let mut body = respond.send_response(Response::new(()), false).unwrap();
        body.send_data(Bytes::from(COMPLETION), true).unwrap();
        requests = requests.saturating_sub(1);
        if requests == 0 {
            connection.graceful_shutdown();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_that_connect_at_once_share_one_connection_of_http2() {
    for _ in 0..5 {
        let server = Arc::new(Http2::start(0, usize::MAX).await);
        let call = |_| {
            let server = Arc::clone(&server);
            tokio::spawn(async move { server.ask().await })
        };
        for done in join_all((0..20).map(call)).await {
            done.unwrap();
        }
        server.ask().await;
        let seen = server.seen();
        assert_eq!(seen.len(), 21);
        assert!(seen.iter().all(|n| *n == seen[0]), "{seen:?}");
    }
}

#[tokio::test]
async fn a_connect_that_hangs_holds_up_nobody() {
    let server = Http2::start(1, usize::MAX).await;
    // It would take 10 seconds to give up.
    let both = async { tokio::join!(server.ask(), server.ask()) };
    tokio::time::timeout(Duration::from_secs(5), both)
        .await
        .unwrap();
    assert_eq!(server.seen(), [1, 1]);
}

#[tokio::test]
async fn a_server_that_says_farewell_is_connected_to_anew() {
    let server = Http2::start(0, 2).await;
    for _ in 0..6 {
        server.ask().await;
    }
    // A request that was under way already may still be answered.
    let seen = server.seen();
    assert_eq!(seen.len(), 6);
    assert!(seen.contains(&0) && !seen.ends_with(&[0, 0]), "{seen:?}");
}

#[test]
fn connections_are_shared_by_a_hundred_requests_each() {
    let most = |address: &'static str, route: Route, concurrency: usize| {
        let options = HttpOptions {
            concurrency,
            ..HttpOptions::default()
        };
        let ways = Arc::new(Ways::new(Machine::default(), options));
        let host = Host::new(Uri::from_static(address), route, ways, Duration::ZERO);
        host.shared.most()
    };
    assert_eq!(most("https://api.example.com/", Route::Remote, 1), 1);
    assert_eq!(most("https://api.example.com/", Route::Remote, 250), 3);
    assert_eq!(most("https://api.example.com/", Route::Remote, 100_000), 32);
    assert_eq!(most("https://127.0.0.1:1/", Route::LocalTls, 250), 1);
    assert_eq!(most("http://api.example.com/", Route::Remote, 250), 0);
}
