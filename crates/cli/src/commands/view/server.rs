//! Accepts connections, and limits their number and duration.

use std::{convert::Infallible, io, pin::pin, sync::Arc, time::Duration};

use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{routes::Viewer, write_limit::WriteLimit};

/// Connections at once. A browser opens six to one server.
const CONNECTIONS: usize = 64;
/// How long the head of a request may take, and how long a connection may be idle.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// How long a connection may be used, and how long its last answer may take after that.
const CONNECTION_TIME: Duration = Duration::from_secs(300);
const LAST_ANSWER: Duration = Duration::from_secs(30);
/// How long a client may take nothing of an answer.
const NO_READING: Duration = Duration::from_secs(10);
/// Bytes of the head of a request, at most.
const HEAD_CAP: usize = 32 * 1024;
/// The pause after a connection that could not be accepted, usually because too many files are open.
const PAUSE: Duration = Duration::from_millis(50);

/// Answers requests until `ended` ends.
pub(super) async fn serve(
    listener: TcpListener,
    viewer: Arc<Viewer>,
    ended: impl Future<Output = ()>,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut ended = pin!(ended);
    loop {
        // Further connections wait in the queue of the system.
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await.ok();
            let accepted = listener.accept().await;
            accepted.map(|(stream, _)| (stream, place))
        };
        tokio::select! {
            () = &mut ended => return,
            Some(_) = connections.join_next() => {}
            accepted = next => match accepted {
                Ok((stream, place)) => {
                    let viewer = Arc::clone(&viewer);
                    connections.spawn(async move {
                        connection(stream, viewer).await;
                        drop(place);
                    });
                }
                Err(error) => pause(&error).await,
            },
        }
    }
}

async fn pause(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    sleep(PAUSE).await;
}

async fn connection(stream: TcpStream, viewer: Arc<Viewer>) {
    // If this fails, small answers may wait, and nothing is lost.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let viewer = Arc::clone(&viewer);
        async move { Ok::<_, Infallible>(viewer.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_CAP)
        .serve_connection(TokioIo::new(WriteLimit::new(stream, NO_READING)), service);
    let mut connection = pin!(connection);
    let served = match timeout(CONNECTION_TIME, connection.as_mut()).await {
        Ok(served) => served,
        Err(_) => {
            connection.as_mut().graceful_shutdown();
            timeout(LAST_ANSWER, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended early");
    }
}
