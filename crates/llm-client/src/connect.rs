//! How a connection is opened: straight to the endpoint, or through a proxy; in the clear, or by TLS.

use std::{
    error::Error,
    fmt,
    future::Future,
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use hyper::{
    Uri,
    header::{HeaderMap, USER_AGENT},
    http::uri::Scheme,
    rt::{Read, ReadBufCursor, Write},
};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::{
    client::{
        legacy::connect::{Connected, Connection, HttpConnector, proxy::Tunnel},
        proxy::matcher::{Intercept, Matcher},
    },
    rt::TokioIo,
};
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower::Service;

use crate::http::user_agent;

/// After so long without traffic the system asks whether the other side is still there, and again at this interval.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// So many questions of this kind may go unanswered.
const KEEP_ALIVE_PROBES: u32 = 3;
/// Sent bytes that are not acknowledged for so long end the connection.
#[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

type BoxError = Box<dyn Error + Send + Sync>;
/// A connection to the endpoint or to a proxy.
type FirstHop = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Opens connections. Clones are cheap: every request makes some.
#[derive(Clone)]
pub(crate) struct Connector(Arc<Inner>);

struct Inner {
    to_endpoint: HttpsConnector<HttpConnector>,
    /// A proxy is spoken to in HTTP/1.1, whatever it offers.
    to_proxy: HttpsConnector<HttpConnector>,
    /// For TLS through a tunnel.
    tls: Arc<ClientConfig>,
    proxies: Option<Arc<Matcher>>,
    timeout: Duration,
}

impl Connector {
    /// Connections by `tls`, through `proxies` where they say so. Everything together may take `timeout`.
    pub(crate) fn new(tls: ClientConfig, proxies: Option<Arc<Matcher>>, timeout: Duration) -> Self {
        let mut tls_to_proxy = tls.clone();
        tls_to_proxy.alpn_protocols.clear();
        let tls = Arc::new(tls);
        let http = tcp(timeout);
        Self(Arc::new(Inner {
            to_endpoint: HttpsConnector::from((http.clone(), Arc::clone(&tls))),
            to_proxy: HttpsConnector::from((http, tls_to_proxy)),
            tls,
            proxies,
            timeout,
        }))
    }
}

fn tcp(timeout: Duration) -> HttpConnector {
    let mut http = HttpConnector::new();
    // TLS is the business of the connector around it.
    http.enforce_http(false);
    http.set_connect_timeout(Some(timeout));
    http.set_nodelay(true);
    http.set_keepalive(Some(KEEP_ALIVE));
    http.set_keepalive_interval(Some(KEEP_ALIVE));
    http.set_keepalive_retries(Some(KEEP_ALIVE_PROBES));
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    http.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    http
}

impl Inner {
    async fn connect(&self, to: Uri) -> Result<Conn, BoxError> {
        let proxy = self.proxies.as_ref().and_then(|all| all.intercept(&to));
        let Some(proxy) = proxy else {
            let stream = self.to_endpoint.clone().call(to).await?;
            return Ok(Conn::new(stream.into(), false));
        };
        let scheme = proxy.uri().scheme_str().unwrap_or_default();
        if !matches!(scheme, "http" | "https") {
            return Err(UnknownProxy(scheme.to_owned()).into());
        }
        if to.scheme() == Some(&Scheme::HTTPS) {
            let mut tunneled = HttpsConnector::from((self.tunnel(&proxy), Arc::clone(&self.tls)));
            return Ok(Conn::new(tunneled.call(to).await?, false));
        }
        let stream = self.to_proxy.clone().call(proxy.uri().clone()).await?;
        Ok(Conn::new(stream.into(), true))
    }

    /// What asks `proxy` for a way to the endpoint.
    fn tunnel(&self, proxy: &Intercept) -> Tunnel<HttpsConnector<HttpConnector>> {
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, user_agent());
        let tunnel = Tunnel::new(proxy.uri().clone(), self.to_proxy.clone()).with_headers(headers);
        match proxy.basic_auth() {
            Some(auth) => tunnel.with_auth(auth.clone()),
            None => tunnel,
        }
    }
}

impl Service<Uri> for Connector {
    type Response = Conn;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Conn, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            match tokio::time::timeout(inner.timeout, inner.connect(to)).await {
                Ok(result) => result,
                Err(_) => Err(TooSlow(inner.timeout).into()),
            }
        })
    }
}

/// An open connection.
pub(crate) struct Conn {
    /// What is plain here may still be TLS, to the endpoint or to a proxy; what is not is TLS through a tunnel.
    stream: MaybeHttpsStream<FirstHop>,
    /// Whether a proxy reads the requests.
    to_proxy: bool,
}

impl Conn {
    fn new(stream: MaybeHttpsStream<FirstHop>, to_proxy: bool) -> Self {
        Self { stream, to_proxy }
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut MaybeHttpsStream<FirstHop>> {
        Pin::new(&mut self.get_mut().stream)
    }
}

impl Connection for Conn {
    fn connected(&self) -> Connected {
        // The addresses that the stream tells as well would be copied into every response, and nobody asks for them.
        let connected = Connected::new().proxy(self.to_proxy);
        if self.stream.connected().is_negotiated_h2() {
            connected.negotiated_h2()
        } else {
            connected
        }
    }
}

impl Read for Conn {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream().poll_read(context, buffer)
    }
}

impl Write for Conn {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write_vectored(context, bytes)
    }
}

/// Connecting took longer than this.
#[derive(Debug)]
struct TooSlow(Duration);

impl Error for TooSlow {}

impl fmt::Display for TooSlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connecting took longer than {} s", self.0.as_secs_f64())
    }
}

/// A proxy of this scheme cannot be used.
#[derive(Debug)]
struct UnknownProxy(String);

impl Error for UnknownProxy {}

impl fmt::Display for UnknownProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the system's settings name a {} proxy, and only http and https proxies can be used",
            self.0
        )
    }
}

#[cfg(test)]
mod tests;
