//! Whether a journal is the file that was read, and whether more comes.

use std::{fs, io, path::Path, time::Duration};

/// The identity of a file, and its length when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileState {
    pub(super) identity: (u64, u64),
    pub(super) length: u64,
}

impl FileState {
    #[cfg(unix)]
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let file = fs::metadata(path)?;
        Ok(Self {
            identity: (file.dev(), file.ino()),
            length: file.len(),
        })
    }

    #[cfg(not(unix))]
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let file = fs::metadata(path)?;
        let created = file.created()?;
        let since = created
            .duration_since(std::time::SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        Ok(Self {
            identity: (since.as_secs(), since.subsec_nanos().into()),
            length: file.len(),
        })
    }
}
/// How long nothing is written to a journal whose run was killed, at least. A run may wait as long for a slow model: its index is then made
/// again.
const LEFT: Duration = Duration::from_secs(60);

/// Whether no run seems to write to the journal at `path` any more.
pub(super) fn is_left(path: &Path) -> bool {
    let modified = fs::metadata(path).and_then(|file| file.modified()).ok();
    let since = modified.and_then(|time| time.elapsed().ok());
    since.is_some_and(|since| since >= LEFT)
}
