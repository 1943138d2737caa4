//! Which keys the database holds, as far as this process knows.
//!
//! Most questions of a run are new, and asking the database for each of them costs as much as all else that the cache does for a
//! call. So the keys are remembered: eight bytes of each, for a database that is not too large.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rusqlite::Connection;

use super::{
    CacheKey,
    part::{Part, PartSet},
    rows,
};

/// Most keys that are remembered, 1 to 2 MB. Of a larger database none are, and every question goes to it.
const MOST: u32 = 100_000;
/// What other processes store is noticed after this time at the latest.
const STALE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Known {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// `None`: too many.
    keys: Option<PartSet>,
    /// The last row that was looked at.
    last: i64,
    /// When that was.
    at: Instant,
}

impl Known {
    /// What `connection` holds now.
    pub(super) fn load(connection: &mut Connection) -> rusqlite::Result<Self> {
        let at = Instant::now();
        // In one transaction, so that the keys are those up to the last row.
        let transaction = connection.transaction()?;
        let last = rows::last_row(&transaction)?;
        let keys = match last <= i64::from(MOST) {
            true => Some(rows::keys(&transaction)?),
            false => None,
        };
        Ok(Self {
            state: Mutex::new(State { keys, last, at }),
        })
    }

    /// Whether somebody may have stored `key`. It counts as stored from now on: who asks will store what comes, and of a call that
    /// fails nothing is left but a look into the database for the next one.
    pub(super) fn meet(&self, key: &CacheKey) -> bool {
        let mut state = self.state();
        let Some(keys) = &mut state.keys else {
            return true;
        };
        let met = !keys.insert(key.part());
        state.bound();
        met
    }

    /// Whether it is time to look for what others stored.
    pub(super) fn is_stale(&self) -> bool {
        let state = self.state();
        state.keys.is_some() && state.at.elapsed() >= STALE
    }

    /// Looks in `connection` for rows of other processes.
    pub(super) fn look(&self, connection: &Connection) -> rusqlite::Result<()> {
        let last = {
            let state = self.state();
            if state.keys.is_none() {
                return Ok(());
            }
            state.last
        };
        let at = Instant::now();
        let (keys, seen) = rows::keys_after(connection, last)?;
        let mut state = self.state();
        state.extend(keys);
        state.at = at;
        state.last = state.last.max(seen);
        Ok(())
    }

    /// Remembers no keys any more: every question goes to the database.
    pub(super) fn give_up(&self) {
        self.state().keys = None;
    }

    /// Takes note that this process stored the rows up to `row`, and that it had looked before.
    pub(super) fn stored(&self, row: i64) {
        let mut state = self.state();
        state.last = state.last.max(row);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn extend(&mut self, more: impl IntoIterator<Item = Part>) {
        if let Some(keys) = &mut self.keys {
            keys.extend(more);
        }
        self.bound();
    }

    /// Forgets all keys when there are too many.
    fn bound(&mut self) {
        self.keys.take_if(|keys| keys.len() > MOST as usize);
    }
}
