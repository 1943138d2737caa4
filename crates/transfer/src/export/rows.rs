//! Reads the rows of a target as samples, in a separate thread from the exporter.

use std::{ops::ControlFlow, path::PathBuf, sync::mpsc, thread};

use interop::{Asked, Sample};
use schema::{Conversation, ModelId, Scenario, TargetRef};

use super::{Bench, journal_index::JournalIndex, scores::Scores};
use store::{RunError, read_conversations};

/// The channel for samples.
type Ahead = mpsc::SyncSender<Result<Sample, RunError>>;

/// Samples that are read ahead of the exporter. The number is small because a sample can be large.
const AHEAD: usize = 8;

/// The rows of a target, and the data joined with them.
pub(super) struct Rows<'a> {
    pub(super) bench: &'a Bench,
    /// The file of conversations.
    pub(super) path: PathBuf,
    pub(super) id: &'a ModelId,
    /// For rows that only name their scenario.
    pub(super) scenarios: &'a [Scenario],
    pub(super) index: &'a mut JournalIndex,
    pub(super) scores: &'a mut Scores,
}

impl Rows<'_> {
    /// Passes each row to `take`, in order. Returns the error that ended the reading before the end of the file, if any.
    ///
    /// # Errors
    /// The error of `take`, or one of the temporary folder.
    pub(super) fn each(
        self,
        mut take: impl FnMut(Sample) -> Result<(), RunError>,
    ) -> Result<Option<RunError>, RunError> {
        let (ahead, samples) = mpsc::sync_channel(AHEAD);
        thread::scope(|scope| {
            let reader = scope.spawn(move || self.read(&ahead));
            // The receiver is dropped with the loop, so a reader whose samples are no longer taken ends.
            let taken = samples.into_iter().try_for_each(|sample| take(sample?));
            match reader.join() {
                Ok(read) => taken.map(|()| read.err()),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    fn read(mut self, ahead: &Ahead) -> Result<(), RunError> {
        let path = std::mem::take(&mut self.path);
        let target = TargetRef {
            id: self.id.clone(),
            model: String::new(),
        };
        let (benchmark, scenarios) = (&self.bench.benchmark, self.scenarios);
        read_conversations(&path, &target, benchmark, scenarios, |row| {
            self.send(row, ahead)
        })
    }

    fn send(&mut self, row: Conversation, ahead: &Ahead) -> ControlFlow<()> {
        let sample = self.sample(row);
        let failed = sample.is_err();
        if ahead.send(sample).is_err() || failed {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// A row with its scores and the data of the journals.
    fn sample(&mut self, row: Conversation) -> Result<Sample, RunError> {
        let scores = self.scores.of(&row)?;
        let mut sample = Sample::new(row, scores);
        self.index.join(&mut sample)?;
        // No journal reports the request to the target. A judge's call alone does not contain it.
        let simulated = sample.calls.iter().any(|call| call.by != Asked::Judge);
        if sample.system_prompt.is_none() && !simulated {
            let own = sample.conversation.scenario.target_system_prompt.as_deref();
            let shared = self.bench.benchmark.scenario.user_context.as_deref();
            let given = [own, shared]
                .into_iter()
                .flatten()
                .find(|text| !text.trim().is_empty());
            sample.system_prompt = given.map(Into::into);
        }
        Ok(sample)
    }
}
