//! The thread that moves the write-ahead log into the database.

use std::{
    path::Path,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::JoinHandle,
};

use rusqlite::Connection;

use super::{CacheError, file};

/// Bytes of the log between two checkpoints.
const BETWEEN: u64 = 16 << 20;
/// Bytes that a reply adds to the log besides its own: pages of the index, and the rest of a page of the table.
const BESIDE: u64 = 12 << 10;

/// Checkpoints the database from time to time, with a connection of its own. A checkpoint waits for the disk, 50 to 300 ms on a slow
/// one, and replies that come meanwhile would be lost if the process were killed.
///
/// Dropping it waits until a checkpoint that runs is done.
#[derive(Debug)]
pub(super) struct Checkpoints {
    /// `None` only while it is dropped.
    due: Option<SyncSender<()>>,
    /// `None` only while it is dropped.
    thread: Option<JoinHandle<()>>,
    /// Bytes since the last one, about.
    logged: u64,
}

impl Checkpoints {
    /// Starts the thread for the file at `path`. It opens the file when the first checkpoint is due, which most runs do not reach.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn start(path: &Path) -> Result<Self, CacheError> {
        // One that is due while another runs is enough.
        let (due, wanted) = sync_channel(1);
        let file = path.to_owned();
        let thread = std::thread::Builder::new()
            .name("cache-checkpoints".to_owned())
            .spawn(move || run(&file, &wanted))
            .map_err(|source| CacheError::Thread {
                path: path.to_owned(),
                source,
            })?;
        Ok(Self {
            due: Some(due),
            thread: Some(thread),
            logged: 0,
        })
    }

    /// Counts a reply of `bytes` bytes that was committed.
    pub(super) fn logged(&mut self, bytes: u64) {
        self.logged += bytes + BESIDE;
        if self.logged >= BETWEEN
            && let Some(due) = &self.due
        {
            self.logged = 0;
            // It fails if one is due already.
            let _ = due.try_send(());
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.due = None;
        if let Some(thread) = self.thread.take() {
            // It fails only if the thread panicked, and then there is nothing left to wait for.
            let _ = thread.join();
        }
    }
}

fn run(path: &Path, due: &Receiver<()>) {
    let mut connection = None;
    while due.recv().is_ok() {
        if let Err(error) = checkpoint(path, &mut connection) {
            // The writer checkpoints when the log has become much larger.
            tracing::debug!(%error, "the log of the response cache is not checkpointed");
        }
    }
}

fn checkpoint(path: &Path, connection: &mut Option<Connection>) -> rusqlite::Result<()> {
    let connection = match connection {
        Some(connection) => connection,
        None => connection.insert(file::open_checkpointer(path)?),
    };
    // Passive: neither readers nor the writer wait. What stays in the log is moved the next time.
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}
