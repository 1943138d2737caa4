//! The result of a run.

use std::{
    collections::BTreeMap,
    fmt,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use schema::{
    Finding, Grades, IncompleteReplies, ModelId, Notice, Phase, PhaseCost, ReasoningReplies,
    Summary, TargetBasis, statistics::Statistics, without_attempts,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{journals::JournalEnd, progress::Outcome};
use store::{RunError, provenance::ReplacedFile};

/// The result of a whole run.
#[derive(Debug)]
pub struct RunReport {
    /// The run's id: `run-YYYYMMDD-HHMMSS-ffffff`.
    pub run_id: String,
    /// Each benchmark, in the requested order.
    pub benchmarks: Vec<BenchmarkReport>,
    /// Whether the run was stopped.
    pub interrupted: bool,
    /// Why the run ended its calls before its end: the judge gave no usable verdict.
    pub judge_gave_up: Option<JudgeGivenUp>,
}

/// A judge that gave no usable verdict in the first rows of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JudgeGivenUp {
    /// The rows that were judged, all without a usable verdict.
    pub rows: u64,
    /// Why the last of them has none.
    pub reason: String,
    /// The beginning of the judge's last reply, if it is known.
    pub last_reply: Option<String>,
}

impl fmt::Display for JudgeGivenUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the first {} judged rows have no usable verdict, so the run made no further calls",
            self.rows
        )?;
        if let Some(reply) = &self.last_reply {
            write!(f, "; the judge's last reply: {reply:?}")?;
        }
        write!(f, " ({})", self.reason)
    }
}

/// How a run ended. It determines the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// Every row exists.
    Complete,
    /// The run finished, and some rows failed.
    FailedRows,
    /// No row has a result.
    NothingRan,
    /// The run was stopped.
    Interrupted,
}

/// What decides how a run ended, whatever it ran.
pub(crate) struct RunEnd<'a> {
    /// Whether the judge gave no usable verdict, so that the run ended its calls.
    pub(crate) gave_up: bool,
    /// Whether the run was stopped.
    pub(crate) interrupted: bool,
    /// Whether every row exists.
    pub(crate) is_complete: bool,
    /// Whether any row has a result.
    pub(crate) has_results: bool,
    /// The journals of the run.
    pub(crate) journals: Vec<&'a JournalEnd>,
}

impl RunEnd<'_> {
    /// How the run ended. A run whose journal fails its own check is not complete.
    pub(crate) fn outcome(&self) -> RunOutcome {
        if self.gave_up {
            RunOutcome::NothingRan
        } else if self.interrupted {
            RunOutcome::Interrupted
        } else if self.is_complete {
            match self.journals.iter().any(|journal| journal.fails()) {
                true => RunOutcome::FailedRows,
                false => RunOutcome::Complete,
            }
        } else if self.has_results {
            RunOutcome::FailedRows
        } else {
            RunOutcome::NothingRan
        }
    }
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
    /// How the run ended. A run whose journal fails its own check is not complete.
    #[must_use]
    pub fn outcome(&self) -> RunOutcome {
        let benchmarks = self.benchmarks.iter();
        let end = RunEnd {
            gave_up: self.judge_gave_up.is_some(),
            interrupted: self.interrupted,
            is_complete: self.benchmarks.iter().all(BenchmarkReport::is_complete),
            has_results: self.benchmarks.iter().any(BenchmarkReport::has_results),
            journals: benchmarks.filter_map(|one| one.journal.as_ref()).collect(),
        };
        end.outcome()
    }
}

/// The result of one benchmark.
#[derive(Debug, Default)]
pub struct BenchmarkReport {
    /// The folder's name.
    pub name: String,
    /// Rows by phase and target; generating phases have no target.
    pub counts: BTreeMap<(Phase, Option<ModelId>), Counts>,
    /// The cost of each phase, as in `cost.json`.
    pub costs: BTreeMap<(Phase, Option<ModelId>), PhaseCost>,
    /// The content of `results.json`, if it was written.
    pub summaries: Vec<Summary>,
    /// The summaries of the tree's scores, after a run that judged but wrote no `results.json`.
    pub rates: Vec<Summary>,
    /// The statistics of either: the content of `statistics.json`, if it was written.
    pub statistics: Option<Statistics>,
    /// Whether `results.json` differs from the summaries of the tree's scores, after a run that judged but did not summarise.
    pub results_outdated: bool,
    /// The content of `grades.json`, if it was written.
    pub grades: Option<Grades>,
    /// How many conversations of each target hold empty or cut-off replies. Covers the targets of this run and, if scores were summarised,
    /// all targets in the tree. A target whose conversations are missing or unreadable is left out.
    pub replies: Vec<IncompleteReplies>,
    /// How many replies of the same targets came with reasoning, or seem to contain it.
    pub reasoning: Vec<ReasoningReplies>,
    /// What the results of the same targets rest on: the age of the replies, and models that are assumed to be free.
    pub basis: Vec<TargetBasis>,
    /// What limits the conclusions from the results, after a run that summarised or judged; the worst first.
    pub findings: Vec<Finding>,
    /// Files of targets that still hold the rows of an earlier run.
    pub kept: Vec<KeptRows>,
    /// Problems of earlier runs' scores that were summarised: one sentence for each kind of row and file.
    pub odd_scores: Vec<Notice>,
    /// Metrics that have no scenarios and got none, because `scenarios.json` is the user's own.
    pub without_scenarios: Vec<String>,
    /// Files that this run replaced and cannot produce again. It kept copies.
    pub replaced: Vec<ReplacedFile>,
    /// Failures and their reasons, most frequent first.
    pub failures: Vec<FailureGroup>,
    /// Files written or kept, in the order of the phases.
    pub files: Vec<PathBuf>,
    /// The journal, if one was written.
    pub journal: Option<JournalEnd>,
    /// Why the benchmark did not run to its end, if it did not.
    pub error: Option<RunError>,
}

