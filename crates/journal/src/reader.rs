//! Reading a journal line by line.

use std::{
    fmt,
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use crate::{
    Entry,
    entry::Fields,
    error::{ReadError, ReadFault},
};

const LONGEST_LINE_MIB: u64 = 256;
/// A buffer that a long line has grown beyond this is given back.
const KEEP_BUFFER: usize = 1024 * 1024;

/// Reads a journal entry by entry. It holds one line at a time.
///
/// A line that is no event is an error that names it, and reading can go on behind it. A last line that a crash cut off
/// is no error: the entries end there, and [`tear`](Self::tear) says so.
#[derive(Debug)]
pub struct JournalReader<R> {
    input: R,
    name: String,
    line: u64,
    buffer: Vec<u8>,
    tear: Option<Tear>,
    ended: bool,
}

/// A last line that was not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tear {
    /// The line, from 1.
    pub line: u64,
    /// How many bytes of it are there.
    pub bytes: u64,
}

impl fmt::Display for Tear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, bytes } = self;
        write!(
            f,
            "line {line} is cut off after {bytes} bytes: the program that wrote the journal was stopped, or could not \
             write on. The lines before it are whole"
        )
    }
}

impl JournalReader<BufReader<File>> {
    /// A reader of the journal at `path`.
    ///
    /// # Errors
    /// When the file cannot be opened, or is compressed.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let name = path.display().to_string();
        let fail = |fault| ReadError {
            name: name.clone(),
            line: None,
            fault,
        };
        if path.extension().is_some_and(|extension| extension == "zst") {
            return Err(fail(ReadFault::Compressed));
        }
        let file = File::open(path).map_err(|error| fail(ReadFault::Open(error)))?;
        Ok(Self::new(BufReader::with_capacity(64 * 1024, file), name))
    }
}

impl<R: BufRead> JournalReader<R> {
    /// A reader of `input`. `name` stands in errors.
    pub fn new(input: R, name: impl Into<String>) -> Self {
        Self {
            input,
            name: name.into(),
            line: 0,
            buffer: Vec::new(),
            tear: None,
            ended: false,
        }
    }

    /// The last line, if it was not finished. Known when all entries are read.
    #[must_use]
    pub fn tear(&self) -> Option<&Tear> {
        self.tear.as_ref()
    }

    /// Reads one line into the buffer. `false` at the end.
    fn read_line(&mut self) -> Result<bool, ReadFault> {
        self.buffer.clear();
        self.buffer.shrink_to(KEEP_BUFFER);
        let longest = LONGEST_LINE_MIB * 1024 * 1024;
        let read = (&mut self.input)
            .take(longest + 1)
            .read_until(b'\n', &mut self.buffer)
            .map_err(ReadFault::Read)?;
        let length = u64::try_from(read).unwrap_or(u64::MAX);
        if length > longest && !self.buffer.ends_with(b"\n") {
            return Err(ReadFault::TooLong(LONGEST_LINE_MIB));
        }
        Ok(read > 0)
    }

    /// The entry in the buffer; `None` when it is a torn last line.
    fn parse(&mut self) -> Result<Option<Entry>, ReadFault> {
        let (text, finished) = match self.buffer.strip_suffix(b"\n") {
            Some(text) => (text, true),
            None => (self.buffer.as_slice(), false),
        };
        if text.trim_ascii().is_empty() {
            return Err(ReadFault::Blank);
        }
        match serde_json::from_slice::<Fields>(text) {
            Ok(fields) => Entry::new(self.line, fields)
                .map(Some)
                .ok_or(ReadFault::NoMessage),
            Err(error) if finished => Err(ReadFault::Json {
                reason: without_place(&error),
                column: error.column(),
            }),
            Err(_) => {
                self.tear = Some(Tear {
                    line: self.line,
                    bytes: u64::try_from(self.buffer.len()).unwrap_or(u64::MAX),
                });
                Ok(None)
            }
        }
    }
}

impl<R: BufRead> Iterator for JournalReader<R> {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        self.line += 1;
        let entry = match self.read_line() {
            Ok(false) => Ok(None),
            Ok(true) => self.parse(),
            Err(fault) => Err(fault),
        };
        let result = entry.map_err(|fault| ReadError {
            name: self.name.clone(),
            line: Some(self.line),
            fault,
        });
        self.ended = match &result {
            Ok(entry) => entry.is_none(),
            Err(error) => !error.is_one_line(),
        };
        result.transpose()
    }
}

/// The error's text without the place: a line of the journal is always line 1 to the parser.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}
