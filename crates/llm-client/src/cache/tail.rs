//! The tail: replies on their way into the database, a line each, in a file that outlives the process.
//!
//! Handing a line to the operating system is all that a reply needs to survive the end of the process, and it costs a small
//! part of what a commit of the database costs. So a reply is in the tail before anybody sees it, and replies enter the
//! database many at a time. A tail is locked by its process: one that can be locked has lost it, and is taken over.
//!
//! When its lines are in the database, a tail is written again from its start, over the old ones: the file has its place on the
//! disk already then. Each line tells its round, and what stands behind the last line of the newest round is left over from an
//! older one.

use std::{
    ffi::OsString,
    fs::{self, File, TryLockError},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use schema::Spend;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    CacheKey,
    key::hex_digit,
    stored::{Response, StoredReply},
};

/// Between the database's name and the number of a tail. The digit is the version of the lines.
const MIDDLE: &str = "-tail1-";
/// A file that has grown beyond this is cut.
const KEEP_LENGTH: u64 = 16 << 20;
/// Longer lines are no lines of ours.
const LONGEST_LINE: u64 = 256 << 20;

/// A reply that waits for its place in the database.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) key: CacheKey,
    pub(super) reply: StoredReply,
    /// When it came, in microseconds since 1970.
    pub(super) created: i64,
    /// It replaces only what is older than this.
    pub(super) oldest: i64,
}

/// The check of a line stands before its text, in hexadecimal: without it a line that was torn over an older one could pass for
/// whole.
const CHECK: usize = 8;

fn check_of(text: &[u8]) -> [u8; CHECK] {
    let sum = crc32fast::hash(text);
    std::array::from_fn(|at| hex_digit((sum >> (28 - 4 * at)) as u8))
}

/// The start of a line.
#[derive(Serialize)]
struct Line<'a> {
    round: u64,
    key: &'a str,
    created: i64,
    oldest: i64,
    run_time_us: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<&'a Spend>,
}

#[derive(Deserialize)]
struct ReadLine {
    round: u64,
    key: String,
    created: i64,
    oldest: i64,
    run_time_us: u64,
    #[serde(default)]
    failed: Spend,
    response: Box<RawValue>,
}

impl Waiting {
    /// Appends the line for a tail in its `round`, the line break included. On an error `lines` is as it was.
    pub(super) fn write(&self, round: u64, lines: &mut Vec<u8>) -> io::Result<()> {
        let start = lines.len();
        let failed = &self.reply.failed;
        let line = Line {
            round,
            key: &self.key.hex(),
            created: self.created,
            oldest: self.oldest,
            run_time_us: self.reply.run_time_us(),
            failed: (failed.calls > 0).then_some(failed),
        };
        lines.extend_from_slice(&[b'0'; CHECK]);
        if let Err(error) = serde_json::to_writer(&mut *lines, &line) {
            lines.truncate(start);
            return Err(error.into());
        }
        // The response goes in as it is, before the brace that ends the line.
        lines.pop();
        lines.extend_from_slice(b",\"response\":");
        lines.extend_from_slice(self.reply.response().as_bytes());
        lines.push(b'}');
        let (_, line) = lines.split_at_mut(start);
        let (check, text) = line.split_at_mut(CHECK);
        check.copy_from_slice(&check_of(text));
        lines.push(b'\n');
        Ok(())
    }

    /// The reply of a line, and its round; `None` when the line is not whole.
    fn read(line: &[u8]) -> Option<(Self, u64)> {
        let (check, text) = line.strip_suffix(b"\n")?.split_at_checked(CHECK)?;
        if check != check_of(text) {
            return None;
        }
        let line: ReadLine = serde_json::from_slice(text).ok()?;
        let waiting = Self {
            key: CacheKey::from_hex(&line.key)?,
            reply: StoredReply {
                response: Response::Found(line.response.into()),
                run_time: Duration::from_micros(line.run_time_us),
                failed: line.failed,
            },
            created: line.created,
            // It may have been in the database before, and a later reply have taken its place since: that one stays.
            oldest: line.oldest.min(line.created),
        };
        Some((waiting, line.round))
    }
}

