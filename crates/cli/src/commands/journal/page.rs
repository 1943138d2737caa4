//! Standard output that may end early.

use std::io::{self, IsTerminal, StdoutLock, Write};

use crate::{
    exit::Failure,
    terminal::{Terminal, unwritten},
};

/// Wrapped text is this wide where there is no terminal.
const WIDTH: usize = 80;

/// Standard output for results of any length. A reader that goes away, such as `head`, ends them and is not an error.
pub struct Page {
    out: io::BufWriter<StdoutLock<'static>>,
    /// Whether the reader has gone away.
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

    /// Writes. `false` when nobody reads any more.
    ///
    /// # Errors
    /// When it cannot be written: a full disk, for one.
    pub fn write(&mut self, bytes: &[u8]) -> Result<bool, Failure> {
        let written = self.out.write_all(bytes);
        self.done(written)
    }

    /// Writes all that is held back. `false` when nobody reads any more.
    ///
    /// # Errors
    /// As [`write`](Self::write).
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

/// Where lines are cut off: at the edge of the terminal, and nowhere where there is none.
pub fn edge(terminal: &Terminal) -> Option<usize> {
    io::stdout().is_terminal().then(|| terminal.width())
}

/// How wide wrapped text is.
pub fn width(terminal: &Terminal) -> usize {
    edge(terminal).unwrap_or(WIDTH)
}
