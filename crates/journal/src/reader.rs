//! Reads a journal line by line.

use std::{
    fs::File,
    io::{self, BufRead, Read, Seek, SeekFrom},
    path::Path,
};

use crate::{
    CutOff, Entry, JournalSource, Line,
    error::{ReadError, ReadFault},
    line_view::parse_line,
    shared_messages::Restorer,
    unpack::TornFrame,
    version,
};

const LONGEST_LINE_MIB: u64 = 256;
/// The most bytes that are read of a first line that does not begin like an event: enough to see that the file is not a journal.
const ENOUGH_OF_OTHERS: u64 = 64 * 1024;
/// A buffer that a long line has grown beyond this is freed.
const KEEP_BUFFER: usize = 1024 * 1024;

/// Reads a journal entry by entry. It holds one line at a time, and the last requests of open items.
///
/// Requests are whole: messages that a line leaves out, because the item's previous call of that model has them, are put back. Where that
/// call is missing, the line stays as it is, with its field `shared`.
///
/// There are two ways to read, and they may be mixed: as an iterator it returns an [`Entry`], which owns its fields;
/// [`next_line`](Self::next_line) returns a [`Line`], which borrows from the reader and is several times as fast.
///
/// A line that is not an event is an error that names the line, and the following lines can be read. A last line or a zstd frame that
/// a crash cut off is not an error: the entries end there, and [`cut_off`](Self::cut_off) reports it. If the very first line is not an
/// event, the file is not a journal, and reading ends.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("j.jsonl");
/// # std::fs::write(&path, "{\"message\": \"starting journal\"}\n{\"message\": \"retrying call\", \"delay\": 0.5}\n{\"mess")?;
/// let mut reader = journal::JournalReader::open(&path)?;
/// let mut waited = 0.0;
/// while let Some(line) = reader.next_line() {
///     let line = line?;
///     if line.message == "retrying call" {
///         waited += line.get::<f64>("delay").unwrap_or_default();
///     }
/// }
/// assert_eq!(waited, 0.5);
/// assert_eq!(reader.cut_off().map(|cut_off| cut_off.line), Some(3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct JournalReader<R> {
    input: R,
    name: String,
    line: u64,
    /// Bytes of the text that were read as lines.
    position: u64,
    buffer: Vec<u8>,
    restorer: Restorer,
    /// The line with the messages that it leaves out.
    whole: Vec<u8>,
    cut_off: Option<CutOff>,
    /// Why the compressed data end early.
    torn_frame: Option<String>,
    ended: bool,
    /// Whether it ended with an error.
    failed: bool,
}

impl JournalReader<JournalSource> {
    /// A reader of the journal at `path`, plain or compressed with zstd. The contents of the file decide which, not its name.
    ///
    /// # Errors
    /// When the file cannot be opened, or is empty.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let open = || -> Result<JournalSource, ReadFault> {
            let file = open_file(path)?;
            let mut source = JournalSource::new(file).map_err(ReadFault::Open)?;
            if !source.is_compressed() && source.fill_buf().map_err(ReadFault::Open)?.is_empty() {
                return Err(ReadFault::Empty);
            }
            Ok(source)
        };
        let source = open().map_err(|fault| unopened(path, fault))?;
        Ok(Self::new(source, path.display().to_string()))
    }

    /// Where the lines that were read end, so that what is appended to the file later can be read with [`open_at`](Self::open_at).
    /// `None` for a compressed journal, and for one that could not be read to its end: those are read from the start again.
    #[must_use]
    pub fn position(&self) -> Option<JournalPosition> {
        (!self.input.is_compressed() && !self.failed).then_some(JournalPosition {
            bytes: self.position,
            // The last line that was begun and not finished is read again.
            lines: self.line.saturating_sub(u64::from(self.ended)),
        })
    }

    /// A reader of the lines of the plain journal at `path` from `position` on: none where nothing was appended. Messages that its lines share
    /// with calls before `position` are put back where a [`Replay`](crate::Replay) goes on with it.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open_at(path: &Path, position: JournalPosition) -> Result<Self, ReadError> {
        let open = || -> Result<(u64, JournalSource), ReadFault> {
            let mut file = open_file(path)?;
            let mut bytes = position.bytes;
            let seek = |file: &mut File, to| file.seek(SeekFrom::Start(to)).map(|_| ());
            seek(&mut file, bytes).map_err(ReadFault::Open)?;
            // The break of a line that was read before it was written.
            let mut first = [0];
            if file.read(&mut first).map_err(ReadFault::Open)? == 1 && first == *b"\n" {
                bytes += 1;
            }
            seek(&mut file, bytes).map_err(ReadFault::Open)?;
            Ok((bytes, JournalSource::new(file).map_err(ReadFault::Open)?))
        };
        let (bytes, source) = open().map_err(|fault| unopened(path, fault))?;
        Ok(Self {
            line: position.lines,
            position: bytes,
            ..Self::new(source, path.display().to_string())
        })
    }
}

/// Where the lines of a journal end that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalPosition {
    /// Bytes from the start of the file.
    bytes: u64,
    lines: u64,
}

fn open_file(path: &Path) -> Result<File, ReadFault> {
    let file = files::open(path).map_err(ReadFault::Open)?;
    match file.metadata().map_err(ReadFault::Open)?.is_dir() {
        true => Err(ReadFault::Folder),
        false => Ok(file),
    }
}

fn unopened(path: &Path, fault: ReadFault) -> ReadError {
    ReadError {
        name: path.display().to_string(),
        line: None,
        fault,
    }
}

