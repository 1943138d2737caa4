//! The target whose rows are exported.

use crate::{Run, people_of_rows::People, tally::Tally};

/// A target, with what is counted of its rows while they come.
#[derive(Debug)]
pub(crate) struct TargetRows {
    pub run: Run,
    pub tally: Tally,
    pub people: People,
}

impl TargetRows {
    /// A target none of whose rows has come.
    pub(crate) fn of(run: &Run) -> Self {
        Self {
            run: run.clone(),
            tally: Tally::of(run),
            people: People::of(run),
        }
    }
}
