//! A connection of HTTP/1.1: one request after the other.

use std::{
    future::{Future, poll_fn},
    mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Wake, Waker},
    time::Instant,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Response,
    body::{Body, Frame, Incoming},
    client::conn::http1,
};
use tokio::task::coop::unconstrained;

use super::{Form, Maker, Unanswered};
use crate::connect::{Conn, Via};

/// An open connection, and what sends requests over it.
///
/// No task of its own drives it: the call that waits for a reply does so itself. That spares two turns of the scheduler a call. While
/// it is idle nobody reads from it; what has happened in the meantime comes to light when the next request is about to go out.
pub(crate) struct Line(Box<Open>);

struct Open {
    sender: http1::SendRequest<Full<Bytes>>,
    drive: Drive,
    via: Via,
    used: bool,
    since: Instant,
}

impl Line {
    /// Requests over `conn`.
    pub(crate) async fn over(mut conn: Conn) -> Result<Self, hyper::Error> {
        let via = mem::replace(&mut conn.via, Via::Direct);
        let (sender, connection) = http1::Builder::new().handshake(conn).await?;
        Ok(Self(Box::new(Open {
            sender,
            drive: Drive::new(connection),
            via,
            used: false,
            since: Instant::now(),
        })))
    }

    /// Whether it has carried a request and its reply already.
    pub(crate) fn is_used(&self) -> bool {
        self.0.used
    }

    /// Since when it is idle.
    pub(crate) fn since(&self) -> Instant {
        self.0.since
    }

    /// Sends a request. What becomes of it is for [`Line::until`] to find out.
    pub(crate) fn send(
        &mut self,
        request: &Maker<'_>,
    ) -> impl Future<Output = Result<Response<Incoming>, Unanswered>> + use<> {
        let request = request(Form::Http1(&self.0.via));
        // Tokio must not put it off to wake it later: it is polled with a waker that wakes nobody.
        unconstrained(self.0.sender.try_send_request(request))
    }

    /// Waits for `response`, which comes over this connection.
    pub(crate) async fn until<F: Future>(&mut self, mut response: Pin<&mut F>) -> F::Output {
        let drive = &mut self.0.drive;
        drive.until(|context| response.as_mut().poll(context)).await
    }

    /// The next part of `body`, which comes over this connection.
    pub(crate) async fn frame(
        &mut self,
        body: &mut Incoming,
    ) -> Option<Result<Frame<Bytes>, hyper::Error>> {
        // Short replies have come in with their head.
        if let Poll::Ready(frame) = poll_frame(body, &mut Context::from_waker(Waker::noop())) {
            return frame;
        }
        self.0
            .drive
            .until(|context| poll_frame(body, context))
            .await
    }

    /// Makes it ready for the next request, after all of a reply was read. `None`: it takes no further one.
    pub(crate) fn rest(mut self) -> Option<Self> {
        self.0.drive.caller.set(None);
        if !self.0.sender.is_ready() {
            self.0.drive.poll();
        }
        // What is not ready now has ended, or still sends a request that the server did not want to read.
        if self.0.drive.connection.is_none() || !self.0.sender.is_ready() {
            return None;
        }
        self.0.used = true;
        self.0.since = Instant::now();
        Some(self)
    }
}

fn poll_frame(
    body: &mut Incoming,
    context: &mut Context<'_>,
) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
    Pin::new(body).poll_frame(context)
}

/// A connection, driven by whoever waits for something that comes over it.
struct Drive {
    /// `None` once it has ended.
    connection: Option<http1::Connection<Conn, Full<Bytes>>>,
    caller: Arc<Caller>,
    /// `caller` in the form that the connection takes it in.
    waker: Waker,
}

impl Drive {
    fn new(connection: http1::Connection<Conn, Full<Bytes>>) -> Self {
        let caller = Arc::new(Caller::default());
        Self {
            connection: Some(connection),
            waker: Waker::from(Arc::clone(&caller)),
            caller,
        }
    }

    /// Drives it until it has made `what` ready. Nothing else does that, so `what` need not wake anybody.
    async fn until<T>(&mut self, mut what: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
        poll_fn(|context| {
            self.caller.set(Some(context.waker()));
            self.poll();
            what(&mut Context::from_waker(Waker::noop()))
        })
        .await
    }

    /// Does what can be done at once.
    fn poll(&mut self) {
        let Some(open) = &mut self.connection else {
            return;
        };
        // An error is told to the request that it hits, and a dropped connection gives back those that have not gone out.
        let mut context = Context::from_waker(&self.waker);
        if Pin::new(open).poll(&mut context).is_ready() {
            self.connection = None;
        }
    }
}

/// Who waits for something to happen on a connection. The connection knows it by one waker for all of its life, so it need not
/// remember another for every call, and what happens between two calls wakes nobody.
#[derive(Default)]
struct Caller(Mutex<Option<Waker>>);

impl Caller {
    fn lock(&self) -> MutexGuard<'_, Option<Waker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, waker: Option<&Waker>) {
        let mut held = self.lock();
        let before = match (&mut *held, waker) {
            (Some(held), Some(waker)) if held.will_wake(waker) => return,
            (held, waker) => mem::replace(held, waker.cloned()),
        };
        drop(held);
        // Dropping a waker may drop a task, with a connection of its own in it.
        drop(before);
    }
}

impl Wake for Caller {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let waker = self.lock().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
