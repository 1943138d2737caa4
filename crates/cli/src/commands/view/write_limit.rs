//! A connection whose writes may not wait for long.

use std::{
    io,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

/// A stream whose writes fail when the other end has taken nothing for a while. Otherwise a client that does not read holds its place
/// among the connections.
pub(super) struct WriteLimit<S> {
    stream: S,
    limit: Duration,
    /// Runs from the first write that waits.
    patience: Pin<Box<Sleep>>,
    waits: bool,
}

impl<S> WriteLimit<S> {
    /// `stream`, whose writes may wait for `limit`.
    pub(super) fn new(stream: S, limit: Duration) -> Self {
        Self {
            stream,
            limit,
            patience: Box::pin(sleep(limit)),
            waits: false,
        }
    }

    /// The result of a write, or an error if writes have waited for too long.
    fn limited<T>(
        &mut self,
        result: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.waits = false;
            return result;
        }
        if !self.waits {
            self.waits = true;
            self.patience.as_mut().reset(Instant::now() + self.limit);
        }
        ready!(self.patience.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteLimit<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        pin!(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteLimit<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = pin!(&mut self.stream).poll_write(context, bytes);
        self.limited(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = pin!(&mut self.stream).poll_write_vectored(context, buffers);
        self.limited(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = pin!(&mut self.stream).poll_flush(context);
        self.limited(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = pin!(&mut self.stream).poll_shutdown(context);
        self.limited(shut, context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test]
    async fn a_reader_that_takes_nothing_ends_the_writing_and_a_slow_one_does_not() {
        let (near, mut far) = duplex(8);
        let mut near = WriteLimit::new(near, Duration::from_millis(400));
        near.write_all(b"12345678").await.unwrap();
        let reader = tokio::spawn(async move {
            for _ in 0..6 {
                sleep(Duration::from_millis(100)).await;
                far.read_u8().await.unwrap();
            }
            far
        });
        // Six of them find room, though all together wait for longer than the limit.
        let start = Instant::now();
        let error = near.write_all(b"12345678").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(start.elapsed() >= Duration::from_millis(1000));
        drop(reader.await.unwrap());
    }
}
