//! What a benchmark's run has done so far.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use schema::{Fingerprint, ModelId, Phase, PhaseCost};
use serde_json::{Value, json};
use store::{ReplyTally, RunError};

use crate::{progress::Outcome, report::BenchmarkReport, report::Counts, tally::Tallies};

/// The results of one part of a run: the generating phases, or one target. Parts that run side by side fill their own results, which
/// are joined in a fixed order.
#[derive(Default)]
pub(super) struct Results {
    pub(super) report: BenchmarkReport,
    pub(super) fingerprints: BTreeMap<String, Value>,
    pub(super) tallies: Tallies,
    /// Conversations by what is missing in their replies.
    pub(super) replies: BTreeMap<ModelId, ReplyTally>,
    pub(super) written_costs: WrittenCosts,
}

/// The cost entries that this run wrote, each with the earlier cost that it was added to, where there was one.
type WrittenCosts = BTreeMap<(Phase, Option<ModelId>), Option<PhaseCost>>;

impl Results {
    /// The results of a part, with the error that ended it early, if any.
    pub(super) fn ended(mut self, ended: Result<(), RunError>) -> Self {
        self.report.error = ended.err();
        self
    }

    /// Adds the results of a part. If there are several errors, the first one stays.
    pub(super) fn join(&mut self, part: Self) {
        let (report, added) = (&mut self.report, part.report);
        report.counts.extend(added.counts);
        report.costs.extend(added.costs);
        report.kept.extend(added.kept);
        report.without_scenarios.extend(added.without_scenarios);
        report.replaced.extend(added.replaced);
        report.files.extend(added.files);
        report.error = report.error.take().or(added.error);
        self.fingerprints.extend(part.fingerprints);
        self.tallies.extend(part.tallies);
        self.replies.extend(part.replies);
        self.written_costs.extend(part.written_costs);
    }

    /// Counts the end of a row of a generating phase.
    pub(super) fn row(&mut self, phase: Phase, outcome: Outcome) {
        let counts = self.report.counts.entry((phase, None)).or_default();
        counts.add(outcome);
    }

    /// Adds the rows and the cost of one phase of a target.
    pub(super) fn count(
        &mut self,
        phase: Phase,
        target: &ModelId,
        counts: Counts,
        cost: PhaseCost,
    ) {
        let key = (phase, Some(target.clone()));
        self.report.counts.insert(key.clone(), counts);
        self.report.costs.insert(key, cost);
    }

    /// Adds the conversations of a target by what is missing in their replies. A run without conversations adds nothing.
    pub(super) fn replied(&mut self, target: &ModelId, tally: ReplyTally) {
        if !tally.is_empty() {
            self.replies.insert(target.clone(), tally);
        }
    }

    /// Records that an entry of a cost file was written, and the earlier cost that it was added to, where there was one.
    pub(super) fn cost_written(
        &mut self,
        phase: Phase,
        target: Option<&ModelId>,
        earlier: Option<PhaseCost>,
    ) {
        let key = (phase, target.cloned());
        self.written_costs.insert(key, earlier);
    }

    /// `Some` where this run wrote the entry; it holds the earlier cost that was added to, where there was one.
    pub(super) fn written_cost(
        &self,
        phase: &str,
        target: Option<&ModelId>,
    ) -> Option<Option<PhaseCost>> {
        let mut written = self.written_costs.iter();
        let (_, earlier) = written.find(|((of_phase, of_target), _)| {
            of_phase.as_str() == phase && of_target.as_ref() == target
        })?;
        Some(*earlier)
    }

    /// Whether this run wrote the scores of a target.
    pub(super) fn has_judged(&self, target: &ModelId) -> bool {
        let key = (Phase::Evaluate, Some(target.clone()));
        self.written_costs.contains_key(&key)
    }

    /// Lists a file that the user may want to look at, if it exists.
    pub(super) fn wrote(&mut self, path: impl AsRef<Path> + Into<PathBuf>) {
        if path.as_ref().exists() {
            self.report.files.push(path.into());
        }
    }

    pub(super) fn fingerprint(&mut self, phase: &str, fingerprint: &Fingerprint) {
        let shown = json!(fingerprint);
        self.fingerprints.insert(phase.to_owned(), shown);
    }
}
