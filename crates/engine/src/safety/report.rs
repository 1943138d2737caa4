//! The result of a safety run.

use std::path::PathBuf;

use schema::{
    Finding, PhaseCost, TargetBasis, TargetRef,
    safety::{
        GateOutcome, Stage, Tally,
        results::{CaseError, SafetyResults},
    },
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::error::{CaseFailure, SkipReason};
use crate::{
    journals::JournalEnd,
    report::{JudgeGivenUp, RunEnd, RunOutcome},
};
use store::RunError;

/// The result of a safety run.
#[derive(Debug)]
pub struct SafetyReport {
    /// The run's id: `run-YYYYMMDD-HHMMSS-ffffff`.
    pub run_id: String,
    /// Each target, in the requested order.
    pub targets: Vec<TargetReport>,
    /// Whether the run was stopped.
    pub interrupted: bool,
    /// Why the run ended its calls before its end: the judges gave no usable score.
    pub judge_gave_up: Option<JudgeGivenUp>,
}

impl SafetyReport {
    /// How the run ended, as for a run of benchmarks.
    #[must_use]
    pub fn outcome(&self) -> RunOutcome {
        let targets = self.targets.iter();
        let end = RunEnd {
            gave_up: self.judge_gave_up.is_some(),
            interrupted: self.interrupted,
            is_complete: self.targets.iter().all(TargetReport::is_complete),
            has_results: self.targets.iter().any(TargetReport::has_results),
            journals: targets.filter_map(|one| one.journal.as_ref()).collect(),
        };
        end.outcome()
    }
}

/// The result of one target.
#[derive(Debug)]
pub struct TargetReport {
    /// The target.
    pub target: TargetRef,
    /// The content of its file.
    pub results: SafetyResults,
    /// Its cases that ended in an error, in the order of the file.
    pub failures: Vec<FailedCase>,
    /// Cases, by how they ended.
    pub tally: Tally,
    /// The outcome of the gate.
    pub gate: GateOutcome,
    /// Cases that were not run.
    pub not_run: NotRun,
    /// What all its cases used and cost, including attacker and judges. Cached replies count with what they cost when they were
    /// fetched.
    pub cost: PhaseCost,
    /// What its results rest on; `None` if nothing is known.
    pub basis: Option<TargetBasis>,
    /// What limits the conclusions from its results, the worst first.
    pub findings: Vec<Finding>,
    /// Its file, if one was written.
    pub file: Option<PathBuf>,
    /// Why its file could not be written. `results` then holds the only copy.
    pub not_written: Option<RunError>,
    /// Its journal, if one was written.
    pub journal: Option<JournalEnd>,
}

impl TargetReport {
    /// Whether a case has a score.
    #[must_use]
    pub fn has_results(&self) -> bool {
        self.tally.passed + self.tally.failed > 0
    }

    /// Whether cases were not run because the run was stopped or the budget was spent.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        self.not_run.budget + self.not_run.stopped > 0
    }

    /// Whether every case has a score.
    fn is_complete(&self) -> bool {
        self.tally.errors == 0 && !self.is_unfinished()
    }

    /// The result, for the manifest.
    pub(super) fn manifest_results(&self) -> Value {
        json!({
            "passed": self.tally.passed,
            "failed": self.tally.failed,
            "errors": self.tally.errors,
            "not_run": self.not_run,
            "cost": self.cost,
            "basis": self.basis,
            "file": self.file,
            "folder": self.file.as_ref().and(std::path::absolute(".").ok()),
        })
    }
}

/// A case that ended in an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCase {
    /// The stage that failed.
    pub stage: Stage,
    /// The case.
    pub case_id: String,
    /// The strategy or test type, if there is one.
    pub strategy: Option<String>,
    /// The reason without the row's name: the same for all cases that failed in the same way.
    pub reason: String,
}

impl FailedCase {
    pub(super) fn of(row: &CaseError, failure: &CaseFailure) -> Self {
        let strategy = row.test_type.as_ref().or(row.strategy.as_ref());
        Self {
            stage: row.stage,
            case_id: row.case_id.clone(),
            strategy: strategy.cloned(),
            reason: failure.reason.clone(),
        }
    }
}

/// Cases that were not run, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotRun {
    /// Because of the cap on cases.
    pub cap: u64,
    /// Because the budget was spent.
    pub budget: u64,
    /// Because the run was stopped.
    pub stopped: u64,
}

impl NotRun {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.cap + self.budget + self.stopped
    }

    pub(super) fn add(&mut self, skip: SkipReason, cases: u64) {
        match skip {
            SkipReason::Stopped => self.stopped += cases,
            SkipReason::Budget => self.budget += cases,
        }
    }

    pub(super) fn join(&mut self, other: Self) {
        self.cap += other.cap;
        self.budget += other.budget;
        self.stopped += other.stopped;
    }
}
