//! The command against an endpoint that speaks TLS and HTTP/2, as hosted models do.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

use crate::common;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use common::Project;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response, Uri, Version,
    body::{Bytes, Incoming},
    client::conn::http1 as to_server,
    header::HOST,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer};
use scripted_llm::ScriptedServer;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// What came in at the front.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    http2: AtomicUsize,
    http1: AtomicUsize,
}

/// A front that speaks TLS for the scripted server behind it.
struct Front {
    port: u16,
    /// The certificate that a client has to trust.
    certificate: String,
    seen: Arc<Seen>,
}

impl Front {
    /// Offers `protocols` by ALPN.
    async fn before(server: &ScriptedServer, protocols: &[&str]) -> Self {
        let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let chain = vec![key.cert.der().clone()];
        let secret = PrivateKeyDer::try_from(key.signing_key.serialize_der()).unwrap();
        let mut tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, secret)
            .unwrap();
        tls.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let behind: Uri = server.base_url().parse().unwrap();
        let seen = Arc::new(Seen::default());
        tokio::spawn(accept(
            listener,
            TlsAcceptor::from(Arc::new(tls)),
            behind.authority().unwrap().to_string(),
            Arc::clone(&seen),
        ));
        Self {
            port,
            certificate: key.cert.pem(),
            seen,
        }
    }

    /// A folder whose config asks the scripted models through the front.
    fn project(&self) -> Project {
        let project = Project::new();
        let url = format!("https://localhost:{}/v1", self.port);
        let model = |name: &str| format!("model: scripted-{name}, base_url: \"{url}\"");
        project.write(
            "config.yaml",
            &format!(
                "generation: {{scenarios_per_metric: 2, turns: 3}}\nuser_model: {{{}}}\nevaluator_model: {{{}}}\n\
                 targets:\n  - {{id: careful, {}}}\n",
                model("user"),
                model("judge"),
                model("careful"),
            ),
        );
        project.write(
            "benchmarks/flattery/benchmark.yaml",
            "name: flattery\ndescription: Whether an assistant gives in to flattery.\n",
        );
        project.write("trusted.pem", &self.certificate);
        project
    }
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, behind: String, seen: Arc<Seen>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, behind, seen) = (tls.clone(), behind.clone(), Arc::clone(&seen));
        tokio::spawn(async move {
            // A client that does not trust the certificate goes away here.
            let Ok(stream) = tls.accept(stream).await else {
                return;
            };
            seen.connections.fetch_add(1, SeqCst);
            let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let stream = TokioIo::new(stream);
            let service = service_fn(move |request| {
                let (behind, seen) = (behind.clone(), Arc::clone(&seen));
                async move { pass_on(request, &behind, &seen).await }
            });
            let _ = if is_http2 {
                http2::Builder::new(TokioExecutor::new())
                    .serve_connection(stream, service)
                    .await
            } else {
                http1::Builder::new()
                    .serve_connection(stream, service)
                    .await
            };
        });
    }
}

/// Asks the scripted server in the clear.
async fn pass_on(
    request: Request<Incoming>,
    behind: &str,
    seen: &Seen,
) -> hyper::Result<Response<Full<Bytes>>> {
    match request.version() {
        Version::HTTP_2 => seen.http2.fetch_add(1, SeqCst),
        _ => seen.http1.fetch_add(1, SeqCst),
    };
    let stream = TcpStream::connect(behind).await.unwrap();
    let (mut sender, connection) = to_server::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let mut to = Request::post(head.uri.path()).header(HOST, behind);
    for (name, value) in head.headers.iter().filter(|(name, _)| *name != HOST) {
        to = to.header(name, value);
    }
    let (head, body) = sender
        .send_request(to.body(Full::new(body)).unwrap())
        .await?
        .into_parts();
    let body = body.collect().await?.to_bytes();
    let mut back = Response::new(Full::new(body));
    *back.status_mut() = head.status;
    Ok(back)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_over_tls_speaks_http2_on_few_connections() {
    let server = ScriptedServer::start().await.unwrap();
    let front = Front::before(&server, &["h2", "http/1.1"]).await;
    let project = front.project().env("SSL_CERT_FILE", "trusted.pem");
    let (ran, project) = tokio::task::spawn_blocking(move || (project.run(&["run"]), project))
        .await
        .unwrap();
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    let calls = front.seen.http2.load(SeqCst);
    assert!(calls > 10, "{calls}");
    assert_eq!(front.seen.http1.load(SeqCst), 0);
    // Many requests share a connection.
    let connections = front.seen.connections.load(SeqCst);
    assert!(
        connections < 5,
        "{connections} connections for {calls} calls"
    );
    assert!(
        project
            .read("benchmarks/flattery/results.json")
            .contains("careful")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_without_http2_is_asked_by_http1() {
    let server = ScriptedServer::start().await.unwrap();
    let front = Front::before(&server, &["http/1.1"]).await;
    let project = front.project().env("SSL_CERT_FILE", "trusted.pem");
    let ran = tokio::task::spawn_blocking(move || project.run(&["doctor"]))
        .await
        .unwrap();
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert!(front.seen.http1.load(SeqCst) > 0);
    assert_eq!(front.seen.http2.load(SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_is_not_trusted_is_named() {
    let server = ScriptedServer::start().await.unwrap();
    let front = Front::before(&server, &["h2"]).await;
    let project = front.project();
    // Another certificate is trusted, not this one.
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    project.write("trusted.pem", &other.cert.pem());
    let project = project.env("SSL_CERT_FILE", "trusted.pem");
    let ran = tokio::task::spawn_blocking(move || project.run(&["doctor"]))
        .await
        .unwrap();
    assert_ne!(ran.code, 0, "{}", ran.out);
    let reported = format!("{}{}", ran.out, ran.err);
    assert!(reported.contains("certificate"), "{reported}");
    assert_eq!(front.seen.connections.load(SeqCst), 0);
}
