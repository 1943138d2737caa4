//! The zip file of a log. A separate thread packs its files while the next sample is created.

use std::{
    io::{self, Write},
    mem, panic,
    sync::mpsc::{self, Receiver, SyncSender},
    thread::{self, JoinHandle},
};

use zip::{
    CompressionMethod, DateTime, ZipWriter,
    result::ZipError,
    write::{SimpleFileOptions, StreamWriter},
};

/// The zip file. Written as a stream: seeking back to the header of each file would flush the buffer twice per
/// file.
pub(super) type Zip<W> = ZipWriter<StreamWriter<W>>;

/// How many files may wait for packing. Few, because a sample can be large.
const AHEAD: usize = 4;
/// A low level: the text of conversations shrinks to a quarter, and a higher level would cost more time than it
/// saves disk space.
const LEVEL: i64 = 1;

/// Packs files in order. Dropping the packer waits until the thread has closed the file.
pub(super) struct Packer<W: Write> {
    /// `None` after the last file.
    files: Option<SyncSender<(String, Vec<u8>)>>,
    /// Empty buffers for reuse.
    emptied: Receiver<Vec<u8>>,
    /// `None` after the thread was joined.
    thread: Option<JoinHandle<io::Result<Zip<W>>>>,
}

impl<W: Write + Send + 'static> Packer<W> {
    /// Starts a zip file in `out`.
    pub(super) fn new(out: W) -> io::Result<Self> {
        let (files, waiting) = mpsc::sync_channel::<(String, Vec<u8>)>(AHEAD);
        let (done, emptied) = mpsc::sync_channel(AHEAD);
        let builder = thread::Builder::new().name("inspect-log".to_owned());
        let thread = builder.spawn(move || {
            let mut zip = ZipWriter::new_stream(out);
            for (name, mut content) in waiting {
                put(&mut zip, &name, &content)?;
                content.clear();
                // The buffer is dropped if it is not needed again.
                let _ = done.try_send(content);
            }
            Ok(zip)
        })?;
        Ok(Self {
            files: Some(files),
            emptied,
            thread: Some(thread),
        })
    }

    /// Packs `content` as the file `name`, and replaces it by an empty buffer.
    ///
    /// An error may belong to an earlier file.
    pub(super) fn put(&mut self, name: String, content: &mut Vec<u8>) -> io::Result<()> {
        let empty = self.emptied.try_recv().unwrap_or_default();
        let file = (name, mem::replace(content, empty));
        let sent = self.files.as_ref().map(|files| files.send(file));
        match sent {
            Some(Ok(())) => Ok(()),
            // The thread ends early only on an error.
            _ => self.wait().and(Err(ended())),
        }
    }

    /// Waits for the pending files, and returns the zip file for the remaining ones.
    pub(super) fn finish(mut self) -> io::Result<Zip<W>> {
        self.wait()
    }
}

impl<W: Write> Packer<W> {
    fn wait(&mut self) -> io::Result<Zip<W>> {
        self.files = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(packed)) => packed,
            Some(Err(panicked)) => panic::resume_unwind(panicked),
            None => Err(ended()),
        }
    }
}

impl<W: Write> Drop for Packer<W> {
    fn drop(&mut self) {
        self.files = None;
        if let Some(thread) = self.thread.take() {
            // A caller that drops the packer needs neither the file nor its errors.
            let _ = thread.join();
        }
    }
}

fn ended() -> io::Error {
    io::Error::other("the log was given up after an error before")
}

/// Packs `content` as the file `name`.
pub(super) fn put<W: Write>(zip: &mut Zip<W>, name: &str, content: &[u8]) -> io::Result<()> {
    start(zip, name)?;
    zip.write_all(content)
}

/// Starts a file. All files have the same time, so that the same log has the same bytes.
pub(super) fn start<W: Write>(zip: &mut Zip<W>, name: &str) -> io::Result<()> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(LEVEL))
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    zip.start_file(name, options).map_err(|error| match error {
        // Keeps the kind of an I/O error, such as a full disk.
        ZipError::Io(error) => error,
        error => io::Error::new(io::ErrorKind::InvalidData, format!("{name}: {error}")),
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use super::*;

    #[test]
    fn files_come_whole_and_in_order() {
        let mut packer = Packer::new(Vec::new()).unwrap();
        let mut content = Vec::new();
        for n in 0..100 {
            content.extend_from_slice(&vec![b'a' + n % 26; usize::from(n) * 1000]);
            packer.put(format!("{n}.json"), &mut content).unwrap();
            assert!(content.is_empty());
        }
        let bytes = packer.finish().unwrap().finish().unwrap().into_inner();
        let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
        assert_eq!(zip.len(), 100);
        for n in 0..100_u8 {
            let mut file = zip.by_index(usize::from(n)).unwrap();
            assert_eq!(file.name().unwrap(), format!("{n}.json"));
            let mut content = Vec::new();
            file.read_to_end(&mut content).unwrap();
            assert_eq!(content, vec![b'a' + n % 26; usize::from(n) * 1000]);
        }
    }

    /// Accepts this many bytes and then fails.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let room = self.0.min(bytes.len());
            self.0 -= room;
            match room {
                0 => Err(io::Error::from(io::ErrorKind::StorageFull)),
                room => Ok(room),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_reported_by_a_later_file_or_at_the_end() {
        let mut packer = Packer::new(Full(1000)).unwrap();
        let mut refused = None;
        for n in 0..1000 {
            let mut content = format!("{n}").into_bytes();
            if let Err(error) = packer.put(format!("{n}.json"), &mut content) {
                refused = Some(error);
                break;
            }
        }
        let error = refused.expect("a thousand files do not fit into a thousand bytes");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        let after = packer.put("more.json".to_owned(), &mut Vec::new());
        assert!(after.is_err());
        assert!(packer.finish().is_err());
    }
}
