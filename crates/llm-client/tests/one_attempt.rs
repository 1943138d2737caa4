//! A call without layers is one request: nothing below it retries, follows, logs or waits beyond the limits.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod common;

use std::{
    io,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use common::{Act, Server, ask, model};
use llm_client::{HttpClient, HttpOptions, ModelSettings, OpenAi};
use schema::{ModelErrorKind, ModelId};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tracing::{Level, subscriber};
use tracing_subscriber::fmt::MakeWriter;

const KEY: &str = "sk-live-abcdefghijklmnop";

#[tokio::test]
async fn a_refused_call_is_one_request_whatever_the_headers_say() {
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        for (name, value) in [
            ("x-none", ""),
            ("retry-after", "0"),
            ("retry-after", "0.01"),
            ("retry-after-ms", "1"),
            ("x-should-retry", "true"),
        ] {
            let act = Act::json(status, json!({"error": {"message": "slow"}})).with(name, value);
            let server = Server::always(act).await;
            ask(&server.model()).await.unwrap_err();
            assert_eq!(server.count(), 1, "{status} {name}: {value}");
        }
    }
}

#[tokio::test]
async fn a_connection_that_breaks_is_one_request() {
    for act in [Act::Close, Act::BreakOff(b"{".to_vec())] {
        let server = Server::always(act).await;
        ask(&server.model()).await.unwrap_err();
        assert_eq!(server.count(), 1);
    }
}

/// To follow one would take the key to another host.
#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Server::always(Act::say("x")).await;
    for status in [301, 302, 303, 307, 308] {
        let act = Act::json(status, "").with("location", format!("{}/x", other.base_url()));
        let server = Server::always(act).await;
        let mut settings = server.settings();
        settings.api_key = Some(KEY.into());
        let error = ask(&model(settings)).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Permanent);
        assert_eq!((server.count(), other.count()), (1, 0), "{status}");
    }
}

/// Everything that is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn logs_hold_no_body_and_no_key() {
    let log = Log::default();
    let writer = tracing_subscriber::fmt()
        .with_max_level(Level::TRACE)
        .with_writer(log.clone())
        .finish();
    let _guard = subscriber::set_default(writer);
    tracing::info!("logging works");
    let said = "said-by-the-endpoint";
    for act in [
        Act::say(said),
        Act::json(200, format!("<html>{said}")),
        Act::json(200, format!("{{\"{said}\": ")),
        Act::json(200, json!({"error": {"message": said}})),
        Act::json(401, json!({"error": {"message": said}})),
        Act::json(429, json!({"error": {"message": said}})),
        Act::json(500, said),
        Act::BreakOff(said.into()),
    ] {
        let server = Server::always(act).await;
        let mut settings = server.settings();
        settings.api_key = Some(KEY.into());
        settings.extra_headers = vec![("x-extra".to_owned(), "extra-secret".into())];
        let _ = ask(&model(settings)).await;
        assert_eq!(server.count(), 1);
    }
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("logging works"));
    for word in [said, KEY, "extra-secret", "hello"] {
        assert!(!log.contains(word), "{word} is logged: {log}");
    }
}

/// The settings of a model behind a server that sends `head`, and then `piece` over and over with `pause` between.
async fn dripping(head: &'static str, piece: &str, pause: Duration) -> ModelSettings {
    let piece: Arc<str> = piece.into();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let piece = Arc::clone(&piece);
            tokio::spawn(async move {
                assert_ne!(stream.read(&mut [0; 4096]).await.unwrap(), 0);
                let mut next: &str = head;
                while stream.write_all(next.as_bytes()).await.is_ok() {
                    next = &piece;
                    tokio::time::sleep(pause).await;
                }
            });
        }
    });
    ModelSettings::new(ModelId::new("m").unwrap(), "wire", url)
}

const OK: &str = "HTTP/1.1 200 OK\r\n\r\n";
const FAILURE: &str = "HTTP/1.1 500 Oh\r\n\r\n";

/// Bytes that keep coming do not put the end off, in the head and in the body, of good replies and of failures.
#[tokio::test]
async fn a_dripping_server_is_left_when_the_time_is_up() {
    let pause = Duration::from_millis(10);
    for (head, piece) in [
        ("HTTP/1.1 200 OK\r\n", "x-y: z\r\n"),
        (OK, " "),
        (FAILURE, "a word "),
    ] {
        let mut settings = dripping(head, piece, pause).await;
        settings.request_timeout = Duration::from_millis(300);
        let started = Instant::now();
        let error = ask(&model(settings)).await.unwrap_err();
        let took = started.elapsed();
        assert!(error.to_string().contains("within 0.3 s"), "{error}");
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}

#[tokio::test]
async fn a_dripping_server_is_left_when_its_reply_is_too_long() {
    for head in [OK, FAILURE] {
        let settings = dripping(head, &"x".repeat(50_000), Duration::from_millis(1)).await;
        let http = HttpClient::new(HttpOptions {
            max_reply: 2 << 20,
            ..HttpOptions::default()
        });
        let model = OpenAi::new(settings, &http).unwrap();
        let error = ask(&model).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Malformed);
        assert!(error.to_string().contains("more than 2 MiB"), "{error}");
    }
}
