//! Calls to HTTP/2 servers.

use futures::future::join_all;
use h2::{Reason, server::SendResponse};
use tokio::{net::TcpStream, sync::Barrier};
use tokio_rustls::server::TlsStream;

use super::*;

type Connection = h2::server::Connection<TlsStream<TcpStream>, bytes::Bytes>;
type Respond = SendResponse<bytes::Bytes>;

/// An HTTP/2 server over TLS, and a model behind it.
struct Server {
    model: OpenAi,
    /// The number of the connection on which each request arrived.
    seen: Arc<Mutex<Vec<usize>>>,
}

impl Server {
    /// The first `silent` connections hang before the TLS handshake. `answer` gets every request of the others, with its number.
    async fn start<F, A>(silent: usize, answer: A) -> Self
    where
        A: Fn(&mut Connection, usize, Respond) -> F + Clone + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let (acceptor, roots) = server_tls("127.0.0.1", "h2");
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
                let answer = answer.clone();
                tokio::spawn(async move {
                    // A client that has another connection by now closes this one.
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let mut builder = h2::server::Builder::new();
                    builder.max_concurrent_streams(100);
                    let Ok(mut connection) = builder.handshake(stream).await else {
                        return;
                    };
                    while let Some(Ok((_, respond))) = connection.accept().await {
                        let number = {
                            let mut seen = seen.lock().unwrap();
                            seen.push(n);
                            seen.len() - 1
                        };
                        tokio::spawn(answer(&mut connection, number, respond));
                    }
                });
            }
        });
        let url = format!("https://127.0.0.1:{port}/v1");
        let model = model(trusting(roots), HttpOptions::default(), &url);
        Self { model, seen }
    }

    /// A server that answers every request at once.
    async fn answering(silent: usize) -> Self {
        Self::start(silent, |_, _, respond| async { complete(respond) }).await
    }

    async fn ask(&self) {
        assert_eq!(chat(&self.model).await.unwrap().content, "hi");
    }

    fn seen(&self) -> Vec<usize> {
        self.seen.lock().unwrap().clone()
    }
}

fn complete(mut respond: Respond) {
    let head = http::Response::new(());
    let mut body = respond.send_response(head, false).unwrap();
    body.send_data(COMPLETION.into(), true).unwrap();
}

/// Calls that start together all connect, and some may have connected when the first connection is ready. Later calls open no other
/// connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_at_once_share_one_connection() {
    for _ in 0..5 {
        let server = Arc::new(Server::answering(0).await);
        for _ in 0..2 {
            let call = |_| {
                let server = Arc::clone(&server);
                tokio::spawn(async move { server.ask().await })
            };
            for done in join_all((0..20).map(call)).await {
                done.unwrap();
            }
        }
        let seen = server.seen();
        assert_eq!(seen.len(), 40);
        assert!(seen[20..].iter().all(|n| *n == seen[20]), "{seen:?}");
    }
}

#[tokio::test]
async fn a_connect_that_hangs_holds_up_no_other_call() {
    let server = Server::answering(1).await;
    // The connection that hangs times out after 10 seconds.
    let both = async { tokio::join!(server.ask(), server.ask()) };
    tokio::time::timeout(Duration::from_secs(5), both)
        .await
        .unwrap();
    assert_eq!(server.seen(), [1, 1]);
}

/// A server that accepts 100 requests per connection gets no more on any connection, so no request waits for another: the server
/// answers only once all requests have arrived.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_calls_at_once_are_answered_once_each() {
    const CALLS: usize = 1000;
    let all_came = Arc::new(Barrier::new(CALLS));
    let server = Server::start(0, move |_, _, respond| {
        let all_came = Arc::clone(&all_came);
        async move {
            all_came.wait().await;
            complete(respond);
        }
    })
    .await;
    join_all((0..CALLS).map(|_| server.ask())).await;
    let seen = server.seen();
    assert_eq!(seen.len(), CALLS);
    let connections: std::collections::BTreeSet<_> = seen.iter().collect();
    for n in connections {
        let calls = seen.iter().filter(|seen| *seen == n).count();
        assert!(calls <= CALLS_PER_CLIENT, "{calls} on connection {n}");
    }
}

/// The server processes the request that it counts as its last one, and nothing after it (RFC 9113, section 6.8).
#[tokio::test]
async fn a_server_that_says_goodbye_gets_every_request_once() {
    let server = Server::start(0, |connection, number, respond| {
        if number % 2 == 1 {
            connection.graceful_shutdown();
        }
        async { complete(respond) }
    })
    .await;
    for _ in 0..6 {
        // The goodbye may arrive while the call begins: the request then does not reach the server.
        while chat(&server.model).await.is_err() {}
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 6, "{seen:?}");
    assert!(seen.contains(&0) && !seen.ends_with(&[0, 0]), "{seen:?}");
}

/// A refused request was not processed (RFC 9113, section 8.7). Whether it is sent again is up to the layer that records retries.
#[tokio::test]
async fn a_refused_request_is_sent_once() {
    let server = Server::start(0, |_, _, mut respond| {
        respond.send_reset(Reason::REFUSED_STREAM);
        async {}
    })
    .await;
    let error = chat(&server.model).await.unwrap_err();
    assert_eq!(server.seen().len(), 1);
    assert_eq!(error.kind(), ModelErrorKind::Transient);
    let text = error.to_string();
    assert!(text.contains("broke the connection off"), "{text}");
}

/// A server may have billed a request that it aborted for any other reason.
#[tokio::test]
async fn a_request_that_may_have_been_processed_is_sent_once() {
    for reason in [
        Reason::INTERNAL_ERROR,
        Reason::CANCEL,
        Reason::ENHANCE_YOUR_CALM,
    ] {
        let server = Server::start(0, move |_, _, mut respond| {
            respond.send_reset(reason);
            async {}
        })
        .await;
        let error = chat(&server.model).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Transient);
        assert_eq!(server.seen().len(), 1, "{reason}");
    }
}
