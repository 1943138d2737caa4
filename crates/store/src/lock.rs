//! One run at a time on one tree.

use std::fs::{self, File, TryLockError};

use crate::{BenchmarkDir, RunError};

/// Held while a run works on a benchmark. The system frees it when the process ends, however it ends.
#[derive(Debug)]
pub struct TreeLock {
    _file: File,
}

impl TreeLock {
    /// Takes the lock of `dir`.
    pub fn take(dir: &BenchmarkDir) -> Result<Self, RunError> {
        let path = dir.lock();
        let failed = |error| RunError::write(path, error);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(RunError::busy(format!(
                "another run is using {}. Wait for it to end, or stop it, and run the command again",
                dir.root().display()
            ))),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}
