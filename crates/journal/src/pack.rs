//! Packs lines into zstd frames.

use std::{
    io::{self, Write},
    time::{Duration, Instant},
};

use zstd::{
    stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer},
    zstd_safe::CCtx,
};

/// The fastest of the regular levels. Higher levels take longer than creating the lines.
const LEVEL: i32 = 1;
/// A frame that holds this many bytes of text is closed.
const FRAME_SIZE: usize = 8 * 1024 * 1024;
/// A frame of this age is closed.
const FRAME_AGE: Duration = Duration::from_secs(5);

/// Packs lines and writes the frames to an output.
///
/// [Settled](Self::settle) text can be unpacked even if the rest of the frame is never written. Frames are nevertheless
/// closed after some seconds, so that programs that need whole frames lose at most the last one.
pub(crate) struct Packer<W> {
    output: W,
    encoder: Encoder<'static>,
    packed: Vec<u8>,
    /// Bytes of text in the open frame.
    frame: usize,
    /// When the open frame was started.
    since: Option<Instant>,
}

impl<W: Write> Packer<W> {
    pub(crate) fn new(output: W) -> io::Result<Self> {
        let mut encoder = Encoder::new(LEVEL)?;
        encoder.set_parameter(CParameter::ChecksumFlag(true))?;
        Ok(Self {
            output,
            encoder,
            packed: Vec::with_capacity(CCtx::out_size()),
            frame: 0,
            since: None,
        })
    }

    pub(crate) fn output(&mut self) -> &mut W {
        &mut self.output
    }

    /// Takes `text`. Some of it may stay in the encoder until [`settle`](Self::settle).
    pub(crate) fn pack(&mut self, text: &[u8]) -> io::Result<()> {
        self.frame += text.len();
        self.since.get_or_insert_with(Instant::now);
        let mut input = InBuffer::around(text);
        while input.pos() < text.len() {
            self.step(|encoder, output| encoder.run(&mut input, output).map(|_| 0))?;
        }
        Ok(())
    }

    /// Writes all text so far. Ends the frame if it is long or old, or if `end_frame` is set.
    pub(crate) fn settle(&mut self, end_frame: bool) -> io::Result<()> {
        let is_old = self.since.is_some_and(|since| since.elapsed() >= FRAME_AGE);
        if self.frame == 0 {
            return Ok(());
        }
        if end_frame || is_old || self.frame >= FRAME_SIZE {
            while self.step(|encoder, output| encoder.finish(output, true))? > 0 {}
            self.encoder.reinit()?;
            self.frame = 0;
            self.since = None;
        } else {
            while self.step(|encoder, output| encoder.flush(output))? > 0 {}
        }
        self.output.flush()
    }

    /// Runs the encoder once and writes its output.
    fn step(
        &mut self,
        run: impl FnOnce(&mut Encoder<'static>, &mut OutBuffer<'_, Vec<u8>>) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.packed.clear();
        let mut output = OutBuffer::around(&mut self.packed);
        let left = run(&mut self.encoder, &mut output)?;
        if !self.packed.is_empty() {
            self.output.write_all(&self.packed)?;
        }
        Ok(left)
    }
}
