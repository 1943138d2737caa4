//! Allows one run at a time on one tree.

use std::{
    fs::{self, File, TryLockError},
    thread,
    time::Duration,
};

use crate::{BenchmarkDir, RunError};

/// How often a run tries to take the lock. It waits between tries, because a labeller holds the lock while `statistics.json` is
/// updated, and [`TreeLock::is_held`] for a moment.
const TRIES: u32 = 25;
const PAUSE: Duration = Duration::from_millis(20);

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
        let mut taken = file.try_lock();
        for _ in 1..TRIES {
            if !matches!(taken, Err(TryLockError::WouldBlock)) {
                break;
            }
            thread::sleep(PAUSE);
            taken = file.try_lock();
        }
        match taken {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(RunError::busy(format!(
                "another run is using {}. Wait for it to end, or stop it, and run the command again",
                dir.root().display()
            ))),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Whether a run is working on `dir` at this moment. A run that starts meanwhile is not disturbed.
    #[must_use]
    pub fn is_held(dir: &BenchmarkDir) -> bool {
        let Ok(file) = files::open(dir.lock()) else {
            return false;
        };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;

    #[test]
    fn a_lock_is_held_as_long_as_its_run_and_asking_does_not_take_it() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().join("benchmarks"));
        let dir = layout.benchmark("b").unwrap();
        assert!(!TreeLock::is_held(&dir));
        let lock = TreeLock::take(&dir).unwrap();
        assert!(TreeLock::is_held(&dir));
        assert!(TreeLock::take(&dir).is_err());
        drop(lock);
        assert!(!TreeLock::is_held(&dir));
        // Somebody asks all the time.
        thread::scope(|scope| {
            let asking = scope.spawn(|| (0..2000).filter(|_| TreeLock::is_held(&dir)).count());
            for _ in 0..50 {
                drop(TreeLock::take(&dir).unwrap());
            }
            asking.join().unwrap();
        });
    }
}
