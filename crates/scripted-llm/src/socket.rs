//! The socket under hyper, which detects when the last byte of a reply is written.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::stats::{Counts, Ticket};

/// The state of one connection.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    used: AtomicBool,
    /// Requests whose reply hyper has taken completely, but not yet written.
    leaving: Mutex<Vec<Ticket>>,
}

impl Connection {
    /// Whether this is the connection's first chat request.
    pub(crate) fn first_use(&self) -> bool {
        !self.used.swap(true, Relaxed)
    }

    /// Records that hyper has buffered the whole reply of `ticket`.
    pub(crate) fn leave(&self, ticket: Ticket) {
        self.leaving
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(ticket);
    }

    fn all_left(&self) {
        for ticket in self
            .leaving
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
        {
            ticket.complete();
        }
    }
}

/// A TCP stream that completes the tickets of a connection.
///
/// hyper passes its whole buffer to each write, so a write that accepts everything completes every reply in the buffer.
pub(crate) struct CountedSocket {
    stream: TokioIo<TcpStream>,
    connection: Arc<Connection>,
    counts: Arc<Counts>,
}

impl CountedSocket {
    pub(crate) fn new(stream: TcpStream, connection: Arc<Connection>, counts: Arc<Counts>) -> Self {
        Self {
            stream: TokioIo::new(stream),
            connection,
            counts,
        }
    }

    fn counted(
        &mut self,
        offered: usize,
        write: impl FnOnce(Pin<&mut TokioIo<TcpStream>>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let stream = Pin::new(&mut self.stream);
        self.counts.while_writing(|| {
            let written = write(stream);
            if matches!(written, Poll::Ready(Ok(length)) if length == offered) {
                self.connection.all_left();
            }
            written
        })
    }
}

impl Read for CountedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl Write for CountedSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.counted(buf.len(), |stream| stream.poll_write(cx, buf))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let offered = bufs.iter().map(|buf| buf.len()).sum();
        self.counted(offered, |stream| stream.poll_write_vectored(cx, bufs))
    }
}
