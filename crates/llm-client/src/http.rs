//! The connections that all models share.

use std::{
    collections::HashMap,
    error::Error,
    fmt,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use hyper::{Uri, http::HeaderValue};
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{
    connect::Connector,
    host::{Host, Idle},
    room::Room,
};

/// A connection that was not used for so long is closed.
const IDLE: Duration = Duration::from_secs(90);

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
    /// No more connections than this are open at once, to all hosts together, and no more calls are under way; others wait. For processes
    /// that may open few files. Any number unless set.
    pub max_connections: usize,
    /// Longer replies are given up, in bytes. 8 MiB unless set.
    pub max_reply: usize,
    /// How many bytes all replies in flight may take together; one that finds no room is read when others are done. 256 MiB unless set. One
    /// reply at a time may pass it, so that there is always one that comes to its end.
    pub max_replies: usize,
}

impl Default for HttpOptions {
    /// 64 requests at once, 10 seconds for connecting, any number of connections, and replies of up to 8 MiB each, 256 MiB in all.
    fn default() -> Self {
        Self {
            concurrency: 64,
            connect_timeout: Duration::from_secs(10),
            max_connections: usize::MAX,
            max_reply: 8 << 20,
            max_replies: 256 << 20,
        }
    }
}

/// The connections that all models of a process share. Clones share them too. Make one and give it to every
/// [`OpenAi`](crate::OpenAi).
///
/// Nothing is opened and no certificate is read before the first call that needs it. Addresses of this machine are never
/// reached through a proxy; others are where the system's settings (`HTTPS_PROXY` and the like) say so.
///
/// A connection that was idle for 90 seconds is not used again. It is closed when another call to its host begins or ends, or when
/// the last clone of this and the last model that was given one are dropped.
#[derive(Clone)]
pub struct HttpClient(Arc<Inner>);

struct Inner {
    ways: Arc<Ways>,
    /// By scheme and authority.
    hosts: Mutex<HashMap<String, Arc<Host>>>,
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

/// The ways to hosts of every sort.
pub(crate) struct Ways {
    pub(crate) options: HttpOptions,
    machine: Machine,
    connectors: [OnceLock<Result<Connector, String>>; 3],
    pub(crate) room: Room,
    /// One for each call that may be under way. `None`: any number.
    places: Option<Semaphore>,
    open: Arc<AtomicUsize>,
    /// The idle connections of every host.
    idle: Mutex<Vec<Weak<Idle>>>,
}

/// Counts an open connection until it is dropped.
pub(crate) struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Ways {
    pub(crate) fn new(machine: Machine, options: HttpOptions) -> Self {
        let most = options.max_connections.max(1);
        Self {
            machine,
            connectors: Default::default(),
            room: Room::new(options.max_replies, options.max_reply),
            places: (most <= Semaphore::MAX_PERMITS).then(|| Semaphore::new(most)),
            open: Arc::default(),
            idle: Mutex::default(),
            options,
        }
    }

    /// Waits until one more call may be under way.
    pub(crate) async fn place(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.places.as_ref()?.acquire().await.ok()
    }

    /// Idle connections that may be closed for others.
    pub(crate) fn share(&self, idle: &Arc<Idle>) {
        let mut all = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Arc::downgrade(idle));
    }

    /// Counts a connection that is about to be opened. Closes an idle one where there are too many.
    pub(crate) fn count(&self) -> Counted {
        let open = self.open.fetch_add(1, Relaxed) + 1;
        if open > self.options.max_connections {
            self.close_idle();
        }
        Counted(Arc::clone(&self.open))
    }

    /// Closes an idle connection to any host, if there is one.
    pub(crate) fn close_idle(&self) {
        let all = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let hosts: Vec<Arc<Idle>> = all.iter().filter_map(Weak::upgrade).collect();
        drop(all);
        // The first that has one.
        let _closed = hosts.iter().find_map(|idle| idle.take_oldest());
    }

    /// What opens connections on `route`. The first call that asks for it has it made.
    pub(crate) fn connector(&self, route: Route) -> Result<&Connector, &str> {
        let [local, local_tls, remote] = &self.connectors;
        let connector = match route {
            Route::Local => local,
            Route::LocalTls => local_tls,
            Route::Remote => remote,
        };
        connector
            .get_or_init(|| self.build(route).map_err(|error| full_text(&error)))
            .as_ref()
            .map_err(String::as_str)
    }

    fn build(&self, route: Route) -> Result<Connector, rustls::Error> {
        let proxies = (route == Route::Remote).then(|| match &self.machine.proxies {
            Some(given) => Arc::clone(given),
            None => Arc::new(Matcher::from_system()),
        });
        let tls = tls(&self.machine, route)?;
        Ok(Connector::new(tls, proxies, self.options.connect_timeout))
    }
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
            ways: Arc::new(Ways::new(machine, options)),
            hosts: Mutex::default(),
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

    /// The host of `url`, whose connections all requests to it share.
    pub(crate) fn host(&self, url: &Url) -> Result<Arc<Host>, hyper::http::uri::InvalidUri> {
        let address = format!("{}://{}/", url.scheme(), url.authority());
        let uri = Uri::try_from(&address)?;
        let mut hosts = self.0.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let host = hosts.entry(address).or_insert_with(|| {
            let ways = Arc::clone(&self.0.ways);
            Arc::new(Host::new(uri, Route::to(url), ways, IDLE))
        });
        Ok(Arc::clone(host))
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
            .field("options", &self.0.ways.options)
            .finish_non_exhaustive()
    }
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
    fn models_of_a_host_share_its_connections() {
        let http = HttpClient::default();
        let host = |url: &str| http.host(&Url::parse(url).unwrap()).unwrap();
        let first = host("https://api.example.com/v1");
        assert!(Arc::ptr_eq(&first, &host("https://API.example.com:443/v2")));
        for other in ["https://api.example.com:444", "http://api.example.com"] {
            assert!(!Arc::ptr_eq(&first, &host(other)), "{other}");
        }
    }
}
