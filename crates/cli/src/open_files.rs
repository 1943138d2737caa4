//! The limit of files and connections that this process may have open.

use crate::exit::Failure;

/// The highest limit that is requested: more connections need more memory than is reasonable.
const ENOUGH: u64 = 65_536;
/// The actual limit on macOS when it is reported as infinite.
const ENOUGH_ON_MACOS: u64 = 10_240;
/// The files of a run besides connections and the files of each target: journal, lock, spools and results.
const FILES: u64 = 10;
/// The spools of a target.
const FILES_PER_TARGET: u64 = 2;

/// Raises the limit as far as this process may. Shells often start with 1,024 or fewer, which as many calls in flight use up.
#[cfg(unix)]
pub fn raise() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    for wanted in [ENOUGH, ENOUGH_ON_MACOS] {
        let wanted = limit.maximum.map_or(wanted, |most| most.min(wanted));
        if limit.current.is_none_or(|now| now >= wanted) {
            return;
        }
        let raised = Rlimit {
            current: Some(wanted),
            maximum: limit.maximum,
        };
        // If raising the limit is not allowed, the run uses the existing one.
        if setrlimit(Resource::Nofile, raised).is_ok() {
            return;
        }
    }
}

/// This system has no such limit.
#[cfg(not(unix))]
pub fn raise() {}

/// How many connections are possible besides the files of a run over `targets` targets, each of which uses `each` open files.
///
/// # Errors
/// When there is no room for a single connection. The error states how many files are needed.
pub fn for_connections(targets: usize, each: u64) -> Result<usize, Failure> {
    let Some(limit) = files::open_file_limit() else {
        return Ok(usize::MAX);
    };
    let needed = open_now() + FILES + FILES_PER_TARGET.saturating_mul(targets as u64);
    match limit.saturating_sub(needed) / each {
        0 => Err(Failure::nothing_ran(format!(
            "this process may open {limit} files and connections, and this run needs {} or more; raise the limit with `ulimit -n 1024` \
             before the command",
            needed + each
        ))),
        connections => Ok(usize::try_from(connections).unwrap_or(usize::MAX)),
    }
}

/// The number of open files; an estimate if the system does not report it.
fn open_now() -> u64 {
    std::fs::read_dir("/dev/fd").map_or(20, |entries| entries.count() as u64)
}