/// A tail of this process. Dropping it removes the file, unless it was to be kept.
#[derive(Debug)]
pub(super) struct Tail {
    file: File,
    path: PathBuf,
    /// Bytes of this round.
    length: u64,
    round: u64,
    /// Some of its replies could not enter the database: the file stays for the next process.
    kept: bool,
}

impl Tail {
    /// An empty tail beside `database`, locked. Nobody may take tails over meanwhile.
    pub(super) fn create(database: &Path) -> io::Result<Self> {
        let mut options = File::options();
        options.write(true).create_new(true);
        for number in 0u32.. {
            let path = name(database, number);
            match options.open(&path) {
                Ok(file) => {
                    let tail = Self {
                        file,
                        path,
                        length: 0,
                        round: 0,
                        kept: false,
                    };
                    tail.file.try_lock().or_else(|error| match error {
                        // No locks on this file system: nobody takes tails over then.
                        TryLockError::Error(error)
                            if error.kind() == io::ErrorKind::Unsupported =>
                        {
                            Ok(())
                        }
                        other => Err(other),
                    })?;
                    return Ok(tail);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("there are too many files beside it"))
    }

    /// Which round it is in; its lines have to tell.
    pub(super) fn round(&self) -> u64 {
        self.round
    }

    /// Appends `lines`. On an error the tail is as it was.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let result = self.file.write_all(lines);
        match result {
            Ok(()) => self.length += lines.len() as u64,
            // The next line is written over what is torn.
            Err(_) => {
                self.file.seek(SeekFrom::Start(self.length))?;
            }
        }
        result
    }

    /// Keeps all lines, and the file when this process is done with it.
    pub(super) fn keep(&mut self) {
        self.kept = true;
    }

    /// Begins a new round, as all lines are in the database; not where some must be kept.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        if self.kept {
            return Ok(());
        }
        self.round += 1;
        self.length = 0;
        self.file.seek(SeekFrom::Start(0))?;
        if self.file.metadata()?.len() > KEEP_LENGTH {
            self.file.set_len(0)?;
        }
        Ok(())
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        // What stays behind is taken over by the next process that opens the cache.
        if !self.kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The tail of a process that has ended, and locked now by this one.
pub(super) struct Orphan {
    file: File,
    path: PathBuf,
}

/// The tails beside `database` that no process holds. Nobody may create tails meanwhile.
pub(super) fn orphans(database: &Path) -> io::Result<Vec<Orphan>> {
    let (folder, prefix) = (folder(database), prefix(database));
    let mut orphans = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !is_tail(&entry.file_name(), &prefix) {
            continue;
        }
        let path = entry.path();
        let file = match File::options().read(true).write(true).open(&path) {
            Ok(file) => file,
            // Its process has just ended in order.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if file.try_lock().is_ok() {
            orphans.push(Orphan { file, path });
        }
    }
    Ok(orphans)
}

impl Orphan {
    /// Gives each reply of the newest round to `take`.
    pub(super) fn read<E>(&self, mut take: impl FnMut(Waiting) -> Result<(), E>) -> Result<(), E>
    where
        E: From<io::Error>,
    {
        let mut reader = BufReader::new(&self.file);
        let mut line = Vec::new();
        let mut newest = None;
        loop {
            line.clear();
            (&mut reader)
                .take(LONGEST_LINE)
                .read_until(b'\n', &mut line)?;
            match Waiting::read(&line) {
                Some((waiting, round)) if *newest.get_or_insert(round) == round => take(waiting)?,
                // The end; a line of an older round, whole or in part; or the last one, which a kill has torn.
                _ => return Ok(()),
            }
        }
    }

    /// Removes the file.
    pub(super) fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

fn folder(database: &Path) -> &Path {
    match database.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn prefix(database: &Path) -> OsString {
    let mut prefix = database.file_name().unwrap_or_default().to_owned();
    prefix.push(MIDDLE);
    prefix
}

fn name(database: &Path, number: u32) -> PathBuf {
    let mut name = prefix(database);
    name.push(number.to_string());
    folder(database).join(name)
}

fn is_tail(name: &std::ffi::OsStr, prefix: &std::ffi::OsStr) -> bool {
    let number = name
        .as_encoded_bytes()
        .strip_prefix(prefix.as_encoded_bytes());
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}