impl<R: BufRead> JournalReader<R> {
    /// A reader of the text `input`. `name` is used in errors. Wrap an input that may be compressed in a [`JournalSource`].
    pub fn new(input: R, name: impl Into<String>) -> Self {
        Self {
            input,
            name: name.into(),
            line: 0,
            position: 0,
            buffer: Vec::new(),
            restorer: Restorer::default(),
            whole: Vec::new(),
            cut_off: None,
            torn_frame: None,
            ended: false,
            failed: false,
        }
    }

    /// Goes on after the lines of `earlier`: what it knows of open items is needed to put back messages.
    pub(crate) fn continue_from(&mut self, earlier: &mut Self) {
        self.restorer = std::mem::take(&mut earlier.restorer);
    }

    /// Where the journal is cut off, if it is. Known after all entries were read.
    #[must_use]
    pub fn cut_off(&self) -> Option<&CutOff> {
        self.cut_off.as_ref()
    }

    /// The next line, borrowed from the reader; `None` at the end.
    pub fn next_line(&mut self) -> Option<Result<Line<'_>, ReadError>> {
        if self.ended {
            return None;
        }
        self.line += 1;
        let read = self.read_line();
        let Self {
            name,
            line,
            position,
            buffer,
            restorer,
            whole,
            cut_off,
            torn_frame,
            ended,
            failed,
            ..
        } = self;
        let parsed = match read {
            Ok(true) => parse(buffer, *line),
            Ok(false) => Ok(None),
            Err(fault) => Err(fault),
        };
        if !matches!(parsed, Ok(None)) {
            *position += as_u64(buffer.len());
        }
        let fault = match parsed {
            Ok(Some(read)) => {
                let Some(text) = restorer.restore(&read) else {
                    return Some(Ok(read));
                };
                *whole = text.into_bytes();
                return Some(Ok(parse(whole, *line).ok().flatten().unwrap_or(read)));
            }
            Ok(None) => {
                *ended = true;
                if !buffer.is_empty() || torn_frame.is_some() {
                    *cut_off = Some(CutOff {
                        line: *line,
                        bytes: as_u64(buffer.len()),
                        frame: torn_frame.take(),
                    });
                }
                return None;
            }
            Err(fault) => fault,
        };
        let error = ReadError {
            name: name.clone(),
            line: Some(*line),
            fault,
        };
        *ended = !error.is_one_line();
        *failed = *ended;
        Some(Err(error))
    }

    /// Reads one line into the buffer. Returns `false` at the end.
    fn read_line(&mut self) -> Result<bool, ReadFault> {
        self.buffer.clear();
        self.buffer.shrink_to(KEEP_BUFFER);
        let longest = LONGEST_LINE_MIB * 1024 * 1024;
        let most = match self.line {
            1 => begins_as_event(&mut self.input).map(|it_does| match it_does {
                true => longest + 1,
                false => ENOUGH_OF_OTHERS,
            }),
            _ => Ok(longest + 1),
        };
        let read = most.and_then(|most| {
            (&mut self.input)
                .take(most)
                .read_until(b'\n', &mut self.buffer)
        });
        if let Err(error) = read {
            // The text that was unpacked before is in the buffer.
            self.torn_frame = Some(torn_frame(error)?);
        }
        if as_u64(self.buffer.len()) > longest && !self.buffer.ends_with(b"\n") {
            return Err(ReadFault::TooLong(LONGEST_LINE_MIB));
        }
        Ok(!self.buffer.is_empty())
    }
}

impl<R: BufRead> Iterator for JournalReader<R> {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (number, error) = match self.next_line()? {
            Err(error) => return Some(Err(error)),
            Ok(line) => match line.to_entry() {
                Ok(entry) => return Some(Ok(entry)),
                Err(error) => (line.number, error),
            },
        };
        Some(Err(ReadError {
            name: self.name.clone(),
            line: Some(number),
            fault: ReadFault::json(&error),
        }))
    }
}

/// The decoder's message if `error` is a torn frame; other errors are returned unchanged.
fn torn_frame(error: io::Error) -> Result<String, ReadFault> {
    match TornFrame::of(&error) {
        Some(torn) => Ok(torn.to_string()),
        None => Err(ReadFault::Read(error)),
    }
}

/// The event in `buffer`, which contains line `number` and its line break, if any. `None`: an unfinished last line.
fn parse(buffer: &[u8], number: u64) -> Result<Option<Line<'_>>, ReadFault> {
    let (text, finished) = match buffer.strip_suffix(b"\n") {
        Some(text) => (text, true),
        None => (buffer, false),
    };
    let fault = match parse_line(text) {
        Ok(Some(mut line)) => {
            line.number = number;
            version::check(&line)?;
            return Ok(Some(line));
        }
        Ok(None) => ReadFault::NoMessage,
        Err(_) if text.trim_ascii().is_empty() => return Err(ReadFault::Blank),
        Err(_) if !finished && may_be_cut(text, number) => return Ok(None),
        Err(error) => ReadFault::json(&error),
    };
    Err(match number {
        1 => ReadFault::not_a_journal(text, &fault),
        _ => fault,
    })
}

/// Whether `input` continues like an event.
fn begins_as_event(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        match input.fill_buf() {
            Ok([first, ..]) => return Ok(*first == b'{' || first.is_ascii_whitespace()),
            Ok([]) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether `text`, which has no line break, can be an unfinished event. Text that is not JSON counts as one only after other lines.
/// Some disks leave zeros in a file that was never written to, so a first line of zeros counts if it is shorter than the part that is
/// read.
fn may_be_cut(text: &[u8], number: u64) -> bool {
    let zeros = || text.iter().all(|byte| *byte == 0) && as_u64(text.len()) < ENOUGH_OF_OTHERS;
    number > 1 || text.starts_with(b"{") || zeros()
}

fn as_u64(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
