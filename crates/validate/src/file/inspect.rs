//! Logs of Inspect.

use std::path::Path;

use interop::import::check_inspect_log;

use crate::{FileReport, Finding};

/// Reads the log to its end, and holds its results against its samples.
pub(super) fn check(path: &Path, report: &mut FileReport) {
    report.rows = 1;
    match check_inspect_log(path) {
        Err(error) => report.push(Finding::problem("", error.to_string())),
        Ok(faults) => report.extend(faults.into_iter().map(|fault| match fault.is_note {
            true => Finding::note(fault.key, fault.reason),
            false => Finding::problem(fault.key, fault.reason),
        })),
    }
}
