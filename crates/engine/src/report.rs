//! The result of a run.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use schema::{
    Grades, IncompleteReplies, ModelId, Phase, PhaseCost, ReasoningReplies, Summary,
    statistics::Statistics, without_attempts,
};
use serde::Serialize;

use crate::{journals::JournalEnd, progress::Outcome};
use store::{RunError, provenance::ReplacedFile};

/// The result of a whole run.
#[derive(Debug)]
pub struct RunReport {
    /// The run's id: `run-YYYYMMDD-HHMMSS-ffffff`.
    pub run_id: String,
    /// Each benchmark, in the order asked for.
    pub benchmarks: Vec<BenchmarkReport>,
    /// Whether somebody stopped the run.
    pub interrupted: bool,
}

/// How a run ended, as its exit code says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// Every row is there.
    Complete,
    /// The run finished, and some rows failed.
    FailedRows,
    /// Nothing could be run.
    NothingRan,
    /// Somebody stopped it.
    Interrupted,
}

impl RunOutcome {
    /// The name in files: `complete`, `failed_rows`, `nothing_ran`, `interrupted`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::FailedRows => "failed_rows",
            Self::NothingRan => "nothing_ran",
            Self::Interrupted => "interrupted",
        }
    }
}

impl RunReport {
    /// How the run ended.
    #[must_use]
    pub fn outcome(&self) -> RunOutcome {
        if self.interrupted {
            return RunOutcome::Interrupted;
        }
        if self.benchmarks.iter().all(BenchmarkReport::is_complete) {
            return RunOutcome::Complete;
        }
        if self.benchmarks.iter().any(BenchmarkReport::has_results) {
            return RunOutcome::FailedRows;
        }
        RunOutcome::NothingRan
    }
}

/// The result of one benchmark.
#[derive(Debug, Default)]
pub struct BenchmarkReport {
    /// The folder's name.
    pub name: String,
    /// Rows by phase and target; generating phases have no target.
    pub counts: BTreeMap<(Phase, Option<ModelId>), Counts>,
    /// What each phase cost, as `cost.json` has it.
    pub costs: BTreeMap<(Phase, Option<ModelId>), PhaseCost>,
    /// The content of `results.json`, when it was written.
    pub summaries: Vec<Summary>,
    /// What the scores of the tree sum up to, after a run that judged and wrote no `results.json`.
    pub rates: Vec<Summary>,
    /// The statistics of either: the content of `statistics.json`, when it was written.
    pub statistics: Option<Statistics>,
    /// Whether `results.json` is not what the scores of the tree sum up to, after a run that judged and did not sum up.
    pub results_outdated: bool,
    /// The content of `grades.json`, when it was written.
    pub grades: Option<Grades>,
    /// By reference system of the standards that grades compare with, the turns that it was simulated with, where the standards
    /// say so.
    pub reference_turns: BTreeMap<String, u64>,
    /// How many conversations of each target hold empty or cut-off replies: of the targets of this run and, where scores were
    /// summed up, of all that the tree holds. A target whose conversations are not there or cannot be read is left out.
    pub replies: Vec<IncompleteReplies>,
    /// Of the same targets, how many replies came with reasoning, or seem to hold some.
    pub reasoning: Vec<ReasoningReplies>,
    /// Files of targets whose rows of an earlier run stay in the tree as they were.
    pub kept: Vec<KeptRows>,
    /// What is wrong with scores of earlier runs that were summed up, a sentence for each kind of rows and file.
    pub odd_scores: Vec<String>,
    /// What is wrong with labels of people, or with how the labelled rows were drawn.
    pub label_warnings: Vec<String>,
    /// Metrics that have no scenarios and got none, because `scenarios.json` is the user's own.
    pub without_scenarios: Vec<String>,
    /// Files that this run replaced and could not make again, of which it kept copies.
    pub replaced: Vec<ReplacedFile>,
    /// What failed and why, most frequent first.
    pub failures: Vec<FailureGroup>,
    /// Files written or kept, in the order of the phases.
    pub files: Vec<PathBuf>,
    /// The journal, where one was written.
    pub journal: Option<JournalEnd>,
    /// Why the benchmark could not be run to its end, where it could not.
    pub error: Option<RunError>,
}

impl BenchmarkReport {
    /// Whether every row asked for is there.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let whole = |counts: &Counts| counts.failed == 0 && counts.skipped == 0;
        self.error.is_none()
            && self.failures.is_empty()
            && self.counts.values().all(whole)
            && !self.counts.values().any(Counts::all_abstained)
    }

    /// Whether it has a result: a row of this run or, where only summaries were made, a summary.
    #[must_use]
    pub fn has_results(&self) -> bool {
        let only_summed = self.counts.is_empty() && !self.summaries.is_empty();
        only_summed || self.counts.values().any(|counts| counts.done > 0)
    }
}

