//! Follows a journal while a run writes it.

use std::{
    fmt,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use crate::{Line, unpack::is_zstd};

/// Bytes that are read, and unpacked, at once.
const PIECE: usize = 256 * 1024;
/// A line that is begun and longer than this ends the reading, as in a [`JournalReader`](crate::JournalReader).
const LONGEST_LINE: usize = 256 * 1024 * 1024;

/// Reads the lines that were appended to a journal since the last time, plain or compressed. It holds the line that is begun and not
/// finished, and for a compressed journal the state of the decoder, so no byte is read twice. Requests are as the lines have them, without
/// the messages that they leave out.
///
/// ```
/// use std::io::Write as _;
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("journal-1.jsonl");
/// let mut file = std::fs::File::create(&path)?;
/// let mut follower = journal::JournalFollower::new(&path);
/// let mut seen = Vec::new();
/// file.write_all(b"{\"message\": \"starting journal\"}\n{\"message\": \"run")?;
/// follower.read(|line| seen.push(line.message.to_string()))?;
/// assert_eq!(seen, ["starting journal"]);
/// file.write_all(b"ning pipeline\"}\n")?;
/// follower.read(|line| seen.push(line.message.to_string()))?;
/// assert_eq!(seen, ["starting journal", "running pipeline"]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct JournalFollower {
    path: PathBuf,
    /// Bytes of the file that were read.
    position: u64,
    decoder: Option<Decoder<'static>>,
    /// The text that is not yet a whole line.
    rest: Vec<u8>,
    /// Lines that were read.
    lines: u64,
    unpacked: Vec<u8>,
}

impl JournalFollower {
    /// Follows the journal at `path` from its start. Nothing is read yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            position: 0,
            decoder: None,
            rest: Vec::new(),
            lines: 0,
            unpacked: Vec::new(),
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the file that were read so far.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Passes each line that is new and whole to `each`. Lines that are not events are skipped.
    ///
    /// # Errors
    /// When the file cannot be read, its compressed data is damaged, or a line is longer than 256 MiB.
    pub fn read(&mut self, mut each: impl FnMut(&Line<'_>)) -> io::Result<()> {
        let mut file = files::open(&self.path)?;
        file.seek(SeekFrom::Start(self.position))?;
        let mut piece = vec![0; PIECE];
        loop {
            let length = file.read(&mut piece)?;
            let read = piece.get(..length).unwrap_or_default();
            if read.is_empty() {
                return Ok(());
            }
            if self.position == 0 && is_zstd(read) {
                self.decoder = Some(Decoder::new()?);
            }
            self.position += length as u64;
            match &mut self.decoder {
                None => self.rest.extend_from_slice(read),
                Some(decoder) => unpack(decoder, read, &mut self.unpacked, &mut self.rest)?,
            }
            self.pass_lines(&mut each);
            if self.rest.len() > LONGEST_LINE {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "a line is longer than 256 MiB",
                ));
            }
        }
    }

    /// Passes the whole lines on, and keeps the rest.
    fn pass_lines(&mut self, each: &mut impl FnMut(&Line<'_>)) {
        let mut start = 0;
        while let Some(text) = self.rest.get(start..)
            && let Some(length) = text.iter().position(|byte| *byte == b'\n')
        {
            self.lines += 1;
            if let Ok(mut line) = Line::parse(text.get(..length).unwrap_or_default()) {
                line.number = self.lines;
                each(&line);
            }
            start += length + 1;
        }
        self.rest.drain(..start);
    }
}

impl fmt::Debug for JournalFollower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalFollower")
            .field("path", &self.path)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

/// Unpacks `packed` and appends the text to `text`.
fn unpack(
    decoder: &mut Decoder<'static>,
    packed: &[u8],
    buffer: &mut Vec<u8>,
    text: &mut Vec<u8>,
) -> io::Result<()> {
    buffer.resize(PIECE, 0);
    let mut input = InBuffer::around(packed);
    loop {
        let mut output = OutBuffer::around(buffer.as_mut_slice());
        decoder.run(&mut input, &mut output)?;
        let written = output.pos();
        text.extend_from_slice(buffer.get(..written).unwrap_or_default());
        // A full buffer may leave text in the decoder.
        if input.pos() == packed.len() && written < PIECE {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use schema::{Event, EventBody, Journal as _, event::FinishedRun};

    use super::*;
    use crate::{Form, JournalWriter, RunId};

    fn followed(form: Form) {
        let dir = tempfile::tempdir().unwrap();
        let journal = JournalWriter::create_as(dir.path(), &RunId::now(), form).unwrap();
        let mut follower = JournalFollower::new(journal.path());
        let mut seen = Vec::new();
        for round in 0..3 {
            for n in 0..400 {
                let run_id = format!("{round}-{n}");
                journal.record(Event::new(EventBody::FinishedRun(FinishedRun { run_id })));
            }
            journal.sync().unwrap();
            let before = follower.position();
            follower
                .read(|line| seen.extend(line.text("run_id").map(|id| id.into_owned())))
                .unwrap();
            assert_eq!(seen.len(), 400 * (round + 1), "{form:?}");
            let grown = follower.position();
            follower.read(|_| panic!("nothing is new")).unwrap();
            assert!(follower.position() == grown && grown > before);
        }
        assert_eq!(seen.last().map(String::as_str), Some("2-399"));
    }

    #[test]
    fn each_line_of_a_growing_journal_is_read_once() {
        followed(Form::Plain);
        followed(Form::Compressed);
    }

    #[test]
    fn a_text_that_is_no_journal_has_no_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notes");
        std::fs::write(&path, "notes\n\n[1]\n").unwrap();
        let mut follower = JournalFollower::new(&path);
        follower.read(|_| panic!("no event")).unwrap();
        assert!(
            JournalFollower::new(dir.path().join("none"))
                .read(|_| ())
                .is_err()
        );
    }
}
