//! The output of a journal's bytes.

use std::{
    fs::File,
    io::{self, Write},
    sync::{
        Arc,
        mpsc::{SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use crate::{Form, appender::Progress, pack::Packer};

/// The largest write. For larger ones the operating system looks for a contiguous free area, which it rarely has: the copy
/// then takes several times as long. Writes end at multiples of this size in the file, because only there the area of a piece
/// is contiguous.
const PIECE: u64 = 64 * 1024;

/// The destination of a journal's bytes.
pub(crate) enum Output {
    /// Lines as they are.
    Plain(Sink),
    /// Lines in zstd frames.
    Packed(Box<Packer<Sink>>),
}

impl Output {
    pub(crate) fn new(sink: Sink, form: Form) -> io::Result<Self> {
        Ok(match form {
            Form::Plain => Self::Plain(sink),
            Form::Compressed => Self::Packed(Box::new(Packer::new(sink)?)),
        })
    }

    /// Writes `lines`. Returns how many of their bytes are certainly in the output: none when the output is compressed.
    pub(crate) fn write(&mut self, lines: &[u8]) -> (usize, io::Result<()>) {
        match self {
            Self::Plain(sink) => sink.put(lines),
            Self::Packed(packer) => (0, packer.pack(lines)),
        }
    }

    /// Passes everything that was taken to the operating system. `end_frame` ends the zstd frame.
    pub(crate) fn settle(&mut self, end_frame: bool) -> io::Result<()> {
        match self {
            Self::Plain(sink) => sink.flush(),
            Self::Packed(packer) => packer.settle(end_frame),
        }
    }

    /// Waits until everything that was settled is on the disk, if the output is a file.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        match &mut self.sink().end {
            End::File(file) => file.sync_data(),
            End::Other(other) => other.flush(),
        }
    }

    /// Bytes in the output.
    pub(crate) fn bytes(&mut self) -> u64 {
        self.sink().bytes
    }

    fn sink(&mut self) -> &mut Sink {
        match self {
            Self::Plain(sink) => sink,
            Self::Packed(packer) => packer.output(),
        }
    }
}

/// An output that counts its bytes.
pub(crate) struct Sink {
    end: End,
    bytes: u64,
}

enum End {
    /// A file that can be synced.
    File(File),
    /// Anything else.
    Other(Box<dyn Write + Send>),
}

impl Sink {
    pub(crate) fn file(file: File) -> Self {
        Self {
            end: End::File(file),
            bytes: 0,
        }
    }

    pub(crate) fn other(other: Box<dyn Write + Send>) -> Self {
        Self {
            end: End::Other(other),
            bytes: 0,
        }
    }

    /// A second handle of the file, if the output is a file.
    pub(crate) fn file_again(&self) -> io::Result<Option<File>> {
        match &self.end {
            End::File(file) => file.try_clone().map(Some),
            End::Other(_) => Ok(None),
        }
    }

    /// Writes `bytes`. Returns how many of them were written.
    fn put(&mut self, bytes: &[u8]) -> (usize, io::Result<()>) {
        let mut done = 0;
        while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
            let piece = usize::try_from(PIECE - self.bytes % PIECE).unwrap_or(usize::MAX);
            match self.write(rest.get(..piece).unwrap_or(rest)) {
                Ok(0) => return (done, Err(io::Error::from(io::ErrorKind::WriteZero))),
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (done, Err(error)),
            }
        }
        (done, Ok(()))
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.end {
            End::File(file) => file.write(bytes),
            End::Other(other) => other.write(bytes),
        }?;
        self.bytes += u64::try_from(written).unwrap_or(u64::MAX);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.end {
            End::File(file) => file.flush(),
            End::Other(other) => other.flush(),
        }
    }
}

/// A thread that syncs a file to the disk, so that no other thread waits for the disk.
pub(crate) struct Syncer {
    requests: SyncSender<()>,
    thread: JoinHandle<()>,
}

impl Syncer {
    /// Starts the thread. Its failures are reported to `progress`.
    pub(crate) fn start(file: File, name: String, progress: Arc<Progress>) -> io::Result<Self> {
        let (requests, received) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("journal-sync".to_owned())
            .spawn(move || {
                for () in received {
                    progress.synced(&name, file.sync_data());
                }
            })?;
        Ok(Self { requests, thread })
    }

    /// Requests a sync. Returns `false` if an earlier request is pending.
    pub(crate) fn request(&self) -> bool {
        self.requests.try_send(()).is_ok()
    }

    /// Ends the thread after all requests.
    pub(crate) fn end(self) {
        drop(self.requests);
        // The thread does nothing that could panic.
        let _ = self.thread.join();
    }
}
