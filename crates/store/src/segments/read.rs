//! Reads segments as the text of the plain file.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek},
    path::{Path, PathBuf},
};

use zstd::stream::read::Decoder;

use super::{
    index::{Segment, SegmentIndex},
    list_lines::ToList,
};
use crate::tree::DigestReader;

/// Bytes that are decompressed at a time.
const CHUNK: usize = 1 << 16;

/// Why segments cannot be read. It is the inner error of an [`io::Error`]; see [`SegmentFault::of`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct SegmentFault {
    /// The segment or the index at fault.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
    /// What to do.
    pub help: &'static str,
}

const RESTORE: &str = "restore the folder from a copy, or run the benchmark again: a run writes all segments, and replies in the cache cost nothing";
const REPEAT: &str = "repeat the command";

impl SegmentFault {
    pub(super) fn index(path: &Path, reason: &str) -> Self {
        Self {
            path: path.to_owned(),
            reason: reason.to_owned(),
            help: RESTORE,
        }
    }

    /// The fault in `error`, if it is one.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    pub(super) fn into_io(self) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, self)
    }
}

/// The rows of all segments of an index. Each segment is checked against the index before a row of it is returned. Memory holds a few hundred
/// kilobytes.
pub struct SegmentRows {
    /// The file of the index.
    path: PathBuf,
    index: SegmentIndex,
    /// The number of the next segment.
    next: usize,
    current: Option<OpenSegment>,
    to_list: ToList,
    lines: Vec<u8>,
    /// The text that was not returned yet, from `start`.
    list: Vec<u8>,
    start: usize,
    at_end: bool,
}

struct OpenSegment {
    lines: Decoder<'static, BufReader<File>>,
    /// How many rows were read.
    rows: u64,
}

impl std::fmt::Debug for SegmentRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentRows")
            .field("path", &self.path)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

impl SegmentRows {
    /// Opens the index at `path`. Segments are opened one after the other.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            index: SegmentIndex::read(path)?,
            next: 0,
            current: None,
            to_list: ToList::default(),
            lines: vec![0; CHUNK],
            list: Vec::new(),
            start: 0,
            at_end: false,
        })
    }

    /// Reads more text. Returns whether there is any.
    fn fill(&mut self) -> io::Result<bool> {
        self.list.clear();
        self.start = 0;
        while self.list.is_empty() && !self.at_end {
            match self.current.take() {
                Some(open) => self.read_lines(open)?,
                None if self.next < self.index.segments.len() => {
                    self.current = Some(self.open_next()?);
                }
                None => {
                    self.list.extend_from_slice(self.to_list.end());
                    self.at_end = true;
                }
            }
        }
        Ok(!self.list.is_empty())
    }

    fn read_lines(&mut self, mut open: OpenSegment) -> io::Result<()> {
        let read = loop {
            match open.lines.read(&mut self.lines) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.fault(&format!("cannot be decompressed: {error}"))),
                Ok(read) => break read,
            }
        };
        let lines = self.lines.get(..read).unwrap_or_default();
        open.rows += lines.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.to_list.push(lines, &mut self.list);
        if read > 0 {
            self.current = Some(open);
            return Ok(());
        }
        let expected = self.segment().map_or(0, |segment| segment.rows);
        if open.rows != expected {
            let found = open.rows;
            return Err(self.fault(&format!("has {found} rows; its index says {expected}")));
        }
        self.next += 1;
        Ok(())
    }

    fn segment(&self) -> Option<&Segment> {
        self.index.segments.get(self.next)
    }

    /// Opens the next segment, if it is the one that the index names.
    fn open_next(&self) -> io::Result<OpenSegment> {
        let Some(segment) = self.segment() else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let path = self.path.with_file_name(&segment.file);
        let mut file = match files::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(self.fault("missing, and the index beside it names it"));
            }
            Err(error) => return Err(self.fault(&format!("cannot be read: {error}"))),
        };
        let length = file.metadata()?.len();
        if length != segment.bytes {
            let expected = segment.bytes;
            return Err(self.fault(&format!("has {length} bytes; its index says {expected}")));
        }
        let mut content = DigestReader::new(&mut file);
        io::copy(&mut content, &mut io::sink())
            .map_err(|error| self.fault(&format!("cannot be read: {error}")))?;
        if content.finish() != segment.sha256 {
            return Err(self.fault("damaged or swapped: its SHA-256 is not that in its index"));
        }
        file.rewind()?;
        Ok(OpenSegment {
            lines: Decoder::new(file)?,
            rows: 0,
        })
    }

    /// An error about the current segment. A run that replaced the rows meanwhile is no fault of the files.
    fn fault(&self, reason: &str) -> io::Error {
        let name = self.segment().map_or("", |segment| &segment.file);
        let is_replaced = SegmentIndex::read(&self.path).is_ok_and(|now| now != self.index);
        let (reason, help) = match is_replaced {
            true => ("replaced by a run while it was read", REPEAT),
            false => (reason, RESTORE),
        };
        let fault = SegmentFault {
            path: self.path.with_file_name(name),
            reason: reason.to_owned(),
            help,
        };
        fault.into_io()
    }
}

impl Read for SegmentRows {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.start == self.list.len() && !self.fill()? {
            return Ok(0);
        }
        let mut rest = self.list.get(self.start..).unwrap_or_default();
        let read = rest.read(buffer)?;
        self.start += read;
        Ok(read)
    }
}
