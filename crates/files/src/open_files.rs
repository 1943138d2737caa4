//! The limit of open files.

use std::{error::Error, io};

use schema::error_causes;

/// Whether `error`, or one of its causes, says that no further file or connection can be opened: the limit of this process or of the
/// whole machine is reached.
#[must_use]
pub fn is_out_of_files(error: &(dyn Error + 'static)) -> bool {
    error_causes(error).any(|cause| cause.downcast_ref().is_some_and(is_limit))
}

/// An explanation of such an error, with the limit and what to do about it.
#[must_use]
pub fn out_of_files() -> String {
    let all = match open_file_limit() {
        Some(limit) => format!("this process may have {limit} files and connections open"),
        None => "this machine has as many files and connections open as it may".to_owned(),
    };
    format!(
        "{all}, and all are in use; raise the limit with `ulimit -n 1024` before the command, or lower the concurrency"
    )
}

#[cfg(unix)]
fn is_limit(error: &io::Error) -> bool {
    let reached = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE];
    reached
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(not(unix))]
fn is_limit(_: &io::Error) -> bool {
    false
}

/// Whether no further file can be opened at the moment.
#[expect(
    clippy::disallowed_methods,
    reason = "nothing is read, and it is no path from outside"
)]
#[must_use]
pub fn are_files_exhausted() -> bool {
    std::fs::File::open("/dev/null").is_err_and(|error| is_out_of_files(&error))
}

/// How many files and connections this process may have open, if there is a limit.
#[cfg(unix)]
#[must_use]
pub fn open_file_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// This system has no such limit.
#[cfg(not(unix))]
#[must_use]
pub fn open_file_limit() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn it_is_known_by_its_number_however_deep() {
        let limit = || io::Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error());
        assert!(is_out_of_files(&limit()));
        assert!(is_out_of_files(&io::Error::other(limit())));
        assert!(!is_out_of_files(&io::Error::other("too many open files")));
        assert!(out_of_files().contains("ulimit -n"));
    }
}
