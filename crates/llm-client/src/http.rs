//! The connections that all models share.

use std::{
    error::Error,
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Uri, http::HeaderValue, http::uri::Scheme};
use hyper_util::{
    client::{legacy, proxy::matcher::Matcher},
    rt::{TokioExecutor, TokioTimer},
};
use reqwest::Url;
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::connect::Connector;

/// Most servers take about this many requests at once on one HTTP/2 connection.
const STREAMS_PER_CONNECTION: usize = 100;
/// However high the concurrency, there are no more pools than this.
const MOST_POOLS: usize = 32;
/// A connection that was not used for so long is closed.
const IDLE: Duration = Duration::from_secs(90);

/// Sends requests with bodies that are there as a whole.
pub(crate) type Client = legacy::Client<Connector, Full<Bytes>>;

/// How we call ourselves.
pub(crate) fn user_agent() -> HeaderValue {
    HeaderValue::from_static(concat!("probity/", env!("CARGO_PKG_VERSION")))
}

/// Settings of an [`HttpClient`].
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// How many requests may be in flight at once: that many idle connections are kept for each host.
    pub concurrency: usize,
    /// How long connecting may take.
    pub connect_timeout: Duration,
}

impl Default for HttpOptions {
    /// 64 requests at once, 10 seconds for connecting.
    fn default() -> Self {
        Self {
            concurrency: 64,
            connect_timeout: Duration::from_secs(10),
        }
    }
}

/// The connections that all models of a process share. Clones share them too. Make one and give it to every
/// [`OpenAi`](crate::OpenAi).
///
/// Nothing is opened and no certificate is read before the first call that needs it. Addresses of this machine are never
/// reached through a proxy; others are where the system's settings (`HTTPS_PROXY` and the like) say so.
#[derive(Clone)]
pub struct HttpClient(Arc<Inner>);

struct Inner {
    options: HttpOptions,
    machine: Machine,
    pools: [OnceLock<Result<Pools, String>>; 3],
    maker: OnceLock<Result<reqwest::Client, String>>,
}

/// What the machine says of the way to other hosts. `None`: what its settings say. Tests bring their own.
#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) proxies: Option<Arc<Matcher>>,
    pub(crate) certificates: Option<Arc<RootCertStore>>,
}

/// What sort of address a host has. Each sort has its own settings for proxies and certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// This machine, in the clear: no proxy, no certificates.
    Local,
    /// This machine by TLS: no proxy.
    LocalTls,
    /// Any other.
    Remote,
}

impl Route {
    /// The route to `url`.
    pub(crate) fn to(url: &Url) -> Self {
        let local = match url.host_str() {
            Some(host) => {
                let host = host.trim_start_matches('[').trim_end_matches(']');
                host.eq_ignore_ascii_case("localhost")
                    || host
                        .parse::<std::net::IpAddr>()
                        .is_ok_and(|address| address.is_loopback())
            }
            None => false,
        };
        match (local, url.scheme()) {
            (true, "https") => Self::LocalTls,
            (true, _) => Self::Local,
            (false, _) => Self::Remote,
        }
    }
}

/// One client, or several with a connection pool each: all requests to an HTTP/2 host share one connection of a pool, and
/// servers cap the requests on one connection.
struct Pools {
    clients: Vec<Client>,
    next: AtomicUsize,
    proxies: Option<Arc<Matcher>>,
}

impl HttpClient {
    /// Connections with these settings. Costs nothing yet.
    #[must_use]
    pub fn new(options: HttpOptions) -> Self {
        Self::on(Machine::default(), options)
    }

    /// The same on a machine of this sort.
    pub(crate) fn on(machine: Machine, options: HttpOptions) -> Self {
        Self(Arc::new(Inner {
            options,
            machine,
            pools: Default::default(),
            maker: OnceLock::new(),
        }))
    }

