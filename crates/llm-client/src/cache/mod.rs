//! The response cache: every good reply, kept by what was asked.
//!
//! This is how runs resume. A reply is with the operating system before the caller sees it, so whatever the caller did with it,
//! the same call in the next run is answered from here, even when the process is killed. Replies wait in a tail (`tail`) and
//! in memory (`group`), and enter the database together (`writer`), because a commit for each would cost several times as much.

mod cached;
mod error;
mod file;
mod flight;
mod group;
mod key;
mod known;
mod line;
mod mend;
mod part;
mod rows;
mod settings;
mod stored;
mod tail;
mod writer;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use rusqlite::Connection;
use schema::ChatReply;

pub use cached::Cached;
pub use error::CacheError;
pub use key::{CacheKey, KeyMaker};
pub use settings::{CacheMode, CacheSettings, CacheStats};

use error::is_damage;
use flight::Flights;
use known::Known;
use line::Entry;
use stored::{Found, micros};
use writer::Writer;

/// A file of replies. Clones share it; several processes may have it open at once.
///
/// The last clone that is dropped closes the file. A process that is killed leaves every stored reply behind.
///
/// ```
/// use llm_client::{Cache, CacheSettings};
///
/// let folder = tempfile::tempdir()?;
/// let cache = Cache::open(folder.path().join("replies.sqlite"), CacheSettings::default())?;
/// assert_eq!(cache.count()?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cache {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    settings: CacheSettings,
    /// When it was opened, in microseconds since 1970.
    opened: i64,
    /// Connections for reading that nobody uses at the moment. There are never more than threads that read at once.
    readers: Mutex<Vec<Connection>>,
    writer: Writer,
    known: Arc<Known>,
    flights: Flights,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
    damaged: AtomicU64,
}

impl Cache {
    /// Opens the cache at `path`, which is made with its folder where it is not there yet.
    ///
    /// # Errors
    /// When the file cannot be made, read or written, is damaged, belongs to another program, or was written by a newer
    /// version of Probity.
    pub fn open(path: impl AsRef<Path>, settings: CacheSettings) -> Result<Self, CacheError> {
        let path = path.as_ref();
        let opened = now();
        let (mut writing, tails) = file::open(path)?;
        if let Some(bytes) = settings.max_bytes {
            file::limit(&writing, bytes).map_err(|error| CacheError::new(path, error))?;
        }
        // Opened now, so that a failure shows here and not in the middle of a run.
        let reader = file::open_reader(path)?;
        let known = match Known::load(&mut writing) {
            Err(error) if is_damage(&error) => {
                mend::mend(&mut writing, path).and_then(|()| Known::load(&mut writing))
            }
            loaded => loaded,
        };
        let known = Arc::new(known.map_err(|error| CacheError::new(path, error))?);
        let writer = Writer::start(
            writing,
            tails,
            Arc::clone(&known),
            path,
            settings.max_bytes.is_some(),
        )?;
        Ok(Self {
            shared: Arc::new(Shared {
                path: path.to_owned(),
                settings,
                opened,
                readers: Mutex::new(vec![reader]),
                writer,
                known,
                flights: Flights::default(),
                counters: Counters::default(),
            }),
        })
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// How many replies the file holds, old ones included. Blocks until those of this process are in it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn count(&self) -> Result<u64, CacheError> {
        self.flush();
        self.read(rows::count)
    }

    /// Waits until all replies stored so far are in the file, where other processes find them. They come there by themselves
    /// within two seconds, and outlive the process before that.
    pub fn flush(&self) {
        self.shared.writer.flush();
    }

    /// What happened since it was opened.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        let counters = &self.shared.counters;
        CacheStats {
            hits: counters.hits.load(Relaxed),
            misses: counters.misses.load(Relaxed),
            stored: self.shared.writer.stored(),
            not_stored: self.shared.writer.not_stored(),
            damaged: counters.damaged.load(Relaxed),
        }
    }

    /// Why replies could not be stored, if there were such: a full disk, for one. They were returned all the same. The next run
    /// finds those of them that their tail still holds, and asks for the others again.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.shared.writer.trouble()
    }

    /// The reply stored under `key`, where the settings allow it to be used.
    fn lookup(&self, key: &CacheKey) -> Result<Found, CacheError> {
        let known = &self.shared.known;
        if known.is_stale() {
            self.read(|connection| match known.look(connection) {
                Err(error) if is_damage(&error) => {
                    known.give_up();
                    Ok(())
                }
                result => result,
            })?;
        }
        if !known.meet(key) {
            return Ok(Found::Nothing);
        }
        let oldest = self.oldest();
        // Before the database: on its way there a reply is in both places, never in none.
        if let Some(reply) = self.shared.writer.fresh(key, oldest) {
            return Ok(Found::Reply(reply));
        }
        self.read(|connection| rows::find(connection, key, oldest))
    }

    /// Adds `reply` to those that are written next, unless it has no exchange. There has to be room for it. `replace` puts it in the
    /// place of whatever is stored; else a usable reply that is there already stays.
    fn add(&self, key: &CacheKey, reply: &ChatReply, replace: bool) {
        let Some(exchange) = &reply.exchange else {
            return;
        };
        let failed = &reply.failed_attempts;
        self.shared.writer.add(&Entry {
            key: *key,
            created: now(),
            oldest: if replace { i64::MAX } else { self.oldest() },
            run_time_us: micros(reply.run_time),
            failed: (failed.calls > 0).then_some(failed),
            response: exchange.response.as_bytes(),
        });
    }

    /// Replies stored before this are not used, in microseconds since 1970.
    fn oldest(&self) -> i64 {
        let by_mode = match self.shared.settings.mode {
            CacheMode::Use => i64::MIN,
            CacheMode::Refresh => self.shared.opened,
        };
        let by_age = self.shared.settings.max_age.map_or(i64::MIN, |age| {
            now().saturating_sub(i64::try_from(age.as_micros()).unwrap_or(i64::MAX))
        });
        by_mode.max(by_age)
    }

    fn read<T>(
        &self,
        run: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, CacheError> {
        let readers = &self.shared.readers;
        let idle = readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => file::open_reader(&self.shared.path)?,
        };
        let result = run(&connection).map_err(|error| CacheError::new(&self.shared.path, error));
        let mut readers = readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.push(connection);
        result
    }

    fn hit(&self) {
        self.shared.counters.hits.fetch_add(1, Relaxed);
    }

    fn miss(&self) {
        self.shared.counters.misses.fetch_add(1, Relaxed);
    }

    fn damage(&self) {
        self.shared.counters.damaged.fetch_add(1, Relaxed);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let damaged = self.counters.damaged.load(Relaxed);
        if damaged > 0 {
            tracing::warn!(
                "{damaged} replies in the response cache {} were damaged and not used: the calls were made again, and their replies \
                 stored in place of the damaged ones. If this happens again, check the disk",
                self.path.display()
            );
        }
    }
}

/// Microseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
