//! Incomplete parts of the results.

use std::collections::BTreeSet;

use interop::Sample;
use schema::{
    Notice, ProgramCommand, Score, ScoreOutcome, notice, numbers::grouped,
    statistics::RateStatistics, text::counted,
};

/// The number of rows of a complete run.
#[derive(Clone, Copy, Default)]
pub(super) struct Expected {
    pub(super) scenarios: u64,
    /// The planned samples of each scenario; 0 if there is no journal.
    pub(super) samples: u32,
}

/// Incomplete parts in the rows of a target.
pub(super) struct Problems {
    pub(super) lines: Vec<Notice>,
    pub(super) rows: u64,
    failed: u64,
    not_judged: u64,
    abstained: u64,
    /// The number of scores that passed, and of scores with a verdict.
    passed: u64,
    judged: u64,
    by_sample: BTreeSet<u32>,
    /// Whether some scores could not be read.
    scores_cut: bool,
    /// Whether a run goes on: rows that it has not come to are pending.
    goes_on: bool,
    /// Whether that run judges the rows.
    is_judged: bool,
}

impl Problems {
    pub(super) fn new(note: Option<String>) -> Self {
        Self {
            lines: note.into_iter().map(Notice::from).collect(),
            rows: 0,
            failed: 0,
            not_judged: 0,
            abstained: 0,
            passed: 0,
            judged: 0,
            by_sample: BTreeSet::new(),
            scores_cut: false,
            goes_on: false,
            is_judged: false,
        }
    }

    /// A run goes on. `is_judged`: it judges the rows.
    pub(super) fn during_run(&mut self, is_judged: bool) {
        self.goes_on = true;
        self.is_judged = is_judged;
    }

    /// Records that some scores could not be read, and why. `evaluate` is the command that judges the
    /// benchmark.
    pub(super) fn scores_cut(&mut self, why: &str, evaluate: ProgramCommand) {
        self.scores_cut = true;
        self.lines.push(notice![
            format!("{why}. The scores from there on are not exported; "),
            evaluate,
            " rewrites the file, and calls only for verdicts that are not in the cache"
        ]);
    }

    /// Explains why rows are missing, by how the run ended.
    pub(super) fn outcome(&mut self, outcome: Option<&str>) {
        if outcome == Some("interrupted") {
            let line = "the run was interrupted: rows are missing";
            self.lines.push(line.into());
        }
    }

    pub(super) fn add(&mut self, sample: &Sample) {
        self.rows += 1;
        self.by_sample.insert(sample.conversation.sample);
        let outcomes = sample.scores.iter().map(Score::outcome);
        for passed in outcomes.clone().filter_map(ScoreOutcome::passed) {
            self.judged += 1;
            self.passed += u64::from(passed);
        }
        if sample.conversation.error.is_some() {
            self.failed += 1;
        } else if sample.scores.is_empty() {
            self.not_judged += 1;
        } else if outcomes.into_iter().any(|outcome| !outcome.is_scored()) {
            self.abstained += 1;
        }
    }

    /// A rate of fewer rows than `all` of the tree gets no interval, because the interval belongs to other
    /// rows.
    pub(super) fn rates(&mut self, all: &RateStatistics) {
        if (self.passed, self.judged) != (all.passed, all.rows) {
            let line = format!(
                "{} of {} are exported: rates that leave some out have no interval",
                grouped(self.judged),
                counted(all.rows, "score with a verdict", "scores with a verdict")
            );
            self.lines.push(line.into());
        }
    }

    /// One line for each incomplete part. `orphans` are scores without a conversation; `evaluate` is the command that judges rows.
    pub(super) fn finish(
        mut self,
        expected: Expected,
        orphans: usize,
        evaluate: ProgramCommand,
    ) -> Vec<Notice> {
        let seen = u64::try_from(self.by_sample.len().max(1)).unwrap_or(u64::MAX);
        let samples = seen.max(expected.samples.into());
        let expected = expected.scenarios.saturating_mul(samples);
        if self.rows < expected {
            let verb = match self.goes_on {
                true => "are finished, the others are pending",
                false => "exist",
            };
            let line = format!(
                "{} of {} {verb}",
                grouped(self.rows),
                conversations(expected)
            );
            self.lines.push(line.into());
        }
        if self.is_judged && self.not_judged > 0 {
            let verb = if self.not_judged == 1 {
                "waits"
            } else {
                "wait"
            };
            let line = format!("{} {verb} for a verdict", conversations(self.not_judged));
            self.lines.push(line.into());
            self.not_judged = 0;
        }
        self.lines.extend(self.without_verdict(evaluate));
        if orphans > 0 {
            let line = format!(
                "{} to no existing conversation and {} left out",
                counted(orphans as u64, "score belongs", "scores belong"),
                if orphans == 1 { "is" } else { "are" }
            );
            self.lines.push(line.into());
        }
        self.lines
    }

    /// The conversations without a verdict, by reason. `evaluate` is the command that judges rows.
    fn without_verdict(&self, evaluate: ProgramCommand) -> Option<Notice> {
        let not_judged = match self.scores_cut {
            true => "without a score that can be read",
            false => "not judged",
        };
        let counts = [
            (self.failed, "failed"),
            (self.not_judged, not_judged),
            (self.abstained, "without a usable answer of the judge"),
        ];
        let all: u64 = counts.iter().map(|(rows, _)| rows).sum();
        let reasons = counts
            .into_iter()
            .filter(|(rows, _)| *rows > 0)
            .map(|(rows, why)| format!("{} {why}", grouped(rows)));
        let verb = if all == 1 { "has" } else { "have" };
        let fact = format!(
            "{} of {} {verb} no verdict: {}",
            grouped(all),
            conversations(self.rows),
            reasons.collect::<Vec<_>>().join(", ")
        );
        let line = match self.not_judged > 0 && !self.scores_cut {
            true => notice![fact, "; ", evaluate, " judges those that are not judged"],
            false => fact.into(),
        };
        (all > 0).then_some(line)
    }
}

fn conversations(n: u64) -> String {
    counted(n, "conversation", "conversations")
}