impl BenchmarkReport {
    /// Whether every requested row exists.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let whole = |counts: &Counts| counts.failed == 0 && counts.skipped == 0;
        self.error.is_none()
            && self.failures.is_empty()
            && self.counts.values().all(whole)
            && !self.counts.values().any(Counts::all_abstained)
    }

    /// Whether there is a result: a row of this run or, if only summaries were written, a summary.
    #[must_use]
    pub fn has_results(&self) -> bool {
        let only_summed = self.counts.is_empty() && !self.summaries.is_empty();
        only_summed || self.counts.values().any(|counts| counts.done > 0)
    }
}

/// A file of a target that this run did not replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRows {
    /// The phase that writes the file.
    pub phase: Phase,
    /// The target.
    pub target: ModelId,
    /// Why it was not replaced.
    pub reason: KeptReason,
}

/// Why a file of an earlier run was not replaced. Rows are counted as conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptReason {
    /// All rows of this run failed.
    AllFailed,
    /// This run was stopped, or its budget was spent, before it had all rows of the file, or while it had more rows of some scenarios only.
    Unfinished {
        /// The rows that this run finished.
        finished: u64,
        /// The rows that this run planned, as far as its scenarios were known.
        planned: u64,
        /// The rows of the file.
        earlier: u64,
        /// Whether this run has all rows of the file, but more rows of some scenarios than of others.
        is_uneven: bool,
    },
}

/// Rows of one phase, by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RowCounts")]
pub struct Counts {
    /// Normally.
    pub done: u64,
    /// With an error.
    pub failed: u64,
    /// Without a usable verdict.
    pub abstained: u64,
    /// Not run, because the run was stopped or its budget was spent.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailureGroup {
    /// The phase.
    pub phase: Phase,
    /// The system under test, if the phase has one.
    pub target: Option<ModelId>,
    /// The reason.
    pub reason: String,
    /// The number of rows.
    pub rows: u64,
    /// The first few of the rows.
    pub examples: Vec<String>,
    /// Whether the rows were left out because the budget of the run was spent. The counts have them as skipped, not as failed.
    #[serde(skip)]
    pub skipped: bool,
}

/// Collects failures by reason. Memory is bounded: there are at most [`MAX_GROUPS`] reasons, and all others count as one.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    groups: Mutex<BTreeMap<Cause, (u64, Vec<String>)>>,
}

/// The phase, the system under test, the reason, and whether the rows were skipped.
type Cause = (Phase, Option<ModelId>, String, bool);

/// The one reason for all rows that the budget left out. The journal has what each call would have cost.
const OVER_BUDGET: &str = "not asked, because the budget of the run would be passed";

/// The most reasons that a report distinguishes.
const MAX_GROUPS: usize = 200;

/// The most reasons reported when they first occur. The report has the others.
const MAX_AT_ONCE: usize = 3;

/// The most rows named for one reason.
const MAX_EXAMPLES: usize = 3;

impl Failures {
    /// Counts a failed row. Returns the reason if it should be reported at once: the first few reasons, the first time each.
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

    /// Counts a row that the budget left out.
    pub(crate) fn over_budget(&self, phase: Phase, target: Option<&ModelId>, row: &str) {
        let key = (phase, target.cloned(), OVER_BUDGET.to_owned(), true);
        self.count(key, row);
    }

    /// Returns whether the reason, for any target, is new and one of the first few.
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
        let mut groups: Vec<FailureGroup> = self
            .groups
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use journal::check::{Failure, Report, Row};

    use super::*;

    #[test]
    fn a_run_whose_journal_fails_its_check_is_not_complete() {
        let journal = |failure: Option<Failure>| {
            let mut check = Report::new("journal.jsonl");
            let mut row = Row::new("ItemsQueuedAsAnnounced", "items are queued as announced");
            row.looked_at(1);
            failure.into_iter().for_each(|failure| row.fail(failure));
            check.push(row);
            JournalEnd {
                path: "journal.jsonl".into(),
                trouble: None,
                check,
            }
        };
        let outcome = |journal: JournalEnd| {
            let report = RunReport {
                benchmarks: vec![BenchmarkReport {
                    journal: Some(journal),
                    ..BenchmarkReport::default()
                }],
                run_id: "run".to_owned(),
                interrupted: false,
                judge_gave_up: None,
            };
            report.outcome()
        };
        assert_eq!(outcome(journal(None)), RunOutcome::Complete);
        let failure = Failure::new("announced items: 2; queued items: 0");
        assert_eq!(outcome(journal(Some(failure))), RunOutcome::FailedRows);
    }
}
