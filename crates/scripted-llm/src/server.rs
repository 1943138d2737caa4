//! Accepts connections; the handle of a running server.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use serde_json::Value;
use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};
use tokio_util::sync::CancellationToken;

use crate::{
    BatchScript, Builder, Fault, StartError, Stats,
    answer::Scripted,
    batch::BatchStore,
    fault_board::FaultBoard,
    gate::Gate,
    handler,
    kept::Kept,
    prompt_cache::PromptCache,
    rate_limit::Limiter,
    socket::{Connection, CountedSocket},
    stats::Counts,
};

/// The state that all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) address: SocketAddr,
    pub(crate) key: Option<SecretKey>,
    pub(crate) body_cap: usize,
    latency_micros: AtomicU64,
    jitter_micros: u64,
    pub(crate) faults: FaultBoard,
    pub(crate) gate: Gate,
    pub(crate) counts: Arc<Counts>,
    pub(crate) kept: Kept,
    pub(crate) scripted: Option<Scripted>,
    pub(crate) prompt_cache: Option<PromptCache>,
    pub(crate) batches: BatchStore,
    pub(crate) limiter: Option<Limiter>,
}

/// The required value of `Authorization`. It is never printed.
pub(crate) struct SecretKey(pub(crate) String);

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SecretKey")
    }
}

impl Shared {
    fn new(address: SocketAddr, settings: Builder) -> Self {
        Self {
            address,
            key: settings.key.map(|key| SecretKey(format!("Bearer {key}"))),
            body_cap: settings.body_cap,
            latency_micros: AtomicU64::new(micros(settings.latency)),
            jitter_micros: micros(settings.jitter),
            faults: FaultBoard::new(settings.faults),
            gate: Gate::new(settings.gate),
            counts: Arc::new(Counts::new(settings.record_bodies)),
            kept: Kept::new(settings.keep_requests),
            scripted: settings.script.map(Scripted::new),
            prompt_cache: settings.prompt_cache.then(PromptCache::default),
            batches: BatchStore::new(settings.batches),
            limiter: settings.limit.map(Limiter::new),
        }
    }

    /// The time from the arrival of a request with this hash to its answer.
    pub(crate) fn latency(&self, seed: u64) -> Duration {
        let base = self.latency_micros.load(Relaxed);
        let extra = match self.jitter_micros {
            0 => 0,
            jitter => seed % (jitter + 1),
        };
        Duration::from_micros(base.saturating_add(extra))
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: CancellationToken,
    accepting: Option<JoinHandle<()>>,
}

impl ScriptedServer {
    /// Starts a server with the default settings on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().start().await
    }

    /// The settings of a server, to be changed before it starts.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn serve(listener: TcpListener, address: SocketAddr, settings: Builder) -> Self {
        let shared = Arc::new(Shared::new(address, settings));
        let stop = CancellationToken::new();
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared), stop.clone()));
        Self {
            address,
            shared,
            stop,
            accepting: Some(accepting),
        }
    }

    /// The base URL for clients: `http://127.0.0.1:PORT/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The address that the server listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The counts so far. They include every reply that a client has read to the end.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.counts.snapshot()
    }

    /// The requests that [`Builder::keep_requests`] kept, in order of arrival; items of batches when they are answered. A request that is not JSON is null.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.shared.kept.values()
    }

    /// Switches [`Stats::bodies`] on or off for later requests.
    pub fn record_bodies(&self, on: bool) {
        self.shared.counts.set_record_bodies(on);
    }

    /// Changes the latency of later requests.
    pub fn set_latency(&self, latency: Duration) {
        self.shared.latency_micros.store(micros(latency), Relaxed);
    }

    /// Replaces all faults and resets their counters.
    pub fn set_faults(&self, faults: impl IntoIterator<Item = Fault>) {
        self.shared.faults.set(faults.into_iter().collect());
    }

    /// Replaces the script of later batches, and all faults of requests about them, whose counters are reset. Batches that exist keep theirs.
    pub fn set_batches(&self, script: BatchScript) {
        self.shared.batches.set_script(script);
    }

    /// Lets all batches so far end when they are next looked at, as if their time had passed. Stalled ones are completed.
    pub fn finish_batches(&self) {
        self.shared.batches.finish();
    }

    /// Lets `after` more chat calls through and holds all further ones, until [`ScriptedServer::release`] or another
    /// call of this function. Refused calls (a bad request, a wrong key) are not held and not counted.
    pub fn hold_after(&self, after: usize) {
        self.shared.gate.close_after(after);
    }

    /// Answers held calls and stops holding calls.
    pub fn release(&self) {
        self.shared.gate.open();
    }

    /// The number of calls that are currently held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.shared.gate.held()
    }

    /// Waits until at least `count` calls are held.
    pub async fn wait_held(&self, count: usize) {
        self.shared.gate.wait_held(count).await;
    }

    /// Stops the server: accepts no more connections, closes open ones, and does not answer calls in flight. Returns the final
    /// counts.
    pub async fn shutdown(mut self) -> Stats {
        self.stop.cancel();
        if let Some(accepting) = self.accepting.take() {
            // Fails only when the runtime is shutting down, and then the connections are closed anyway.
            let _ = accepting.await;
        }
        self.stats()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, Arc::clone(&shared)));
                }
                Err(error) => {
                    // Usually there are too many open files: the next attempt may succeed.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            },
        }
    }
    connections.shutdown().await;
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    shared.counts.connection();
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    let connection = Arc::new(Connection::default());
    let socket = CountedSocket::new(stream, Arc::clone(&connection), Arc::clone(&shared.counts));
    let service = service_fn(move |request| {
        handler::handle(Arc::clone(&shared), Arc::clone(&connection), request)
    });
    let served = http1::Builder::new()
        .auto_date_header(false)
        .serve_connection(socket, service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended early");
    }
}
