//! Standard output whose reader may stop early.

use std::io::{self, IsTerminal, StdoutLock, Write};

use crate::{
    exit::Failure,
    terminal::{Terminal, unwritten},
};

/// The width of wrapped text without a terminal.
const WIDTH: usize = 80;

/// Standard output for results of any length. A reader that stops early, such as `head`, ends the output without an
/// error.
pub struct Page {
    out: io::BufWriter<StdoutLock<'static>>,
    /// Whether the reader has closed the output.
    ended: bool,
}

impl Page {
    /// Standard output.
    pub fn new() -> Self {
        Self {
            out: io::BufWriter::with_capacity(64 * 1024, io::stdout().lock()),
            ended: false,
        }
    }

    /// Writes `bytes`. Returns `false` if the reader has closed the output.
    ///
    /// # Errors
    /// When writing fails, for example because the disk is full.
    pub fn write(&mut self, bytes: &[u8]) -> Result<bool, Failure> {
        let written = self.out.write_all(bytes);
        self.done(written)
    }

    /// Writes all buffered bytes. Returns `false` if the reader has closed the output.
    ///
    /// # Errors
    /// See [`write`](Self::write).
    pub fn flush(&mut self) -> Result<bool, Failure> {
        let written = self.out.flush();
        self.done(written)
    }

    fn done(&mut self, written: io::Result<()>) -> Result<bool, Failure> {
        match written {
            Ok(()) => {}
            Err(error) => match unwritten(&error) {
                None => self.ended = true,
                Some(why) => return Err(Failure::nothing_ran(why)),
            },
        }
        Ok(!self.ended)
    }
}

/// The column at which lines are cut off: the width of the terminal; `None` without a terminal.
pub fn edge(terminal: &Terminal) -> Option<usize> {
    io::stdout().is_terminal().then(|| terminal.width())
}

/// The width of wrapped text.
pub fn width(terminal: &Terminal) -> usize {
    edge(terminal).unwrap_or(WIDTH)
}
