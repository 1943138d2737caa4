//! Calls to test servers over TLS and through proxies.

mod http2;
mod proxy;

use std::time::Duration;

use rustls::{RootCertStore, ServerConfig, pki_types::PrivateKeyDer};
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, Message, ModelError, ModelErrorKind, ModelId,
    Purpose, Role,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::{ModelSettings, OpenAi};

const COMPLETION: &str = r#"{"choices":[{"message":{"content":"hi"}}]}"#;

/// [`COMPLETION`] as an HTTP/1.1 response.
fn completion() -> String {
    let length = COMPLETION.len();
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{COMPLETION}")
}

async fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// Reads the head of a request in lower case, and discards its body.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().unwrap());
    stream.read_exact(&mut vec![0; length]).await.unwrap();
    head
}

/// The TLS of a server at `host` that offers `protocol`, and the certificates that its clients must trust.
fn server_tls(host: &str, protocol: &str) -> (TlsAcceptor, Arc<RootCertStore>) {
    let key = rcgen::generate_simple_self_signed([host.to_owned()]).unwrap();
    let secret = PrivateKeyDer::try_from(key.signing_key.serialize_der()).unwrap();
    let mut tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![key.cert.der().clone()], secret)
        .unwrap();
    tls.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let mut roots = RootCertStore::empty();
    roots.add(key.cert.der().clone()).unwrap();
    (TlsAcceptor::from(Arc::new(tls)), Arc::new(roots))
}

/// A machine that trusts `roots` and has no proxy.
fn trusting(roots: Arc<RootCertStore>) -> Machine {
    Machine {
        proxy: None,
        certificates: Some(roots),
    }
}

fn trusting_nobody() -> Machine {
    trusting(Arc::new(RootCertStore::empty()))
}

fn model(machine: Machine, options: HttpOptions, base_url: &str) -> OpenAi {
    let http = HttpClient::on(machine, options);
    let mut settings = ModelSettings::new(ModelId::new("m").unwrap(), "wire", base_url);
    settings.api_key = Some("sk-endpoint-key".into());
    OpenAi::new(settings, &http).unwrap()
}

async fn chat(model: &OpenAi) -> Result<ChatReply, ModelError> {
    let context = CallContext::new(Purpose::TargetTurn, "row");
    let request = ChatRequest::new(vec![Message::new(Role::User, "hello")], context);
    model.chat(&request).await
}

async fn ask(machine: Machine, base_url: &str) -> Result<ChatReply, ModelError> {
    chat(&model(machine, HttpOptions::default(), base_url)).await
}

#[test]
fn local_addresses_are_known() {
    for (url, route) in [
        ("http://127.0.0.1:1/v1", Route::Local),
        ("http://127.1.2.3/v1", Route::Local),
        ("http://localhost:11434/v1", Route::Local),
        ("http://[::1]:80/v1", Route::Local),
        ("https://LOCALHOST/v1", Route::LocalTls),
        ("http://10.0.0.1/v1", Route::Remote),
        ("https://localhost.example.com/v1", Route::Remote),
    ] {
        assert_eq!(Route::to(&Url::parse(url).unwrap()), route, "{url}");
    }
}

#[tokio::test]
async fn an_untrusted_certificate_is_refused() {
    let (acceptor, _) = server_tls("127.0.0.1", "h2");
    let (listener, port) = listen().await;
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let _ = acceptor.accept(stream).await;
    });
    let error = ask(trusting_nobody(), &format!("https://127.0.0.1:{port}/v1"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Permanent);
    let text = error.to_string();
    let words = "cannot be trusted: invalid peer certificate";
    assert!(text.contains(words), "{text}");
}

#[tokio::test]
async fn a_server_that_accepts_and_stays_silent_is_not_reached() {
    let (_listener, port) = listen().await;
    let options = HttpOptions {
        connect_timeout: Duration::from_millis(50),
        ..HttpOptions::default()
    };
    let url = format!("https://127.0.0.1:{port}/v1");
    let error = chat(&model(trusting_nobody(), options, &url))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Transient);
    let words = "cannot be reached: connecting took longer than 0.05 s";
    assert!(error.to_string().contains(words), "{error}");
}
