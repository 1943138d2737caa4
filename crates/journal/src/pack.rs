//! Lines into zstd frames.

use std::{
    io::{self, Write},
    time::{Duration, Instant},
};

use zstd::{
    stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer},
    zstd_safe::CCtx,
};

/// The fastest of the levels that are meant for use. Higher ones take longer than making the lines does.
const LEVEL: i32 = 1;
/// A frame is closed once it holds as much text.
const FRAME_SIZE: usize = 8 * 1024 * 1024;
/// A frame is closed once it is as old.
const FRAME_AGE: Duration = Duration::from_secs(5);

/// Packs lines and writes the frames to an output.
///
/// What was [settled](Self::settle) can be unpacked when the rest of the frame never comes. Frames are closed all the same
/// after some seconds, so that programs that want whole frames lose no more than the last one.
pub(crate) struct Packer<W> {
    output: W,
    encoder: Encoder<'static>,
    packed: Vec<u8>,
    /// Text in the frame that is open.
    frame: usize,
    /// When it was opened.
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

    /// Takes `text`. Some of it may stay here until [`settle`](Self::settle).
    pub(crate) fn pack(&mut self, text: &[u8]) -> io::Result<()> {
        self.frame += text.len();
        self.since.get_or_insert_with(Instant::now);
        let mut input = InBuffer::around(text);
        while input.pos() < text.len() {
            self.step(|encoder, output| encoder.run(&mut input, output).map(|_| 0))?;
        }
        Ok(())
    }

    /// Writes all text so far. Ends the frame when it is long or old, or must end.
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
