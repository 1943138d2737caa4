//! Whether this process has reached its limit of open files.

use schema::is_out_of_files;

/// Whether no further file can be opened at the moment.
#[expect(
    clippy::disallowed_methods,
    reason = "nothing is read, and it is no path from outside"
)]
pub(crate) fn are_out() -> bool {
    std::fs::File::open("/dev/null").is_err_and(|error| is_out_of_files(&error))
}
