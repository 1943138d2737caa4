//! How a server is set up.

use std::{
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::net::{TcpListener, TcpSocket};

use crate::{Answer, Asked, Fault, ScriptedServer, answer::Script};

/// Settings of a server that is not yet started. Start from [`ScriptedServer::builder`].
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
        }
    }
}

/// The key is left out.
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
            .finish()
    }
}

impl Builder {
    /// The port on 127.0.0.1; 0, the default, takes a free one.
    pub fn port(self, port: u16) -> Self {
        Self { port, ..self }
    }

    /// How long after its arrival a request is answered. Default: at once.
    pub fn latency(self, latency: Duration) -> Self {
        Self { latency, ..self }
    }

    /// Adds up to `jitter` to the latency, the same for the same request every time.
    pub fn jitter(self, jitter: Duration) -> Self {
        Self { jitter, ..self }
    }

    /// Refuses calls that do not carry `Authorization: Bearer <key>`. Default: any call is served.
    pub fn require_key(self, key: impl Into<String>) -> Self {
        Self {
            key: Some(key.into()),
            ..self
        }
    }

    /// The largest request body that is read, in bytes; larger ones get status 413. Default: 32 MiB.
    pub fn body_cap(self, bytes: usize) -> Self {
        Self {
            body_cap: bytes,
            ..self
        }
    }

    /// Whether [`Stats::bodies`](crate::Stats::bodies) is kept. Default: on. Each different body costs about 100 bytes of memory.
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

    /// Adds a fault. The first one that applies to a call is acted out.
    pub fn fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// Keeps the bodies of the first `most` requests for [`ScriptedServer::requests`]. Default: none. A test bounds its memory
    /// by it: what is kept stays until the server ends.
    pub fn keep_requests(self, most: usize) -> Self {
        Self {
            keep_requests: most,
            ..self
        }
    }

    /// Answers every request by `answer`, in place of the scripted models and the faults. Any model name is served.
    pub fn answer(self, answer: impl Fn(Asked<'_>) -> Answer + Send + Sync + 'static) -> Self {
        Self {
            script: Some(Arc::new(answer)),
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

/// Listens with room for many clients that connect at once. With the usual 128 places, a thousand of them overflow the
/// queue, and those that fall out try again only after a second.
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
