//! A reply and how it is sent.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use hyper::{
    Response, StatusCode,
    body::{Body, Frame, SizeHint},
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};

use crate::{socket::Connection, stats::Ticket};

/// A reply before it is passed to hyper.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) content_type: &'static str,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Bytes,
    /// The connection is closed after half of the body.
    pub(crate) cut: bool,
}

impl Reply {
    /// A reply of JSON text.
    pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            content_type: "application/json",
            headers: Vec::new(),
            body: body.into(),
            cut: false,
        }
    }

    /// The same reply with an additional header.
    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Passes the reply to hyper. `ticket` is completed when the last byte is passed to the socket.
    pub(crate) fn send(self, ticket: Option<(Ticket, Arc<Connection>)>) -> Response<ReplyBody> {
        let mut response = Response::new(ReplyBody {
            length: self.body.len() as u64,
            data: Some(self.body),
            cut: self.cut,
            ticket,
        });
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        for (name, value) in self.headers {
            headers.append(name, value);
        }
        response
    }
}

/// The body of a reply: one piece of bytes, or half of it and then an error that makes hyper close the connection.
#[derive(Debug)]
pub(crate) struct ReplyBody {
    length: u64,
    data: Option<Bytes>,
    cut: bool,
    ticket: Option<(Ticket, Arc<Connection>)>,
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let Some(mut data) = self.data.take() else {
            let cut = std::mem::take(&mut self.cut);
            return Poll::Ready(cut.then(|| Err(io::Error::other("cut on purpose"))));
        };
        if self.cut {
            data.truncate(data.len() / 2);
        } else if let Some((ticket, connection)) = self.ticket.take() {
            connection.leave(ticket);
        }
        Poll::Ready(Some(Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.data.is_none() && !self.cut
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}
