//! What this process used, as the kernel counts it. Only Linux tells it in `/proc`.

use std::fs;

use serde::{Deserialize, Serialize};

/// What a process used so far.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Used {
    /// Seconds of CPU, user and system. `None` where the system does not tell.
    pub(super) cpu: Option<f64>,
    /// The most memory it ever held, in bytes.
    pub(super) peak: Option<u64>,
    /// The memory it holds now, in bytes.
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

/// From `/proc/self/stat`: fields 14 and 15, in ticks of 10 ms.
fn cpu() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the name in parentheses and may hold spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let ticks = |text: Option<&str>| text?.parse::<f64>().ok();
    Some((ticks(fields.next())? + ticks(fields.next())?) / 100.0)
}

/// From `/proc/self/status`, in kB.
fn memory(key: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
