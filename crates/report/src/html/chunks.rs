//! Data embedded in the page: gzip in base64. The same data give the same text.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, GzBuilder, write::GzEncoder};
use serde::Serialize;

/// The approximate size of a chunk, in bytes of JSON. Larger chunks compress better, smaller chunks open faster.
pub(super) const CHUNK_BYTES: u64 = 512 << 10;

/// Level 3 takes less than half the time of the default level 6, and makes a page a quarter larger.
const LEVEL: u32 = 3;

/// `json` as gzip without a timestamp, in base64.
///
/// # Errors
/// Never because of the data: gzip writes into memory.
pub(super) fn pack(json: &[u8]) -> io::Result<String> {
    pack_written(|gzip| gzip.write_all(json))
}

/// Like [`pack`], for the JSON of `value`, whose text is never in memory as a whole.
///
/// # Errors
/// When `value` cannot be JSON.
pub(super) fn pack_value(value: &impl Serialize) -> io::Result<String> {
    pack_written(|gzip| {
        let mut buffer = io::BufWriter::with_capacity(1 << 16, gzip);
        serde_json::to_writer(&mut buffer, value)?;
        // Flushing the buffer would flush the compression too, which then takes more room.
        buffer
            .into_inner()
            .map(|_| ())
            .map_err(io::IntoInnerError::into_error)
    })
}

fn pack_written(
    write: impl FnOnce(&mut GzEncoder<Vec<u8>>) -> io::Result<()>,
) -> io::Result<String> {
    let mut gzip = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::new(LEVEL));
    write(&mut gzip)?;
    Ok(STANDARD.encode(gzip.finish()?))
}

/// JSON texts in a temporary file, so that memory need not hold them.
#[derive(Debug)]
pub(super) struct Spool {
    file: io::BufWriter<File>,
    length: u64,
}

/// Where a text is in a [`Spool`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spooled {
    start: u64,
    pub(super) length: u64,
}

impl Spool {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            file: io::BufWriter::with_capacity(1 << 16, tempfile::tempfile()?),
            length: 0,
        })
    }

    /// Adds a text.
    pub(super) fn add(&mut self, text: &[u8]) -> io::Result<Spooled> {
        self.file.write_all(text)?;
        let length = text.len() as u64;
        let start = self.length;
        self.length += length;
        Ok(Spooled { start, length })
    }

    /// The texts as one JSON list, each on a line of its own: the search finds out by lines which text it is in.
    pub(super) fn list(&mut self, texts: &[Spooled]) -> io::Result<Vec<u8>> {
        self.file.flush()?;
        let file = self.file.get_mut();
        let mut list = vec![b'['];
        for (place, text) in texts.iter().enumerate() {
            if place > 0 {
                list.extend_from_slice(b",\n");
            }
            file.seek(SeekFrom::Start(text.start))?;
            let read = Read::by_ref(file)
                .take(text.length)
                .read_to_end(&mut list)?;
            if read as u64 != text.length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        file.seek(SeekFrom::Start(self.length))?;
        list.push(b']');
        Ok(list)
    }
}

/// Divides the texts into chunks of about [`CHUNK_BYTES`], in order.
pub(super) fn divide(texts: &[Spooled]) -> Vec<Vec<Spooled>> {
    let mut chunks: Vec<Vec<Spooled>> = Vec::new();
    let mut bytes = 0;
    for text in texts {
        match chunks.last_mut() {
            Some(chunk) if bytes + text.length <= CHUNK_BYTES => {
                chunk.push(*text);
                bytes += text.length;
            }
            _ => {
                chunks.push(vec![*text]);
                bytes = text.length;
            }
        }
    }
    chunks
}

#[cfg(test)]
mod tests {
    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn what_was_packed_is_gzip_without_a_time() {
        let json = "[\"</script> \u{1b}[31m é\"]".repeat(50);
        let packed = pack(json.as_bytes()).unwrap();
        assert_eq!(packed, pack(json.as_bytes()).unwrap());
        assert!(packed.len() < json.len() / 2);
        let gzip = STANDARD.decode(&packed).unwrap();
        assert_eq!(gzip[4..8], [0; 4], "the time");
        assert_eq!(pack_value(&[1, 2]).unwrap(), pack(b"[1,2]").unwrap());
        let mut read = String::new();
        GzDecoder::new(&*gzip).read_to_string(&mut read).unwrap();
        assert_eq!(read, json);
    }

    #[test]
    fn texts_come_back_as_lists_in_any_order() {
        let mut spool = Spool::new().unwrap();
        let one = spool.add(b"1").unwrap();
        let two = spool.add(b"{\"two\":2}").unwrap();
        assert_eq!(spool.list(&[two, one]).unwrap(), b"[{\"two\":2},\n1]");
        let three = spool.add(b"3").unwrap();
        assert_eq!(spool.list(&[three]).unwrap(), b"[3]");
        assert_eq!(spool.list(&[]).unwrap(), b"[]");
    }

    #[test]
    fn a_chunk_is_of_half_a_megabyte_or_of_one_large_text() {
        let text = |length| Spooled { start: 0, length };
        let lengths =
            |texts: &[Spooled]| -> Vec<usize> { divide(texts).iter().map(Vec::len).collect() };
        assert!(divide(&[]).is_empty());
        assert_eq!(lengths(&[text(200 << 10); 5]), [2, 2, 1]);
        assert_eq!(lengths(&[text(1), text(3 << 20), text(1)]), [1, 1, 1]);
    }
}
