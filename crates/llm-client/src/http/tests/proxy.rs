//! Calls through proxies, and around them.

use reqwest::NoProxy;
use tokio::{
    io::{AsyncWriteExt, copy_bidirectional},
    net::TcpStream,
};

use super::*;

/// A proxy that records the heads of its requests.
struct Proxy {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Sends `answer` to the first request of every connection. With a port in `to`, forwards the bytes that follow to it;
    /// without one, sends the same answer to every further request.
    async fn start(answer: String, to: Option<u16>) -> Self {
        let (listener, port) = listen().await;
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answer, seen) = (answer.clone(), Arc::clone(&seen));
                tokio::spawn(async move {
                    loop {
                        let head = read_request(&mut stream).await;
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

    /// A machine that connects through this proxy, except to the hosts in `not`.
    fn machine(&self, not: &str) -> Machine {
        let url = format!("http://us%40er:hidden@127.0.0.1:{}", self.port);
        let proxy = reqwest::Proxy::all(url).unwrap();
        Machine {
            proxy: Some(proxy.no_proxy(NoProxy::from_string(not))),
            certificates: Some(Arc::new(RootCertStore::empty())),
        }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// `us@er:hidden`, in lower case as heads are read.
const PROXY_KEY: &str = "proxy-authorization: basic dxnazxi6aglkzgvu\r\n";

/// Serves one completion over TLS on each connection. Records the version and the head of each request, in lower case.
async fn serve(tls: TlsAcceptor) -> (u16, Arc<Mutex<Vec<String>>>) {
    let (listener, port) = listen().await;
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = tls.accept(stream).await.unwrap();
            if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    let head = format!("{:?}", request.into_parts().0).to_ascii_lowercase();
                    seen.lock().unwrap().push(head);
                    let mut body = respond
                        .send_response(http::Response::new(()), false)
                        .unwrap();
                    body.send_data(COMPLETION.into(), true).unwrap();
                }
            } else {
                let head = read_request(&mut stream).await;
                seen.lock().unwrap().push(head);
                stream.write_all(completion().as_bytes()).await.unwrap();
            }
        }
    });
    (port, heads)
}

#[tokio::test]
async fn tls_goes_through_a_tunnel_and_the_proxy_sees_no_key() {
    for (protocol, version, host) in [
        (
            "h2",
            "http/2.0",
            "https://api.example.com/v1/chat/completions",
        ),
        ("http/1.1", "http/1.1", "host: api.example.com\r\n"),
    ] {
        let (acceptor, roots) = server_tls("api.example.com", protocol);
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
        let head = &seen.lock().unwrap()[0];
        for part in [version, host, "/v1/chat/completions", "authorization"] {
            assert!(head.contains(part), "{part} is not in {head}");
        }
        assert!(!head.contains("proxy-authorization"), "{head}");
    }
}

#[tokio::test]
async fn a_proxy_reads_requests_in_the_clear() {
    let proxy = Proxy::start(completion(), None).await;
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

/// This machine and the hosts excluded by the settings are reached without a proxy.
#[tokio::test]
async fn some_hosts_are_reached_without_a_proxy() {
    let refusal = "HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n".to_owned();
    let proxy = Proxy::start(refusal, None).await;
    // Stands for any endpoint: it answers, and records the requests.
    let endpoint = Proxy::start(completion(), None).await;
    // The second address reaches this machine on Unix the way another machine is reached.
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
async fn the_error_of_a_proxy_that_refuses_holds_no_key() {
    for (answer, words) in [
        ("HTTP/1.1 407 Who?\r\n\r\n", "proxy authorization required"),
        ("HTTP/1.1 502 No\r\n\r\n", "tunnel error"),
    ] {
        let proxy = Proxy::start(answer.to_owned(), None).await;
        let error = ask(proxy.machine(""), "https://api.example.com/v1")
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

/// Over SOCKS5 (RFC 1928), without a key.
#[tokio::test]
async fn calls_go_through_a_socks_proxy() {
    let (listener, port) = listen().await;
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut hello = [0; 2];
        stream.read_exact(&mut hello).await.unwrap();
        assert_eq!(hello[0], 5);
        stream
            .read_exact(&mut vec![0; hello[1].into()])
            .await
            .unwrap();
        stream.write_all(&[5, 0]).await.unwrap();
        // A connect request to a host name, preceded by its length in bytes.
        let mut connect = [0; 5];
        stream.read_exact(&mut connect).await.unwrap();
        assert_eq!(connect[..4], [5, 1, 0, 3]);
        let mut name = vec![0; usize::from(connect[4]) + 2];
        stream.read_exact(&mut name).await.unwrap();
        assert_eq!(name, b"api.example.com\x1f\x90");
        stream
            .write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 0])
            .await
            .unwrap();
        let head = read_request(&mut stream).await;
        assert!(
            head.starts_with("post /v1/chat/completions http/1.1\r\n"),
            "{head}"
        );
        stream.write_all(completion().as_bytes()).await.unwrap();
    });
    let machine = Machine {
        proxy: Some(reqwest::Proxy::all(format!("socks5h://127.0.0.1:{port}")).unwrap()),
        certificates: Some(Arc::new(RootCertStore::empty())),
    };
    let reply = ask(machine, "http://api.example.com:8080/v1")
        .await
        .unwrap();
    assert_eq!(reply.content, "hi");
}
