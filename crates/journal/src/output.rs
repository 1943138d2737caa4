//! Where the bytes of a journal go.

use std::{
    fs::File,
    io::{self, Write},
};

/// The end of the line for a journal's bytes. A compressed journal would be one more kind here: an encoder around
/// the file whose frame is ended by `flush`.
pub(crate) enum Output {
    /// A file of our own.
    File(File),
    /// Anything else.
    Other(Box<dyn Write + Send>),
}

impl Output {
    /// Waits until what was written is on the disk, where there is a disk.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.sync_data(),
            Self::Other(other) => other.flush(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Other(other) => other.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Other(other) => other.flush(),
        }
    }
}
