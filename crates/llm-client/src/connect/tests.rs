//! Connections to servers and through proxies that tests can see into.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, atomic::AtomicUsize, atomic::Ordering::SeqCst},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Request, Response, Version,
    body::Incoming,
    header::{AUTHORIZATION, HOST, PROXY_AUTHORIZATION},
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::{
    client::proxy::matcher::Matcher,
    rt::{TokioExecutor, TokioIo},
};
use rustls::{RootCertStore, ServerConfig, crypto::ring, pki_types::PrivateKeyDer};
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, Message, ModelError, ModelErrorKind, ModelId,
    Purpose, Role,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::{HttpClient, HttpOptions, ModelSettings, OpenAi, http::Machine};

pub(crate) const COMPLETION: &str = r#"{"choices":[{"message":{"content":"hi"}}]}"#;

pub(crate) async fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

async fn head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap().to_ascii_lowercase()
}

/// A proxy that writes down the heads it gets.
struct Proxy {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Says `answer` to the first request of every connection. With a port to pass on to, passes on whatever follows;
    /// without, reads on and says it to every request.
    async fn start(answer: String, to: Option<u16>) -> Self {
        let (listener, port) = listen().await;
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answer, seen) = (answer.clone(), Arc::clone(&seen));
                tokio::spawn(async move {
                    loop {
                        let head = head(&mut stream).await;
                        let length = head
                            .lines()
                            .find_map(|line| line.strip_prefix("content-length: "));
                        let length = length.map_or(0, |length| length.parse().unwrap());
                        stream.read_exact(&mut vec![0; length]).await.unwrap();
                        seen.lock().unwrap().push(head);
                        stream.write_all(answer.as_bytes()).await.unwrap();
                        if let Some(port) = to {
                            let mut to = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                            let _ = copy_bidirectional(&mut stream, &mut to).await;
                            return;
                        }
                    }
                });
            }
        });
        Self { port, heads }
    }

    /// Connections to anywhere through this proxy, but to hosts in `not`.
    fn machine(&self, not: &str) -> Machine {
        let proxies = Matcher::builder()
            .all(format!("http://us%40er:hidden@127.0.0.1:{}", self.port))
            .no(not.to_owned())
            .build();
        Machine {
            proxies: Some(Arc::new(proxies)),
            certificates: None,
        }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// `us@er:hidden`, in lower case as heads are read.
const PROXY_KEY: &str = "proxy-authorization: basic dxnazxi6aglkzgvu\r\n";

/// What makes a server of TLS for `host`, and whom its clients must trust.
pub(crate) fn tls(host: &str, protocol: &str) -> (TlsAcceptor, Arc<RootCertStore>) {
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

type Seen = Arc<Mutex<Vec<Request<()>>>>;

/// Serves completions by TLS.
async fn serve(tls: TlsAcceptor) -> (u16, Seen) {
    let (listener, port) = listen().await;
    let seen = Seen::default();
    let also_seen = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let stream = tls.accept(stream).await.unwrap();
            tokio::spawn(answer(stream, Arc::clone(&also_seen)));
        }
    });
    (port, seen)
}

async fn answer(stream: TlsStream<TcpStream>, seen: Seen) {
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let service = service_fn(move |request: Request<Incoming>| {
        seen.lock().unwrap().push(request.map(|_| ()));
        async { Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(COMPLETION)))) }
    });
    let stream = TokioIo::new(stream);
    let _ = if is_http2 {
        http2::Builder::new(TokioExecutor::new())
            .serve_connection(stream, service)
            .await
    } else {
        http1::Builder::new()
            .serve_connection(stream, service)
            .await
    };
}

async fn ask(machine: Machine, base_url: &str) -> Result<ChatReply, ModelError> {
    let http = HttpClient::on(machine, HttpOptions::default());
    let mut settings = ModelSettings::new(ModelId::new("m").unwrap(), "wire", base_url);
    settings.api_key = Some("sk-endpoint-key".into());
    chat(&OpenAi::new(settings, &http).unwrap()).await
}

