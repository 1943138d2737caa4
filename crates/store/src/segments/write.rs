//! Writes the text of a plain file as segments.

use std::{
    collections::HashSet,
    fs,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use zstd::stream::write::Encoder;

use schema::text::hex;

use super::{
    INDEX_VERSION, SEGMENT_ROWS,
    index::{Segment, SegmentIndex, replacing_name, segment_name},
    index_of,
    list_lines::{ToLines, ToList},
    replace::put_index,
};
use crate::{RunError, tree::DigestWriter};

/// The default of zstd: higher levels take several times as long and save a few per cent.
const LEVEL: i32 = 3;

/// Writes the rows of a JSON list, which is written to it as text, into the segments beside a plain file. They count when
/// [`finish`](Self::finish) has returned.
pub(crate) struct SegmentWriter {
    plain: PathBuf,
    folder: PathBuf,
    /// The rows of a segment.
    most: u64,
    to_lines: ToLines,
    lines: Vec<u8>,
    /// Computes the text of the plain file as readers will see it, for its digest.
    to_list: ToList,
    list: Vec<u8>,
    hash: Sha256,
    current: Option<Current>,
    segments: Vec<Segment>,
    /// The names of files that the present index needs.
    taken: HashSet<String>,
}

/// The segment that is being written.
struct Current {
    lines: Encoder<'static, DigestWriter<BufWriter<NamedTempFile>>>,
    rows: u64,
}

impl SegmentWriter {
    /// A writer for the rows whose plain file is at `plain`.
    ///
    /// # Errors
    /// When the folder cannot be created.
    pub(crate) fn create(plain: &Path) -> Result<Self, RunError> {
        Self::with_rows(plain, SEGMENT_ROWS)
    }

    /// Like [`create`](Self::create), with this many rows in a segment.
    pub(super) fn with_rows(plain: &Path, most: u64) -> Result<Self, RunError> {
        let index = index_of(plain);
        let folder = index.parent().unwrap_or(Path::new(".")).to_owned();
        fs::create_dir_all(&folder).map_err(|error| RunError::write(&folder, error))?;
        // An index that cannot be read names no segments that are worth keeping.
        let present = SegmentIndex::read(&index).ok();
        let taken = present.into_iter().flat_map(|index| index.segments);
        Ok(Self {
            plain: plain.to_owned(),
            folder,
            most,
            to_lines: ToLines::default(),
            lines: Vec::new(),
            to_list: ToList::default(),
            list: Vec::new(),
            hash: Sha256::new(),
            current: None,
            segments: Vec::new(),
            taken: taken.map(|segment| segment.file).collect(),
        })
    }

    /// The error of a writer that could not write, for example because the disk is full. Its segments are removed.
    pub(crate) fn failed(&mut self, error: io::Error) -> RunError {
        self.current = None;
        for segment in self.segments.drain(..) {
            // One that stays is removed by the next writer.
            let _ = fs::remove_file(self.folder.join(segment.file));
        }
        RunError::write(&self.folder, error)
    }

    /// Puts the new rows in the place of the present ones, in either form, and returns the SHA-256 of the text of the plain file.
    ///
    /// # Errors
    /// When a file cannot be written or renamed. The present rows then still count.
    pub(crate) fn finish(mut self) -> Result<String, RunError> {
        let ended = self.end_segment();
        ended.map_err(|error| self.failed(error))?;
        self.hash.update(self.to_list.end());
        let index = SegmentIndex {
            version: INDEX_VERSION,
            segments: self.segments,
        };
        put_index(&self.folder, index)?;
        match fs::remove_file(&self.plain) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(RunError::write(&self.plain, error))
            }
            _ => Ok(hex(&self.hash.finalize())),
        }
    }

    fn push_lines(&mut self, mut lines: &[u8]) -> io::Result<()> {
        while !lines.is_empty() {
            let end = lines.iter().position(|byte| *byte == b'\n');
            let (part, rest) = lines.split_at(end.map_or(lines.len(), |end| end + 1));
            lines = rest;
            let mut current = match self.current.take() {
                Some(current) => current,
                None => self.begin_segment()?,
            };
            current.lines.write_all(part)?;
            current.rows += u64::from(end.is_some());
            let is_full = current.rows == self.most;
            self.current = Some(current);
            if is_full {
                self.end_segment()?;
            }
        }
        Ok(())
    }

    fn begin_segment(&self) -> io::Result<Current> {
        let file = BufWriter::with_capacity(1 << 16, files::create_unfinished(&self.folder)?);
        Ok(Current {
            lines: Encoder::new(DigestWriter::new(file), LEVEL)?,
            rows: 0,
        })
    }

    fn end_segment(&mut self) -> io::Result<()> {
        let Some(current) = self.current.take() else {
            return Ok(());
        };
        let (file, sha256) = current.lines.finish()?.into_parts();
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        let bytes = file.as_file().metadata()?.len();
        let number = self.segments.len() + 1;
        let name = match segment_name(number) {
            taken if self.taken.contains(&taken) => replacing_name(number),
            name => name,
        };
        file.persist(self.folder.join(&name))
            .map_err(|error| error.error)?;
        let first_row = self
            .segments
            .iter()
            .map(|segment| segment.rows)
            .sum::<u64>()
            + 1;
        self.segments.push(Segment {
            file: name,
            rows: current.rows,
            first_row,
            bytes,
            sha256,
        });
        Ok(())
    }
}

impl Write for SegmentWriter {
    fn write(&mut self, list: &[u8]) -> io::Result<usize> {
        let mut lines = std::mem::take(&mut self.lines);
        lines.clear();
        self.to_lines.push(list, &mut lines);
        self.list.clear();
        self.to_list.push(&lines, &mut self.list);
        self.hash.update(&self.list);
        let pushed = self.push_lines(&lines);
        self.lines = lines;
        pushed.map(|()| list.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
