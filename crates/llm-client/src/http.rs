//! The HTTP clients that all models share.

use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use reqwest::{Url, redirect, retry};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use crate::{causes::full_text, reply_memory::ReplyMemory};

/// Most servers accept about this many concurrent requests on one HTTP/2 connection, and a client opens one connection to each host.
const CALLS_PER_CLIENT: usize = 100;
/// An idle connection is closed after this time.
const IDLE: Duration = Duration::from_secs(90);
/// An HTTP/2 server that sends nothing for this long while requests are in flight gets a ping.
const PING: Duration = Duration::from_secs(30);
/// A connection whose ping is not answered within this time is closed.
const NO_ANSWER: Duration = Duration::from_secs(20);

/// Settings of an [`HttpClient`].
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// How many requests may be in flight at once. As many idle connections are kept for each host.
    pub concurrency: usize,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How many connections may be open at once, to all hosts together; further calls wait. At most a quarter is for the idle connections
    /// to each host, the rest for calls in flight. For processes with a low limit of open files. Unlimited by default.
    pub max_connections: usize,
    /// The longest reply that is read, in bytes; a longer one fails the call. 8 MiB by default.
    pub max_reply: usize,
    /// How many bytes all replies in flight may take together; a reply without room is read when others are done. 256 MiB by default. One
    /// reply at a time may exceed the sum, so that at least one can always finish.
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

/// The connections that all models of a process share. Clones share them too. Create one and pass it to every [`OpenAi`](crate::OpenAi).
///
/// Nothing is opened and no certificate is read before the first call that needs it. Addresses of this machine are never reached through a
/// proxy; for others the system's settings (`HTTPS_PROXY` and similar) apply.
///
/// A connection that was idle for 90 seconds is closed.
#[derive(Clone)]
pub struct HttpClient(Arc<Inner>);

struct Inner {
    options: HttpOptions,
    machine: Machine,
    /// One for each [`Route`].
    rings: [Ring; 3],
    room: ReplyMemory,
    /// A permit for each call that may be in flight. `None`: unlimited.
    places: Option<Semaphore>,
    /// How many idle connections a client keeps for each host.
    idle: usize,
}

/// The proxy and the certificates of a test. `None`: the system's.
#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) proxy: Option<reqwest::Proxy>,
    pub(crate) certificates: Option<Arc<RootCertStore>>,
}

/// The kind of address of a host. Each kind has its own settings for proxies and certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// This machine without TLS: no proxy, no certificates.
    Local,
    /// This machine with TLS: no proxy.
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
            // A program on this machine, which no connection leads to.
            (_, "program") => Self::Local,
            (true, "https") => Self::LocalTls,
            (true, _) => Self::Local,
            (false, _) => Self::Remote,
        }
    }
}

/// The clients of one route. A client is added when all existing ones have reached their number of calls.
#[derive(Default)]
struct Ring {
    clients: Mutex<Vec<(reqwest::Client, Arc<Semaphore>)>>,
    tls: OnceLock<Result<ClientConfig, String>>,
}

/// A client with room for one call, for as long as the seat is held.
pub(crate) struct Seat {
    pub(crate) client: reqwest::Client,
    _permit: OwnedSemaphorePermit,
}

impl HttpClient {
    /// Connections with these settings. Opens nothing yet.
    #[must_use]
    pub fn new(options: HttpOptions) -> Self {
        Self::on(Machine::default(), options)
    }

    /// Connections with these settings on `machine`.
    pub(crate) fn on(machine: Machine, options: HttpOptions) -> Self {
        let most = options.max_connections.max(1);
        // Idle connections count as open ones.
        let idle = options.concurrency.min(most / 4).max(1);
        let places = most.saturating_sub(idle).max(1);
        Self(Arc::new(Inner {
            machine,
            rings: Default::default(),
            room: ReplyMemory::new(options.max_replies, options.max_reply),
            places: (places <= Semaphore::MAX_PERMITS).then(|| Semaphore::new(places)),
            idle,
            options,
        }))
    }

    pub(crate) fn options(&self) -> &HttpOptions {
        &self.0.options
    }

    /// The room for replies in flight.
    pub(crate) fn room(&self) -> &ReplyMemory {
        &self.0.room
    }

    /// Waits until one more call may be in flight, to any host.
    pub(crate) async fn place(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.0.places.as_ref()?.acquire().await.ok()
    }

    /// A client on `route` that has room for one more call. The first one with room is taken, so that few clients have connections.
    ///
    /// # Errors
    /// When no client can be made.
    pub(crate) fn seat(&self, route: Route) -> Result<Seat, String> {
        let ring = &self.0.rings[route as usize];
        let mut clients = ring.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let free = clients.iter().find_map(|(client, seats)| {
            let permit = Arc::clone(seats).try_acquire_owned().ok()?;
            Some(Seat {
                client: client.clone(),
                _permit: permit,
            })
        });
        if let Some(seat) = free {
            return Ok(seat);
        }
        let client = self.build(route)?;
        let seats = Arc::new(Semaphore::new(CALLS_PER_CLIENT));
        let permit = Arc::clone(&seats).try_acquire_owned();
        clients.push((client.clone(), seats));
        Ok(Seat {
            client,
            _permit: permit.map_err(|error| full_text(&error))?,
        })
    }

    /// A client of its own for requests to `url`, such as those of another protocol: with the proxy and the certificates of this machine, and
    /// without redirects.
    ///
    /// # Errors
    /// When no client can be made.
    pub fn own_client(&self, url: &str) -> Result<reqwest::Client, String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        self.build(Route::to(&url))
    }

    fn build(&self, route: Route) -> Result<reqwest::Client, String> {
        let machine = &self.0.machine;
        // All clients share it, including the certificates and the sessions to resume.
        let tls = self.0.rings[route as usize]
            .tls
            .get_or_init(|| tls(machine, route).map_err(|error| full_text(&error)))
            .clone()?;
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(concat!("probity/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            // One call is one request: `Retried` decides about another one.
            .retry(retry::never())
            .connect_timeout(self.0.options.connect_timeout)
            .pool_max_idle_per_host(self.0.idle)
            .pool_idle_timeout(IDLE)
            .http2_keep_alive_interval(PING)
            .http2_keep_alive_timeout(NO_ANSWER);
        let builder = match (route, &machine.proxy) {
            (Route::Local | Route::LocalTls, _) => builder.no_proxy(),
            (Route::Remote, Some(proxy)) => builder.no_proxy().proxy(proxy.clone()),
            (Route::Remote, None) => builder,
        };
        builder.build().map_err(|error| full_text(&error))
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

/// TLS by rustls and ring, without touching the process-wide default provider.
fn tls(machine: &Machine, route: Route) -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    let mut tls = match (route, &machine.certificates) {
        // Local connections do not use TLS. Reading the system's certificates takes time, and some containers have none.
        (Route::Local, _) => builder.with_root_certificates(RootCertStore::empty()),
        (_, Some(given)) => builder.with_root_certificates(Arc::clone(given)),
        (_, None) => builder.with_platform_verifier()?,
    }
    .with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(tls)
}

#[cfg(test)]
mod tests;
