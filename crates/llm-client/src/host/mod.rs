//! The connections to one host, and who may use which.

mod idle;
mod line;
mod shared;
#[cfg(test)]
mod tests;

use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response, Uri,
    body::{Frame, Incoming},
    client::conn::TrySendError,
    http::uri::Scheme,
};

use tokio::sync::SemaphorePermit;

use self::shared::Shared;
pub(crate) use self::{idle::Idle, line::Line, shared::Stream};
use crate::{
    connect::{Conn, Via},
    failure::Unreached,
    files::{are_out, is_out_of_files},
    http::{Route, Ways, full_text},
    room::Room,
};

/// Most servers take about this many requests at once on one HTTP/2 connection.
const STREAMS_PER_CONNECTION: usize = 100;
/// A call that finds no free file waits for so long before it looks again.
const OUT_OF_FILES: Duration = Duration::from_millis(100);
/// However high the concurrency, no more connections than this are shared.
const MOST_SHARED: usize = 32;

/// The connections to one host.
///
/// A request of HTTP/1.1 has a connection to itself, and one that finds none idle opens another; a request of HTTP/2 joins others.
/// Which of the two a host speaks is only known when a connection is open.
pub(crate) struct Host {
    /// Scheme and authority.
    address: Uri,
    route: Route,
    ways: Arc<Ways>,
    idle: Arc<Idle>,
    shared: Shared,
}

impl Host {
    /// The host at `address`. Connections are closed that have been idle for `idle`.
    pub(crate) fn new(address: Uri, route: Route, ways: Arc<Ways>, idle: Duration) -> Self {
        let concurrency = ways.options.concurrency;
        let shared = match route {
            // In the clear it is always HTTP/1.1.
            _ if address.scheme() == Some(&Scheme::HTTP) => 0,
            Route::Remote => concurrency
                .div_ceil(STREAMS_PER_CONNECTION)
                .clamp(1, MOST_SHARED),
            Route::Local | Route::LocalTls => 1,
        };
        let idle = Arc::new(Idle::new(concurrency.max(1), idle));
        ways.share(&idle);
        Self {
            address,
            route,
            ways,
            idle,
            shared: Shared::new(shared),
        }
    }

    /// Waits until one more call may be under way, to whatever host.
    pub(crate) async fn place(&self) -> Option<SemaphorePermit<'_>> {
        self.ways.place().await
    }

    /// The room for replies in flight.
    pub(crate) fn room(&self) -> &Room {
        &self.ways.room
    }

    /// A connection for one request.
    pub(crate) async fn connection(&self) -> Result<Connection, Unreached> {
        if let Some(line) = self.idle.take() {
            return Ok(Connection::Http1(line));
        }
        let place = self.shared.next();
        if let Some(stream) = place.and_then(shared::Place::stream) {
            return Ok(Connection::Http2(stream));
        }
        // Seldom, and large.
        Box::pin(self.new_connection(place)).await
    }

    async fn new_connection(&self, place: Option<&shared::Place>) -> Result<Connection, Unreached> {
        let broken = |error: hyper::Error| Unreached::Broken(full_text(&error));
        let Some(place) = place else {
            let line = Line::over(self.open().await?).await.map_err(broken)?;
            return Ok(Connection::Http1(line));
        };
        let conn = match place.stream_or(self.open()).await {
            Ok(stream) => return Ok(Connection::Http2(stream)),
            Err(opened) => opened?,
        };
        if conn.is_http2() {
            let stream = place.share(conn).await.map_err(broken)?;
            return Ok(Connection::Http2(stream));
        }
        let line = Line::over(conn).await.map_err(broken)?;
        Ok(Connection::Http1(line))
    }

    async fn open(&self) -> Result<Conn, Unreached> {
        let connector = self
            .ways
            .connector(self.route)
            .map_err(|error| Unreached::Unsent(error.to_owned()))?;
        let started = Instant::now();
        loop {
            let counted = self.ways.count();
            let error = match connector.open(&self.address).await {
                Ok(conn) => return Ok(conn.counted(counted)),
                Err(error) => error,
            };
            // Names cannot be looked up either then, and the resolver does not say why.
            if !is_out_of_files(&*error) && !are_out() {
                let text = full_text(&*error);
                return Err(if text.contains("certificate") {
                    Unreached::Certificate(text)
                } else {
                    Unreached::Connect(plain(text))
                });
            }
            if started.elapsed() >= self.ways.options.connect_timeout {
                return Err(Unreached::OutOfFiles);
            }
            // That is no fault of the endpoint: other calls end and give theirs back.
            drop(counted);
            self.ways.close_idle();
            tokio::time::sleep(OUT_OF_FILES).await;
        }
    }

    /// Takes `connection` back after all of a reply was read. One that is dropped instead is closed, so that what still comes in is
    /// nobody's reply.
    pub(crate) fn give_back(&self, connection: Connection) {
        if let Connection::Http1(line) = connection
            && let Some(line) = line.rest()
        {
            self.idle.give(line);
        }
    }

    /// Sends nothing further over `connection`.
    pub(crate) fn forget(&self, connection: &Connection) {
        if let Connection::Http2(stream) = connection {
            self.shared.forget(stream);
        }
    }
}

/// `text` in plain words, where TLS was spoken to a server that knows only plain HTTP.
fn plain(text: String) -> String {
    if text.contains("InvalidContentType") {
        "it does not speak TLS. If it is a server for plain HTTP, write http:// in front of base_url".to_owned()
    } else {
        text
    }
}

/// What a request goes over.
pub(crate) enum Connection {
    Http1(Line),
    Http2(Stream),
}

impl Connection {
    /// Whether it was there before the request it is for.
    pub(crate) fn is_used(&self) -> bool {
        match self {
            Self::Http1(line) => line.is_used(),
            Self::Http2(stream) => stream.is_used(),
        }
    }

    /// Sends a request and waits for the head of the reply. The request is large: it is only made when it can go where it is to stay.
    pub(crate) async fn send(&mut self, request: &Maker<'_>) -> Result<Response<Incoming>, Failed> {
        match self {
            Self::Http1(line) => {
                let response = pin!(line.send(request));
                line.until(response).await
            }
            Self::Http2(stream) => stream.send(request).await,
        }
        .map_err(Failed::from)
    }

    /// The next part of `body`, which came over this connection.
    pub(crate) async fn frame(
        &mut self,
        body: &mut Incoming,
    ) -> Option<Result<Frame<Bytes>, hyper::Error>> {
        match self {
            Self::Http1(line) => line.frame(body).await,
            Self::Http2(_) => body.frame().await,
        }
    }
}

/// Makes a request in the form that a connection needs.
pub(crate) type Maker<'a> = dyn Fn(Form<'_>) -> Request<Full<Bytes>> + Sync + 'a;

/// The forms that the head of a request has.
pub(crate) enum Form<'a> {
    Http1(&'a Via),
    Http2,
}

/// A request that was not answered.
pub(crate) struct Failed {
    pub(crate) error: hyper::Error,
    /// Nothing of it has gone out.
    pub(crate) unsent: bool,
}

/// What hyper says of such a request.
type Unanswered = TrySendError<Request<Full<Bytes>>>;

impl From<Unanswered> for Failed {
    fn from(mut error: Unanswered) -> Self {
        Self {
            unsent: error.take_message().is_some(),
            error: error.into_error(),
        }
    }
}
