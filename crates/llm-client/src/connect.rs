//! How a connection is opened: straight to the endpoint, or through a proxy; in the clear, or by TLS.

use std::{
    error::Error,
    fmt,
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use hyper::{
    Uri,
    header::{HeaderMap, HeaderValue, USER_AGENT},
    http::uri::Scheme,
    rt::{Read, ReadBufCursor, Write},
};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::{
    client::{
        legacy::connect::{Connection, HttpConnector, proxy::Tunnel},
        proxy::matcher::{Intercept, Matcher},
    },
    rt::TokioIo,
};
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower::Service;

use crate::http::{Counted, user_agent};

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

/// Opens connections.
pub(crate) struct Connector {
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
        Self {
            to_endpoint: HttpsConnector::from((http.clone(), Arc::clone(&tls))),
            to_proxy: HttpsConnector::from((http, tls_to_proxy)),
            tls,
            proxies,
            timeout,
        }
    }

    /// A connection for requests to `to`.
    pub(crate) async fn open(&self, to: &Uri) -> Result<Conn, BoxError> {
        match tokio::time::timeout(self.timeout, self.connect(to)).await {
            Ok(result) => result,
            Err(_) => Err(TooSlow(self.timeout).into()),
        }
    }

    async fn connect(&self, to: &Uri) -> Result<Conn, BoxError> {
        let proxy = self.proxies.as_ref().and_then(|all| all.intercept(to));
        let Some(proxy) = proxy else {
            let stream = self.to_endpoint.clone().call(to.clone()).await?;
            return Ok(Conn::new(stream.into(), Via::Direct));
        };
        let scheme = proxy.uri().scheme_str().unwrap_or_default();
        if !matches!(scheme, "http" | "https") {
            return Err(UnknownProxy(scheme.to_owned()).into());
        }
        if to.scheme() == Some(&Scheme::HTTPS) {
            let mut tunneled = HttpsConnector::from((self.tunnel(&proxy), Arc::clone(&self.tls)));
            let stream = tunneled.call(to.clone()).await?;
            return Ok(Conn::new(stream, Via::Direct));
        }
        let stream = self.to_proxy.clone().call(proxy.uri().clone()).await?;
        let key = proxy.basic_auth().cloned();
        Ok(Conn::new(stream.into(), Via::Proxy(key)))
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

/// Who reads the requests that go over a connection.
pub(crate) enum Via {
    /// The endpoint. A proxy that passes TLS on was told what it must know when the connection was opened.
    Direct,
    /// A proxy, which may want a key.
    Proxy(Option<HeaderValue>),
}

/// An open connection.
pub(crate) struct Conn {
    stream: Stream,
    pub(crate) via: Via,
    _counted: Option<Counted>,
}

/// What bytes go over. TLS has much to remember, and would keep connections without it far apart in memory.
enum Stream {
    Plain(TokioIo<TcpStream>),
    /// To the endpoint, to a proxy, or through a tunnel.
    Tls(Box<MaybeHttpsStream<FirstHop>>),
}

impl Conn {
    fn new(stream: MaybeHttpsStream<FirstHop>, via: Via) -> Self {
        let stream = match stream {
            MaybeHttpsStream::Http(FirstHop::Http(plain)) => Stream::Plain(plain),
            other => Stream::Tls(Box::new(other)),
        };
        Self {
            stream,
            via,
            _counted: None,
        }
    }

    /// The same, counted for as long as it is open.
    pub(crate) fn counted(mut self, counted: Counted) -> Self {
        self._counted = Some(counted);
        self
    }

    /// Whether both sides have agreed on HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        match &self.stream {
            Stream::Plain(_) => false,
            Stream::Tls(stream) => stream.connected().is_negotiated_h2(),
        }
    }
}

impl Read for Conn {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl Write for Conn {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(context, bytes),
        }
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
pub(crate) mod tests;
