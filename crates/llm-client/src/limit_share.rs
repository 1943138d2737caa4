//! The part of a run's limits that this process has.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

/// Among how many processes the limits of a run are divided: its parts, its workers. Clones are one, and a change holds for every attempt
/// that starts after it.
#[derive(Clone, Debug)]
pub struct LimitShare(Arc<AtomicU32>);

impl LimitShare {
    /// An `of`-th of each limit.
    #[must_use]
    pub fn one(of: u32) -> Self {
        Self(Arc::new(AtomicU32::new(of.max(1))))
    }

    /// From now on an `of`-th of each limit.
    pub fn set(&self, of: u32) {
        self.0.store(of.max(1), Ordering::Relaxed);
    }

    /// Among how many processes the limits are divided now. At least 1.
    #[must_use]
    pub fn of(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Default for LimitShare {
    /// The limits are this process's alone.
    fn default() -> Self {
        Self::one(1)
    }
}
