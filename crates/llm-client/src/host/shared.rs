//! Connections of HTTP/2: many requests at once on each.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Response, body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::Notify;

use super::{Form, Maker, Unanswered};
use crate::connect::Conn;

/// A server that says nothing for so long, with requests under way, is asked for a sign of life.
const PING: Duration = Duration::from_secs(30);
/// A connection on which it does not come for so long is closed.
const NO_ANSWER: Duration = Duration::from_secs(20);

/// A way to send requests over a connection that others send over as well.
#[derive(Clone)]
pub(crate) struct Stream {
    sender: http2::SendRequest<Full<Bytes>>,
    /// Tells connections apart.
    connection: Arc<()>,
    used: bool,
}

impl Stream {
    /// Requests over `conn`, which a task of its own drives from now on.
    async fn over(conn: Conn) -> Result<Self, hyper::Error> {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(PING)
            .keep_alive_timeout(NO_ANSWER);
        let (sender, connection) = builder.handshake(conn).await?;
        // An error is told to every request that it hits.
        tokio::spawn(async { drop(connection.await) });
        Ok(Self {
            sender,
            connection: Arc::default(),
            used: false,
        })
    }

    /// Whether it was opened for another request.
    pub(crate) fn is_used(&self) -> bool {
        self.used
    }

    /// Sends a request and waits for the head of the reply.
    pub(crate) fn send(
        &mut self,
        request: &Maker<'_>,
    ) -> impl Future<Output = Result<Response<Incoming>, Unanswered>> + use<> {
        self.sender.try_send_request(request(Form::Http2))
    }
}

/// The shared connections of a host. Servers cap the requests on one connection, so there may be several, which take turns.
pub(crate) struct Shared {
    places: Box<[Place]>,
    next: AtomicUsize,
}

impl Shared {
    /// Up to `most` connections.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            places: (0..most).map(|_| Place::default()).collect(),
            next: AtomicUsize::new(0),
        }
    }

    /// Where the next request goes. `None` where connections cannot be shared.
    pub(crate) fn next(&self) -> Option<&Place> {
        let turn = match self.places.len() {
            0 | 1 => 0,
            n => self.next.fetch_add(1, Ordering::Relaxed) % n,
        };
        self.places.get(turn)
    }

    /// Sends nothing further over the connection of `stream`.
    pub(crate) fn forget(&self, stream: &Stream) {
        for place in &self.places {
            let mut open = place.lock();
            if open
                .as_ref()
                .is_some_and(|open| Arc::ptr_eq(&open.connection, &stream.connection))
            {
                *open = None;
            }
        }
    }

    /// The most connections.
    #[cfg(test)]
    pub(crate) fn most(&self) -> usize {
        self.places.len()
    }
}

/// Room for one shared connection.
#[derive(Default)]
pub(crate) struct Place {
    open: Mutex<Option<Stream>>,
    arrived: Notify,
}

impl Place {
    fn lock(&self) -> MutexGuard<'_, Option<Stream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection that is there.
    pub(crate) fn stream(&self) -> Option<Stream> {
        let mut open = self.lock();
        if open.as_ref().is_some_and(|open| open.sender.is_closed()) {
            *open = None;
        }
        open.clone()
    }

    /// The connection that is there as soon as anyone has brought one, or else what becomes of `opened`.
    pub(crate) async fn stream_or<T>(&self, opened: impl Future<Output = T>) -> Result<Stream, T> {
        let mut opened = pin!(opened);
        loop {
            let mut arrived = pin!(self.arrived.notified());
            arrived.as_mut().enable();
            if let Some(stream) = self.stream() {
                return Ok(stream);
            }
            tokio::select! {
                biased;
                () = arrived => {}
                result = &mut opened => return Err(result),
            }
        }
    }

    /// Shares `conn` with everybody, unless there is a connection by now.
    pub(crate) async fn share(&self, conn: Conn) -> Result<Stream, hyper::Error> {
        if let Some(stream) = self.stream() {
            return Ok(stream);
        }
        let stream = Stream::over(conn).await?;
        let mut open = self.lock();
        match &*open {
            Some(other) if !other.sender.is_closed() => return Ok(other.clone()),
            _ => {
                *open = Some(Stream {
                    used: true,
                    ..stream.clone()
                });
            }
        }
        drop(open);
        self.arrived.notify_waiters();
        Ok(stream)
    }
}
