//! The rows of a spool as the content of the file that is composed of them.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom, Write},
    slice,
};

use crate::RowPosition;

/// The JSON list of the rows of a spool, in order.
pub(crate) struct OrderedRows<'s> {
    file: BufReader<&'s File>,
    /// The position in the file.
    position: u64,
    rows: slice::Iter<'s, (RowPosition, u64, u32)>,
    /// What comes before the rest of the current row.
    separator: &'static [u8],
    /// The bytes of the current row that are left.
    left: u64,
    part: ListPart,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ListPart {
    Start,
    Rows,
    End,
}

impl<'s> OrderedRows<'s> {
    pub(crate) fn new(file: &'s File, rows: &'s [(RowPosition, u64, u32)]) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(1 << 16, file);
        file.seek(SeekFrom::Start(0))?;
        Ok(Self {
            file,
            position: 0,
            rows: rows.iter(),
            separator: b"",
            left: 0,
            part: ListPart::Start,
        })
    }

    /// Goes to the next row, or to the end of the list. Returns whether anything is left.
    fn next(&mut self) -> io::Result<bool> {
        let row = self.rows.next();
        let (separator, part): (&[u8], _) = match (self.part, row) {
            (ListPart::Start, Some(_)) => (b"[\n  ", ListPart::Rows),
            (ListPart::Start, None) => (b"[]\n", ListPart::End),
            (ListPart::Rows, Some(_)) => (b",\n  ", ListPart::Rows),
            (ListPart::Rows, None) => (b"\n]\n", ListPart::End),
            (ListPart::End, _) => return Ok(false),
        };
        (self.separator, self.part) = (separator, part);
        if let Some((_, at, length)) = row {
            // A relative seek keeps the buffer if rows are close together, as they mostly are.
            let offset = i64::try_from(*at)
                .and_then(|at| i64::try_from(self.position).map(|position| at - position));
            self.file.seek_relative(offset.map_err(io::Error::other)?)?;
            (self.position, self.left) = (*at, u64::from(*length));
        }
        Ok(true)
    }
}

impl Read for OrderedRows<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.separator.is_empty() {
                return self.separator.read(buffer);
            }
            if self.left > 0 {
                let read = (&mut self.file).take(self.left).read(buffer)?;
                if read == 0 && !buffer.is_empty() {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                self.left -= read as u64;
                self.position += read as u64;
                return Ok(read);
            }
            if !self.next()? {
                return Ok(0);
            }
        }
    }
}

/// Copies what is read to a file.
pub(crate) struct Copied<R, W> {
    input: R,
    out: W,
    /// The first error. The reader may have ignored it.
    failed: Option<io::Error>,
}

impl<R: Read, W: Write> Copied<R, W> {
    pub(crate) fn new(input: R, out: W) -> Self {
        Self {
            input,
            out,
            failed: None,
        }
    }

    /// Copies what was not read, and returns the file.
    ///
    /// # Errors
    /// When anything could not be read or written, also before.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        io::copy(&mut self, &mut io::sink())?;
        match self.failed {
            None => Ok(self.out),
            Some(error) => Err(error),
        }
    }
}

impl<R: Read, W: Write> Read for Copied<R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.failed.is_some() {
            return Ok(0);
        }
        let read = self.input.read(buffer).and_then(|read| {
            let bytes = buffer.get(..read).unwrap_or_default();
            self.out.write_all(bytes).map(|()| read)
        });
        match read {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                let kind = error.kind();
                self.failed = Some(error);
                Err(kind.into())
            }
            read => read,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that stops early, or that ignores errors, loses nothing.
    #[test]
    fn what_is_not_read_is_copied() {
        let text = b"some rows".as_slice();
        for length in [0, 4, 9] {
            let mut copied = Copied::new(text, Vec::new());
            copied.read_exact(&mut vec![0; length]).unwrap();
            assert_eq!(copied.finish().unwrap(), text);
        }
    }

    #[test]
    fn an_error_that_the_reader_ignores_is_returned() {
        let mut room = [0; 4];
        let mut copied = Copied::new(b"some rows".as_slice(), room.as_mut_slice());
        let mut read = Vec::new();
        assert!(copied.read_to_end(&mut read).is_err());
        let error = copied.finish().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WriteZero);
    }
}
