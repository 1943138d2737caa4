//! Whether this process is at its limit of open files.

use schema::is_out_of_files;

/// Whether no further file can be opened now.
pub(crate) fn are_out() -> bool {
    std::fs::File::open("/dev/null").is_err_and(|error| is_out_of_files(&error))
}
