//! What a run reports while it is running.

use std::path::Path;

pub use schema::Phase;

use schema::{ModelId, Notice};

/// Receives the progress of a run: a progress bar, a log, a test. An extension point.
///
/// It is called from many tasks at once and must return quickly.
pub trait Observer: Send + Sync {
    /// Called for each report.
    fn on(&self, progress: &Progress<'_>);
}

/// A no-op observer.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn on(&self, _progress: &Progress<'_>) {}
}

/// How a row ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Normally.
    Done,
    /// With an error in place of a result.
    Failed,
    /// Without a usable verdict.
    Abstained,
    /// Not run, because the run is stopping or its budget is spent.
    Skipped,
}

/// A report about a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// A phase of a benchmark begins, for one target where the phase has targets.
    Started {
        /// The phase.
        phase: Phase,
        /// The benchmark's folder name.
        benchmark: &'a str,
        /// The system under test.
        target: Option<&'a ModelId>,
        /// How many rows it will have, if known already.
        rows: Option<u64>,
    },
    /// A phase now knows how many rows it will have.
    Rows {
        /// The phase.
        phase: Phase,
        /// The benchmark's folder name.
        benchmark: &'a str,
        /// The system under test.
        target: Option<&'a ModelId>,
        /// How many rows.
        rows: u64,
    },
    /// Work on a row began: a conversation is simulated, or a judge is called about one.
    RowStarted {
        /// The phase.
        phase: Phase,
        /// The benchmark's folder name.
        benchmark: &'a str,
        /// The system under test.
        target: Option<&'a ModelId>,
    },
    /// A row ended.
    Row {
        /// The phase.
        phase: Phase,
        /// The benchmark's folder name.
        benchmark: &'a str,
        /// The system under test.
        target: Option<&'a ModelId>,
        /// How.
        outcome: Outcome,
    },
    /// A phase ended.
    Finished {
        /// The phase.
        phase: Phase,
        /// The benchmark's folder name.
        benchmark: &'a str,
        /// The system under test.
        target: Option<&'a ModelId>,
    },
    /// Rows begin to fail for this reason. The same reason is not reported again, and no more than a few are.
    FirstFailure {
        /// The phase.
        phase: Phase,
        /// The benchmark's folder name.
        benchmark: &'a str,
        /// The system under test.
        target: Option<&'a ModelId>,
        /// Why, without the row.
        reason: &'a str,
    },
    /// The finished journal is read, to check it. That takes seconds where it is large.
    ReadingJournal {
        /// The file.
        path: &'a Path,
        /// Its length.
        bytes: u64,
    },
    /// A note for people: what was kept and why, for example.
    Note {
        /// The benchmark's folder name.
        benchmark: &'a str,
        /// One or more plain sentences.
        text: &'a Notice,
    },
}

impl Progress<'_> {
    /// The beginning and end of phases and of rows, as diagnostics.
    pub(crate) fn trace(&self) {
        match self {
            Self::Started {
                phase,
                benchmark,
                target,
                ..
            } => tracing::info!(
                benchmark,
                phase = phase.as_str(),
                target = target.map(tracing::field::display),
                "phase begins"
            ),
            Self::Finished {
                phase,
                benchmark,
                target,
            } => tracing::info!(
                benchmark,
                phase = phase.as_str(),
                target = target.map(tracing::field::display),
                "phase ended"
            ),
            Self::Row {
                phase,
                benchmark,
                target,
                outcome,
            } => tracing::debug!(
                benchmark,
                phase = phase.as_str(),
                target = target.map(tracing::field::display),
                ?outcome,
                "row ended"
            ),
            _ => {}
        }
    }
}
