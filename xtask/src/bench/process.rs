//! The resources that this process used, as counted by the kernel. Memory is available on Linux only, from `/proc`.

use serde::{Deserialize, Serialize};

/// The resources that a process used so far.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Used {
    /// Seconds of CPU, user and system. `None` if the system does not report it.
    pub(super) cpu: Option<f64>,
    /// The peak memory, in bytes.
    pub(super) peak: Option<u64>,
    /// The current memory, in bytes.
    pub(super) memory: Option<u64>,
}

impl Used {
    pub(super) fn now() -> Self {
        Self {
            cpu: cpu(),
            peak: memory("VmHWM:"),
            memory: memory("VmRSS:"),
        }
    }
}

/// CPU time of all threads, to the nanosecond: the ticks of 10 ms in `/proc/self/stat` are a hundredth of a short run.
#[cfg(unix)]
fn cpu() -> Option<f64> {
    use rustix::time::{ClockId, clock_gettime};
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Some(used.tv_sec as f64 + used.tv_nsec as f64 / 1e9)
}

#[cfg(not(unix))]
fn cpu() -> Option<f64> {
    None
}

/// From `/proc/self/status`, in kB.
fn memory(key: &str) -> Option<u64> {
    let status = files::read_text("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