pub(crate) async fn chat(model: &OpenAi) -> Result<ChatReply, ModelError> {
    let context = CallContext::new(Purpose::TargetTurn, "row");
    let request = ChatRequest::new(vec![Message::new(Role::User, "hello")], context);
    model.chat(&request).await
}

#[tokio::test]
async fn tls_goes_through_a_tunnel_and_the_proxy_sees_no_key() {
    for (protocol, version) in [("h2", Version::HTTP_2), ("http/1.1", Version::HTTP_11)] {
        let (acceptor, roots) = tls("api.example.com", protocol);
        let (port, seen) = serve(acceptor).await;
        let proxy = Proxy::start("HTTP/1.1 200 Go on\r\n\r\n".to_owned(), Some(port)).await;
        let mut machine = proxy.machine("");
        machine.certificates = Some(roots);
        let reply = ask(machine, "https://api.example.com/v1").await.unwrap();
        assert_eq!(reply.content, "hi");
        let heads = proxy.heads();
        assert_eq!(heads.len(), 1);
        let head = &heads[0];
        assert!(
            head.starts_with("connect api.example.com:443 http/1.1\r\n"),
            "{head}"
        );
        assert!(head.contains(PROXY_KEY), "{head}");
        assert!(head.contains("user-agent: probity/"), "{head}");
        assert!(!head.contains("endpoint-key"), "{head}");
        let seen = seen.lock().unwrap();
        let got = &seen[0];
        assert_eq!(got.version(), version);
        assert_eq!(got.headers()[AUTHORIZATION], "Bearer sk-endpoint-key");
        assert!(!got.headers().contains_key(PROXY_AUTHORIZATION));
        assert_eq!(got.uri().path(), "/v1/chat/completions");
        let host = match version {
            Version::HTTP_2 => got.uri().host().unwrap(),
            _ => got.headers()[HOST].to_str().unwrap(),
        };
        assert_eq!(host, "api.example.com");
        assert_eq!(
            got.headers().contains_key(HOST),
            version == Version::HTTP_11
        );
    }
}

#[tokio::test]
async fn a_proxy_reads_requests_in_the_clear() {
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{COMPLETION}",
        COMPLETION.len()
    );
    let proxy = Proxy::start(answer, None).await;
    let reply = ask(proxy.machine(""), "http://api.example.com:8080/v1").await;
    assert_eq!(reply.unwrap().content, "hi");
    let head = &proxy.heads()[0];
    let line = "post http://api.example.com:8080/v1/chat/completions http/1.1\r\n";
    assert!(head.starts_with(line), "{head}");
    assert!(head.contains(PROXY_KEY), "{head}");
    assert!(head.contains("host: api.example.com:8080\r\n"), "{head}");
    assert!(
        head.contains("authorization: bearer sk-endpoint-key\r\n"),
        "{head}"
    );
}

/// This machine is reached without one whatever the settings say, and so is what they name.
#[tokio::test]
async fn some_hosts_are_reached_without_a_proxy() {
    let proxy = Proxy::start(
        "HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n".to_owned(),
        None,
    )
    .await;
    // It stands for any endpoint: it answers, and writes down what it is asked.
    let endpoint = Proxy::start(
        format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{COMPLETION}",
            COMPLETION.len()
        ),
        None,
    )
    .await;
    // By this address a Unix system reaches itself as it would reach another.
    let hosts: &[&str] = if cfg!(unix) {
        &["127.0.0.1", "0.0.0.0"]
    } else {
        &["127.0.0.1"]
    };
    for (n, host) in hosts.iter().enumerate() {
        let url = format!("http://{host}:{}/v1", endpoint.port);
        ask(proxy.machine("0.0.0.0"), &url).await.unwrap();
        let head = &endpoint.heads()[n];
        assert!(
            head.starts_with("post /v1/chat/completions http/1.1\r\n"),
            "{head}"
        );
        assert!(!head.contains("proxy-authorization"), "{head}");
    }
    assert!(proxy.heads().is_empty());
}

