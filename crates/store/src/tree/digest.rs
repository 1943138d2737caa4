//! The SHA-256 of a file, computed while it is read or written.

use std::{
    io::{self, Read, Write},
    path::Path,
};

use schema::text::hex;
use sha2::{Digest, Sha256};

use crate::open_rows;

/// Passes on what it reads, and hashes it.
pub(crate) struct DigestReader<R> {
    input: R,
    hash: Sha256,
}

impl<R: Read> DigestReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            hash: Sha256::new(),
        }
    }

    /// The digest of everything that was read.
    pub(crate) fn finish(self) -> String {
        hex(&self.hash.finalize())
    }
}

impl<R: Read> Read for DigestReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(buffer)?;
        self.hash.update(buffer.get(..length).unwrap_or_default());
        Ok(length)
    }
}

/// The SHA-256 of a file, of segments that of the plain file; `None` if it cannot be read.
pub(super) fn hash_of_file(path: &Path) -> Option<String> {
    let mut file = DigestReader::new(open_rows(path).ok()?);
    io::copy(&mut file, &mut io::sink()).ok()?;
    Some(file.finish())
}

/// Passes on what is written to it, and hashes it.
pub(crate) struct DigestWriter<W> {
    out: W,
    hash: Sha256,
}

impl<W: Write> DigestWriter<W> {
    pub(crate) fn new(out: W) -> Self {
        Self {
            out,
            hash: Sha256::new(),
        }
    }

    /// The digest of everything that was written.
    pub(crate) fn finish(self) -> String {
        self.into_parts().1
    }

    /// The output, and the digest of everything that was written to it.
    pub(crate) fn into_parts(self) -> (W, String) {
        (self.out, hex(&self.hash.finalize()))
    }
}

impl<W: Write> Write for DigestWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.out.write(bytes)?;
        self.hash.update(bytes.get(..length).unwrap_or_default());
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
