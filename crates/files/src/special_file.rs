//! Special files, which are neither files nor folders: reading one may block forever, and a file must not replace one.

use std::{fs::Metadata, path::Path};

/// The kind of special file that `metadata` (of a link's destination) describes, in words; `None` for a file or folder.
///
/// ```
/// let device = std::fs::metadata("/dev/null");
/// let what = device.ok().as_ref().and_then(files::special_file);
/// assert_eq!(what, cfg!(unix).then_some("a device"));
/// ```
#[must_use]
pub fn special_file(metadata: &Metadata) -> Option<&'static str> {
    if metadata.is_file() || metadata.is_dir() {
        return None;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        let kind = metadata.file_type();
        if kind.is_fifo() {
            return Some("a pipe");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
    }
    Some("a device")
}

/// Whether `path` is a stream that the process was started with: standard input, or what a shell puts in place of `<(command)`.
#[must_use]
pub fn is_own_stream(path: &Path) -> bool {
    path == Path::new("/dev/stdin")
        || path.starts_with("/dev/fd")
        || path.starts_with("/proc/self/fd")
}

/// Why the file at `path` must not be read: it is a pipe, a device or a socket. A pipe that the process was started with can be read, once.
/// A missing file is reported by its reader.
pub(crate) fn unreadable_special(path: &Path, metadata: &Metadata) -> Option<String> {
    let what = special_file(metadata)?;
    let is_piped = what == "a pipe" && is_own_stream(path);
    (!is_piped).then(|| format!("not a file, but {what}"))
}