#[tokio::test]
async fn a_proxy_that_refuses_is_told_of_without_its_key() {
    for (answer, words) in [
        ("HTTP/1.1 407 Who?\r\n\r\n", "proxy authorization required"),
        ("HTTP/1.1 502 No\r\n\r\n", "tunnel error"),
    ] {
        let proxy = Proxy::start(answer.to_owned(), None).await;
        let mut machine = proxy.machine("");
        machine.certificates = Some(Arc::new(RootCertStore::empty()));
        let error = ask(machine, "https://api.example.com/v1")
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Transient);
        let text = format!("{error} {error:?}");
        assert!(
            text.contains("cannot be reached") && text.contains(words),
            "{text}"
        );
        assert!(!text.contains("hidden") && !text.contains("dXNA"), "{text}");
    }
}

#[tokio::test]
async fn a_proxy_of_another_sort_is_named() {
    let machine = Machine {
        proxies: Some(Arc::new(
            Matcher::builder().all("socks5://127.0.0.1:1").build(),
        )),
        certificates: Some(Arc::new(RootCertStore::empty())),
    };
    let error = ask(machine, "https://api.example.com/v1")
        .await
        .unwrap_err();
    assert!(error.to_string().contains("name a socks5 proxy"), "{error}");
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_refused() {
    let (acceptor, _) = tls("127.0.0.1", "h2");
    let (listener, port) = listen().await;
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let _ = acceptor.accept(stream).await;
    });
    let machine = Machine {
        proxies: None,
        certificates: Some(Arc::new(RootCertStore::empty())),
    };
    let error = ask(machine, &format!("https://127.0.0.1:{port}/v1"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Permanent);
    assert!(error.to_string().contains("cannot be trusted"), "{error}");
}

#[tokio::test]
async fn a_server_that_accepts_and_says_nothing_is_not_reached() {
    let (_listener, port) = listen().await;
    let machine = Machine {
        proxies: None,
        certificates: Some(Arc::new(RootCertStore::empty())),
    };
    let options = HttpOptions {
        connect_timeout: Duration::from_millis(50),
        ..HttpOptions::default()
    };
    let http = HttpClient::on(machine, options);
    let url = format!("https://127.0.0.1:{port}/v1");
    let settings = ModelSettings::new(ModelId::new("m").unwrap(), "wire", url);
    let error = chat(&OpenAi::new(settings, &http).unwrap())
        .await
        .unwrap_err();
    let words = "cannot be reached: connecting took longer than 0.05 s";
    assert!(error.to_string().contains(words), "{error}");
}

/// Serves HTTP/2, and refuses so many requests before it answers one.
async fn refusing(times: usize) -> (Machine, String, Arc<AtomicUsize>) {
    let (acceptor, roots) = tls("127.0.0.1", "h2");
    let (listener, port) = listen().await;
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let stream = acceptor.accept(stream).await.unwrap();
            let mut connection = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                if count.fetch_add(1, SeqCst) < times {
                    respond.send_reset(h2::Reason::REFUSED_STREAM);
                } else {
                    let mut body = respond.send_response(Response::new(()), false).unwrap();
                    body.send_data(Bytes::from(COMPLETION), true).unwrap();
                }
            }
        }
    });
    let machine = Machine {
        proxies: None,
        certificates: Some(roots),
    };
    (machine, format!("https://127.0.0.1:{port}/v1"), requests)
}

#[tokio::test]
async fn what_a_server_has_not_begun_with_is_sent_again() {
    let (machine, url, requests) = refusing(2).await;
    assert_eq!(ask(machine, &url).await.unwrap().content, "hi");
    assert_eq!(requests.load(SeqCst), 3);
    let (machine, url, requests) = refusing(usize::MAX).await;
    let error = ask(machine, &url).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Transient);
    assert!(
        error.to_string().contains("broke the connection off"),
        "{error}"
    );
    assert_eq!(requests.load(SeqCst), 3);
}