    /// What makes requests. It sends none.
    pub(crate) fn maker(&self) -> Result<&reqwest::Client, &str> {
        let build = || reqwest::Client::builder().no_proxy().build();
        let made = self
            .0
            .maker
            .get_or_init(|| build().map_err(|error| full_text(&error)));
        made.as_ref().map_err(String::as_str)
    }

    fn pools(&self, route: Route) -> Result<&Pools, &str> {
        self.0.pools[route as usize]
            .get_or_init(|| {
                let Inner {
                    options, machine, ..
                } = &*self.0;
                build(options, machine, route).map_err(|error| full_text(&*error))
            })
            .as_ref()
            .map_err(String::as_str)
    }

    /// The client for the next request on `route`.
    pub(crate) fn client(&self, route: Route) -> Result<&Client, &str> {
        let pools = self.pools(route)?;
        let turn = match pools.clients.len() {
            0 | 1 => 0,
            n => pools.next.fetch_add(1, Ordering::Relaxed) % n,
        };
        pools.clients.get(turn).ok_or("there is no HTTP client")
    }

    /// What a request to `uri` must say to a proxy that reads it. A proxy that passes TLS on was told when the connection was
    /// opened.
    pub(crate) fn proxy_key(&self, route: Route, uri: &Uri) -> Option<HeaderValue> {
        if route != Route::Remote || uri.scheme() != Some(&Scheme::HTTP) {
            return None;
        }
        let proxies = self.pools(route).ok()?.proxies.as_ref()?;
        proxies.intercept(uri)?.basic_auth().cloned()
    }
}

impl Default for HttpClient {
    fn default() -> Self {
        Self::new(HttpOptions::default())
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}

fn build(
    options: &HttpOptions,
    machine: &Machine,
    route: Route,
) -> Result<Pools, Box<dyn Error + Send + Sync>> {
    let (pools, proxies) = match route {
        Route::Remote => (
            options
                .concurrency
                .div_ceil(STREAMS_PER_CONNECTION)
                .clamp(1, MOST_POOLS),
            Some(match &machine.proxies {
                Some(given) => Arc::clone(given),
                None => Arc::new(Matcher::from_system()),
            }),
        ),
        Route::Local | Route::LocalTls => (1, None),
    };
    let tls = tls(machine, route)?;
    let connector = Connector::new(tls, proxies.clone(), options.connect_timeout);
    let mut builder = legacy::Client::builder(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(options.concurrency.div_ceil(pools).max(1))
        .http2_keep_alive_interval(Duration::from_secs(30))
        .http2_keep_alive_timeout(Duration::from_secs(20));
    Ok(Pools {
        clients: (0..pools)
            .map(|_| builder.build(connector.clone()))
            .collect(),
        next: AtomicUsize::new(0),
        proxies,
    })
}

/// TLS by rustls and ring, without touching the process-wide default provider.
fn tls(machine: &Machine, route: Route) -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    let mut tls = match (route, &machine.certificates) {
        // Never used for TLS. Reading the system's certificates takes time, and some containers have none.
        (Route::Local, _) => builder.with_root_certificates(RootCertStore::empty()),
        (_, Some(given)) => builder.with_root_certificates(Arc::clone(given)),
        (_, None) => builder.with_platform_verifier()?,
    }
    .with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(tls)
}

/// An error and all that is underneath, without saying the same thing twice.
pub(crate) fn full_text(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn high_concurrency_gets_several_pools() {
        let http = HttpClient::new(HttpOptions {
            concurrency: 250,
            ..HttpOptions::default()
        });
        http.client(Route::Local).unwrap();
        let clients = |route: Route| {
            let pools = http.0.pools[route as usize].get().unwrap().as_ref();
            pools.map(|pools| pools.clients.len())
        };
        assert_eq!(clients(Route::Local), Ok(1));
        // A machine without certificates cannot build the other; then the error says so.
        match http.client(Route::Remote) {
            Ok(_) => assert_eq!(clients(Route::Remote), Ok(3)),
            Err(error) => assert!(error.contains("ertificate"), "{error}"),
        }
    }
}
