//! The source of a journal's lines: plain text, or zstd frames.

use std::{
    fmt,
    io::{self, BufRead, BufReader, Read},
};

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

/// Bytes that are read from the file at once.
const INPUT_SIZE: usize = 256 * 1024;
/// Bytes that are unpacked at once.
const OUTPUT_SIZE: usize = 256 * 1024;

/// A journal's text, unpacked if it is compressed. The first bytes decide, not the file's name.
pub struct JournalSource {
    inner: Inner,
}

enum Inner {
    Plain(BufReader<Box<dyn Read + Send>>),
    Packed(Box<Unpacker>),
}

impl JournalSource {
    /// The text of `input`, which is plain or zstd.
    ///
    /// # Errors
    /// When the first bytes cannot be read, or there is no memory for the decoder.
    pub fn new(input: impl Read + Send + 'static) -> io::Result<Self> {
        let input: Box<dyn Read + Send> = Box::new(input);
        let mut input = BufReader::with_capacity(INPUT_SIZE, input);
        let start = peek(&mut input)?;
        let inner = if is_zstd(&start) {
            let already = io::Cursor::new(start).chain(input);
            Inner::Packed(Box::new(Unpacker::new(Box::new(already))?))
        } else {
            let already: Box<dyn Read + Send> = Box::new(io::Cursor::new(start).chain(input));
            Inner::Plain(BufReader::with_capacity(INPUT_SIZE, already))
        };
        Ok(Self { inner })
    }

    /// Whether the input is compressed.
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        matches!(self.inner, Inner::Packed(_))
    }
}

impl fmt::Debug for JournalSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalSource")
            .field("compressed", &self.is_compressed())
            .finish_non_exhaustive()
    }
}

impl Read for JournalSource {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.inner {
            Inner::Plain(input) => input.read(into),
            Inner::Packed(input) => {
                let mut available = input.fill_buf()?;
                let n = available.read(into)?;
                input.consume(n);
                Ok(n)
            }
        }
    }
}

impl BufRead for JournalSource {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match &mut self.inner {
            Inner::Plain(input) => input.fill_buf(),
            Inner::Packed(input) => input.fill_buf(),
        }
    }

    fn consume(&mut self, n: usize) {
        match &mut self.inner {
            Inner::Plain(input) => input.consume(n),
            Inner::Packed(input) => input.consume(n),
        }
    }
}

/// The first four bytes, or all if there are fewer.
fn peek(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::with_capacity(4);
    input.take(4).read_to_end(&mut start)?;
    Ok(start)
}

/// Whether a file starts like a zstd frame, or like a frame that decoders skip.
pub(crate) fn is_zstd(start: &[u8]) -> bool {
    match start.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)) {
        Some(magic) => magic == 0xFD2F_B528 || magic & 0xFFFF_FFF0 == 0x184D_2A50,
        None => false,
    }
}

/// The compressed data end within a frame, or continue with something that is not a frame. Carried in an
/// [`io::Error`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct TornFrame(pub(crate) String);

impl TornFrame {
    /// The torn frame that `error` carries; `None` for errors of another kind.
    pub(crate) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

/// Unpacks frames one after the other.
struct Unpacker {
    input: BufReader<Box<dyn Read + Send>>,
    decoder: Decoder<'static>,
    output: Vec<u8>,
    /// Text that is unpacked but not consumed: `output[start..end]`.
    start: usize,
    end: usize,
    /// Whether a frame has begun but not ended.
    within_frame: bool,
    /// Whether the decoder may hold more output for the input it has taken.
    pending: bool,
    ended: bool,
}

impl Unpacker {
    fn new(input: Box<dyn Read + Send>) -> io::Result<Self> {
        Ok(Self {
            input: BufReader::with_capacity(INPUT_SIZE, input),
            decoder: Decoder::new()?,
            output: vec![0; OUTPUT_SIZE],
            start: 0,
            end: 0,
            within_frame: false,
            pending: false,
            ended: false,
        })
    }

    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.start >= self.end && !self.ended {
            self.unpack()?;
        }
        Ok(self.output.get(self.start..self.end).unwrap_or_default())
    }

    fn consume(&mut self, n: usize) {
        self.start = self.end.min(self.start.saturating_add(n));
    }

    /// Unpacks the next piece. The result may be empty.
    fn unpack(&mut self) -> io::Result<()> {
        let available = self.input.fill_buf()?;
        if available.is_empty() && !self.pending {
            self.ended = true;
            if self.within_frame {
                return Err(torn("the last frame is not whole".to_owned()));
            }
            return Ok(());
        }
        let at_end = available.is_empty();
        let mut input = InBuffer::around(available);
        let mut output = OutBuffer::around(&mut self.output);
        let result = self.decoder.run(&mut input, &mut output);
        let (read, written) = (input.pos(), output.pos());
        self.input.consume(read);
        (self.start, self.end) = (0, written);
        match result {
            Ok(hint) => {
                self.within_frame = hint != 0;
                // When the output is full, the decoder may hold more, unless the frame has ended.
                self.pending = self.within_frame && written == OUTPUT_SIZE;
                if read == 0 && written == 0 && !at_end {
                    self.ended = true;
                    return Err(torn("the decoder does not go on".to_owned()));
                }
                Ok(())
            }
            Err(error) => {
                self.ended = true;
                Err(torn(format!("the data is damaged: {error}")))
            }
        }
    }
}

fn torn(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, TornFrame(reason))
}
