//! The thread in which the connections to a server live, and the current one.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    thread::JoinHandle,
};

use rmcp::service::{Peer, RoleClient};
use tokio::{
    runtime::{Builder, Handle},
    sync::{Semaphore, oneshot},
};

use super::{connection::Connection, server::McpSettings};

/// A server that ended this often, without one answer between, is not connected to again.
const MOST_ENDS: u32 = 5;

/// The connections to a server, one after the other. They end when this is dropped.
pub(super) struct Connections {
    shared: Arc<Shared>,
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    settings: McpSettings,
    current: Mutex<Option<Connection>>,
    /// Held while a connection is made.
    opening: Semaphore,
    ends: AtomicU32,
}

impl Shared {
    fn current(&self) -> MutexGuard<'_, Option<Connection>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn alive(&self) -> Option<Peer<RoleClient>> {
        let current = self.current();
        let alive = current.as_ref().filter(|current| !current.is_closed());
        alive.map(Connection::peer)
    }

    async fn reopen(&self) -> Result<Peer<RoleClient>, String> {
        let _opening = self.opening.acquire().await;
        if let Some(peer) = self.alive() {
            return Ok(peer);
        }
        if self.ends.fetch_add(1, Relaxed) >= MOST_ENDS {
            return Err(format!(
                "it ended {MOST_ENDS} times in a row, and is not started again"
            ));
        }
        let connection = Connection::open(&self.settings).await?;
        let peer = connection.peer();
        let before = self.current().replace(connection);
        if let Some(before) = before {
            before.end().await;
        }
        Ok(peer)
    }
}

impl Connections {
    /// Starts the thread, and makes the first connection. `look` reads what that one says of the server. Blocks this thread for as long as
    /// that takes.
    ///
    /// # Errors
    /// When no connection can be made.
    pub(super) fn start<T: Send + 'static>(
        settings: McpSettings,
        look: impl FnOnce(&Connection) -> T + Send + 'static,
    ) -> Result<(Self, T), String> {
        let (ready, started) = std::sync::mpsc::sync_channel(1);
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name(format!("server {}", settings.process.name))
            .spawn(move || serve(settings, look, &ready, stopped))
            .map_err(|error| format!("no thread can be started: {error}"))?;
        let answer = started
            .recv()
            .unwrap_or_else(|_| Err("its thread ended".to_owned()));
        let (shared, runtime, seen) = answer?;
        let connections = Self {
            shared,
            runtime,
            stop: Some(stop),
            thread: Some(thread),
        };
        Ok((connections, seen))
    }

    /// The other side of a living connection: a new one, where the last has ended.
    ///
    /// # Errors
    /// When none can be made.
    pub(super) async fn peer(&self) -> Result<Peer<RoleClient>, String> {
        if let Some(peer) = self.shared.alive() {
            return Ok(peer);
        }
        let shared = Arc::clone(&self.shared);
        let opened = self.runtime.spawn(async move { shared.reopen().await });
        opened
            .await
            .unwrap_or_else(|_| Err("the run is ending".to_owned()))
    }

    /// An answer came.
    pub(super) fn answered(&self) {
        self.shared.ends.store(0, Relaxed);
    }
}

impl Drop for Connections {
    /// Ends the connection and its program, and waits until it has ended.
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

type Started<T> = Result<(Arc<Shared>, Handle, T), String>;

fn serve<T>(
    settings: McpSettings,
    look: impl FnOnce(&Connection) -> T,
    ready: &std::sync::mpsc::SyncSender<Started<T>>,
    stopped: oneshot::Receiver<()>,
) {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = ready.send(Err(format!("no runtime can be made: {error}")));
            return;
        }
    };
    runtime.block_on(async {
        let connection = match Connection::open(&settings).await {
            Ok(connection) => connection,
            Err(reason) => {
                let _ = ready.send(Err(reason));
                return;
            }
        };
        let seen = look(&connection);
        let shared = Arc::new(Shared {
            settings,
            current: Mutex::new(Some(connection)),
            opening: Semaphore::new(1),
            ends: AtomicU32::new(0),
        });
        let _ = ready.send(Ok((Arc::clone(&shared), Handle::current(), seen)));
        // The sender is dropped with the connections.
        let _ = stopped.await;
        let last = shared.current().take();
        if let Some(last) = last {
            last.end().await;
        }
    });
}
