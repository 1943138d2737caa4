//! How many files and connections this process may have open.

use crate::exit::Failure;

/// More than this are not asked for: so many connections need more memory than files.
const ENOUGH: u64 = 65_536;
/// What macOS gives where its limit is said to be infinite.
const ENOUGH_ON_MACOS: u64 = 10_240;
/// What a run opens besides connections and what each target needs: journal, lock, spools and results.
const FILES: u64 = 10;
/// Spools of a target.
const FILES_PER_TARGET: u64 = 2;

/// Raises the limit as far as this process may. Shells often start with 1,024 or fewer, which are gone with as many calls in flight.
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
        // What is not allowed changes nothing: the run then makes do with what there is.
        if setrlimit(Resource::Nofile, raised).is_ok() {
            return;
        }
    }
}

/// There is no such limit.
#[cfg(not(unix))]
pub fn raise() {}

/// How many connections there may be beside the files of a run over `targets`, each of which takes `each` of the open files.
///
/// # Errors
/// When there is no room for a single one. The error says how many files are needed.
pub fn for_connections(targets: usize, each: u64) -> Result<usize, Failure> {
    let Some(limit) = limit() else {
        return Ok(usize::MAX);
    };
    let files = open_now() + FILES + FILES_PER_TARGET.saturating_mul(targets as u64);
    match limit.saturating_sub(files) / each {
        0 => Err(Failure::nothing_ran(format!(
            "this process may open {limit} files and connections, and this run needs {} or more; raise the limit with `ulimit -n 1024` \
             before the command",
            files + each
        ))),
        connections => Ok(usize::try_from(connections).unwrap_or(usize::MAX)),
    }
}

/// The limit, where there is one.
#[cfg(unix)]
pub fn limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// There is none.
#[cfg(not(unix))]
pub fn limit() -> Option<u64> {
    None
}

/// How many are open now; a guess where the system does not tell.
fn open_now() -> u64 {
    std::fs::read_dir("/dev/fd").map_or(20, |entries| entries.count() as u64)
}
