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
};

use super::line::{self, Entry};

/// Between the database's name and the number of a tail. The digit is the version of the lines.
const MIDDLE: &str = "-tail1-";
/// A file that has grown beyond this is cut.
const KEEP_LENGTH: u64 = 16 << 20;
/// Longer lines are no lines of ours.
const LONGEST_LINE: u64 = 256 << 20;

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

    /// Appends the lines of `pieces`. On an error the tail is as it was.
    pub(super) fn append<'a>(&mut self, pieces: impl Iterator<Item = &'a [u8]>) -> io::Result<()> {
        let mut length = 0;
        let mut pieces = pieces.inspect(|piece| length += piece.len() as u64);
        let result = pieces.try_for_each(|piece| self.file.write_all(piece));
        match result {
            Ok(()) => self.length += length,
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
    pub(super) fn read<E>(&self, mut take: impl FnMut(Entry<'_>) -> Result<(), E>) -> Result<(), E>
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
            let taken = line::read(&line, |entry, round| {
                (*newest.get_or_insert(round) == round).then(|| take(entry))
            });
            match taken.flatten() {
                Some(result) => result?,
                // The end; a line of an older round, whole or in part; or the last one, which a kill has torn.
                None => return Ok(()),
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