/// A file of a target that this run leaves as an earlier run wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRows {
    /// The phase that writes the file.
    pub phase: Phase,
    /// The target.
    pub target: ModelId,
    /// Why it stays.
    pub reason: KeptReason,
}

/// Why a file of an earlier run stays. Rows are counted as conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptReason {
    /// All rows of this run failed.
    AllFailed,
    /// This run was stopped, or its budget was spent, when it did not yet have all rows of the file, or had more rows only of some scenarios.
    Unfinished {
        /// The rows that it finished.
        finished: u64,
        /// The rows that it was to have, as far as its scenarios were known.
        planned: u64,
        /// The rows of the file.
        earlier: u64,
        /// Whether this run has all rows of the file, and of some scenarios more than of others.
        is_uneven: bool,
    },
}

/// Rows of one phase by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// As they should.
    pub done: u64,
    /// With an error.
    pub failed: u64,
    /// Without a usable verdict.
    pub abstained: u64,
    /// Not at all, because the run was stopped or its budget was spent.
    pub skipped: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Done => self.done += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::Abstained => self.abstained += 1,
            Outcome::Skipped => self.skipped += 1,
        }
    }

    /// All rows.
    pub(crate) fn all(&self) -> u64 {
        self.done + self.failed + self.abstained + self.skipped
    }

    /// Whether there were rows and none of them has a verdict: nothing was measured.
    #[must_use]
    pub fn all_abstained(&self) -> bool {
        self.abstained > 0 && self.done == 0
    }
}

/// Rows that failed, or were left out, for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureGroup {
    /// The phase.
    pub phase: Phase,
    /// The system under test, where there is one.
    pub target: Option<ModelId>,
    /// Why.
    pub reason: String,
    /// How many rows.
    pub rows: u64,
    /// The first few of them.
    pub examples: Vec<String>,
    /// Whether they were left out because the budget of the run was spent: the counts have them as skipped, not as failed.
    #[serde(skip)]
    pub skipped: bool,
}

/// Collects failures by reason. Memory is bounded: there are at most [`MAX_GROUPS`] reasons, and all others count in one.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    groups: Mutex<BTreeMap<Cause, (u64, Vec<String>)>>,
}

/// The phase, the system under test, the reason, and whether the rows were skipped.
type Cause = (Phase, Option<ModelId>, String, bool);

/// The one reason of all rows that the budget left out. What each call would have cost is in the journal.
const OVER_BUDGET: &str = "not asked, because the budget of the run would be passed";

/// Reasons told apart in a report.
const MAX_GROUPS: usize = 200;

/// Reasons reported when they first occur. The rest is in the report.
const MAX_AT_ONCE: usize = 3;

/// Rows named for one reason.
const MAX_EXAMPLES: usize = 3;

impl Failures {
    /// Counts a row that failed. Returns the reason where it is to be reported at once: the first time, of the first few reasons.
    pub(crate) fn add<'r>(
        &self,
        phase: Phase,
        target: Option<&ModelId>,
        row: &str,
        reason: &'r str,
    ) -> Option<&'r str> {
        let reason = without_attempts(reason);
        let is_new = self.count((phase, target.cloned(), reason.to_owned(), false), row);
        is_new.then_some(reason)
    }

    /// A row that the budget left out.
    pub(crate) fn over_budget(&self, phase: Phase, target: Option<&ModelId>, row: &str) {
        let key = (phase, target.cloned(), OVER_BUDGET.to_owned(), true);
        self.count(key, row);
    }

    /// Returns whether the reason, of whichever target, is one of the first few and was not there.
    fn count(&self, mut key: Cause, row: &str) -> bool {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        if groups.len() >= MAX_GROUPS && !groups.contains_key(&key) {
            "other reasons; see the rows themselves".clone_into(&mut key.2);
        }
        let is_known = groups.keys().any(|(_, _, reason, _)| *reason == key.2);
        let is_new = groups.len() < MAX_AT_ONCE && !is_known;
        let (rows, examples) = groups.entry(key).or_default();
        *rows += 1;
        if examples.len() < MAX_EXAMPLES && !row.is_empty() {
            examples.push(row.to_owned());
        }
        is_new
    }

    pub(crate) fn into_groups(self) -> Vec<FailureGroup> {
        let groups = self
            .groups
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut groups: Vec<FailureGroup> = groups
            .into_iter()
            .map(|((phase, target, reason, skipped), (rows, mut examples))| {
                examples.sort();
                FailureGroup {
                    phase,
                    target,
                    reason,
                    rows,
                    examples,
                    skipped,
                }
            })
            .collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.rows));
        groups
    }
}
