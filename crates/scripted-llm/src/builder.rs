//! The settings of a server.

use std::{
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::net::{TcpListener, TcpSocket};

use crate::{Answer, Asked, BatchScript, Fault, RateLimit, ScriptedServer, answer::Script};

/// Settings of a server that has not been started. Created by [`ScriptedServer::builder`].
#[derive(Clone)]
#[must_use = "nothing runs before `start`"]
pub struct Builder {
    pub(crate) port: u16,
    pub(crate) latency: Duration,
    pub(crate) jitter: Duration,
    pub(crate) key: Option<String>,
    pub(crate) body_cap: usize,
    pub(crate) record_bodies: bool,
    pub(crate) gate: Option<usize>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) keep_requests: usize,
    pub(crate) script: Option<Script>,
    pub(crate) prompt_cache: bool,
    pub(crate) batches: BatchScript,
    pub(crate) limit: Option<RateLimit>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            port: 0,
            latency: Duration::ZERO,
            jitter: Duration::ZERO,
            key: None,
            body_cap: 32 << 20,
            record_bodies: true,
            gate: None,
            faults: Vec::new(),
            keep_requests: 0,
            script: None,
            prompt_cache: false,
            batches: BatchScript::default(),
            limit: None,
        }
    }
}

/// Leaves out the key.
impl fmt::Debug for Builder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Builder")
            .field("port", &self.port)
            .field("latency", &self.latency)
            .field("jitter", &self.jitter)
            .field("key_required", &self.key.is_some())
            .field("body_cap", &self.body_cap)
            .field("record_bodies", &self.record_bodies)
            .field("gate", &self.gate)
            .field("faults", &self.faults)
            .field("keep_requests", &self.keep_requests)
            .field("own_answers", &self.script.is_some())
            .field("prompt_cache", &self.prompt_cache)
            .field("batches", &self.batches)
            .field("limit", &self.limit)
            .finish()
    }
}

impl Builder {
    /// The port on 127.0.0.1; 0, the default, chooses a free one.
    pub fn port(self, port: u16) -> Self {
        Self { port, ..self }
    }

    /// The time from the arrival of a request to its answer. Default: none.
    pub fn latency(self, latency: Duration) -> Self {
        Self { latency, ..self }
    }

    /// Adds up to `jitter` to the latency. The same request always gets the same latency.
    pub fn jitter(self, jitter: Duration) -> Self {
        Self { jitter, ..self }
    }

    /// Refuses calls without `Authorization: Bearer <key>`. By default every call is served.
    pub fn require_key(self, key: impl Into<String>) -> Self {
        Self {
            key: Some(key.into()),
            ..self
        }
    }

    /// The largest request body in bytes; a larger one gets status 413. Default: 32 MiB.
    pub fn body_cap(self, bytes: usize) -> Self {
        Self {
            body_cap: bytes,
            ..self
        }
    }

    /// Whether [`Stats::bodies`](crate::Stats::bodies) is recorded. Default: on. Each distinct body takes about 100 bytes of
    /// memory.
    pub fn record_bodies(self, on: bool) -> Self {
        Self {
            record_bodies: on,
            ..self
        }
    }

    /// Lets `after` calls through and holds all further ones; see [`ScriptedServer::hold_after`].
    pub fn hold_after(self, after: usize) -> Self {
        Self {
            gate: Some(after),
            ..self
        }
    }

    /// Adds a fault. The first fault that applies to a call is used.
    pub fn fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// Keeps the bodies of the first `most` requests, and items of batches, for [`ScriptedServer::requests`]. Default: none. They stay in memory until
    /// the server ends, so the number limits a test's memory.
    pub fn keep_requests(self, most: usize) -> Self {
        Self {
            keep_requests: most,
            ..self
        }
    }

    /// Answers every request with `answer`, instead of the scripted models and the faults. Any model name is served.
    pub fn answer(self, answer: impl Fn(Asked<'_>) -> Answer + Send + Sync + 'static) -> Self {
        Self {
            script: Some(Arc::new(answer)),
            ..self
        }
    }

    /// Reports in `usage` what a provider's prompt cache would read and write of each request: up to `cache_control` marks with Anthropic's
    /// Messages, by itself with the other interfaces. By default there is no such cache.
    pub fn prompt_cache(self) -> Self {
        Self {
            prompt_cache: true,
            ..self
        }
    }

    /// Refuses calls above `limit`, as soon as they arrive. By default every call is served.
    pub fn limit(self, limit: RateLimit) -> Self {
        Self {
            limit: Some(limit),
            ..self
        }
    }

    /// How batches go. By default each takes 50 ms and all its items are answered.
    pub fn batches(self, script: BatchScript) -> Self {
        Self {
            batches: script,
            ..self
        }
    }

    /// Binds the port and starts to serve on the current tokio runtime.
    ///
    /// # Errors
    /// When the port cannot be bound.
    pub async fn start(self) -> Result<ScriptedServer, StartError> {
        let port = self.port;
        let failed = |source| StartError { port, source };
        let listener = listen((Ipv4Addr::LOCALHOST, port).into()).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(ScriptedServer::serve(listener, address, self))
    }
}

/// Listens with a queue for many clients that connect at once. A thousand of them overflow the usual queue of 128, and the
/// rejected ones retry only after a second.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(4096)
}

/// The server could not start.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on 127.0.0.1:{port}: {source}; choose another port, or 0 for a free one")]
pub struct StartError {
    port: u16,
    source: io::Error,
}
