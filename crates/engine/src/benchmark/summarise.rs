//! `results.json` and `grades.json` from all the scores of the tree, and the record of the run.

use std::fs;

use journal::RunId;
use schema::{
    BenchmarkScore, Grades, IncompleteReplies, ModelId, Phase, ReasoningReplies, Summary,
};

use super::{results::Results, run::BenchmarkRun};
use crate::{progress::Progress, report::Counts, report::RunOutcome};
use store::{
    RecordOf, RunError, TargetSummary, check_scores, count_replies, scored_targets, sort_summaries,
    summarise_target, write_grades, write_json, write_record,
};

/// Writes what the scores of a tree sum up to.
pub(super) struct SummaryWriter<'r> {
    pub(super) run: &'r BenchmarkRun<'r>,
    pub(super) results: &'r mut Results,
}

impl SummaryWriter<'_> {
    /// Sums up the scores of every target that the tree holds, those of earlier runs included, and writes `results.json`,
    /// `grades.json` and the run's record. Rows are read one at a time.
    pub(super) fn write(&mut self, run_id: &RunId) -> Result<(), RunError> {
        self.run.observe(&Progress::Started {
            phase: Phase::Aggregate,
            benchmark: self.run.dir.name(),
            target: None,
            rows: None,
        });
        let mut summaries = Vec::new();
        let mut scores = Vec::new();
        let mut replies = Vec::new();
        for id in scored_targets(&self.run.dir)? {
            if !self.results.has_judged(&id) {
                let odd = check_scores(&self.run.dir, &self.run.loaded.benchmark, &id)?;
                self.results.report.odd_scores.extend(odd);
            }
            replies.extend(self.replies(&id));
            let summed = self.summary(&id)?;
            self.results.fingerprint("aggregator", &summed.aggregator);
            summaries.push(summed.summary);
            scores.push(summed.score);
        }
        if !summaries.is_empty() {
            sort_summaries(&mut summaries);
            let place = |score: &BenchmarkScore| {
                summaries
                    .iter()
                    .position(|summary| summary.target_model == score.sut)
            };
            scores.sort_by_key(place);
            write_json(&self.run.dir.results(), &summaries)?;
            self.results.wrote(self.run.dir.results());
            self.results.report.summaries = summaries;
            self.grade(scores, &replies, run_id)?;
        }
        self.run.observe(&Progress::Finished {
            phase: Phase::Aggregate,
            benchmark: self.run.dir.name(),
            target: None,
        });
        Ok(())
    }

    /// What the replies of a target lack, and how many hold reasoning. Conversations of earlier runs are read again; scores alone are
    /// enough to sum up, so conversations that are missing or unreadable are no error here.
    fn replies(&mut self, id: &ModelId) -> Option<(IncompleteReplies, ReasoningReplies)> {
        if let Some(counted) = self.results.replies.get(id) {
            return Some(counted.of(id));
        }
        let path = self.run.dir.target(id).ok()?.conversations();
        let tally = count_replies(&path, &self.run.loaded.benchmark).ok()?;
        self.results.replied(id, tally);
        Some(tally.of(id))
    }

    /// Sums up what the tree holds for a run that judges and does not write `results.json`, and takes note of it when that file is
    /// there and says something else. Scores that cannot be read are reported where they are summed up.
    pub(super) fn compare(&mut self) {
        let Ok(mut summaries) = self.summaries_now() else {
            return;
        };
        sort_summaries(&mut summaries);
        if let Ok(there) = fs::read(self.run.dir.results()) {
            // Read, and not byte by byte: a file that another version laid out may say the same.
            let there = serde_json::from_slice::<Vec<Summary>>(&there);
            if !there.is_ok_and(|there| there == summaries) {
                self.results.report.results_outdated = true;
            }
        }
        self.results.report.rates = summaries;
    }

    fn summaries_now(&self) -> Result<Vec<Summary>, RunError> {
        let targets = scored_targets(&self.run.dir)?.into_iter();
        targets.map(|id| Ok(self.summary(&id)?.summary)).collect()
    }

    /// What the scores of one target sum up to.
    fn summary(&self, id: &ModelId) -> Result<TargetSummary, RunError> {
        let aggregator = self.run.pipeline.phases.aggregator.as_ref();
        let aggregator = aggregator.map(|make| make(id));
        let standards = self.run.standards.as_ref().map(|loaded| &loaded.standards);
        let benchmark = &self.run.loaded.benchmark;
        summarise_target(&self.run.dir, benchmark, id, aggregator, standards)
    }

    /// Writes `grades.json` and the run's record.
    fn grade(
        &mut self,
        scores: Vec<BenchmarkScore>,
        replies: &[(IncompleteReplies, ReasoningReplies)],
        run_id: &RunId,
    ) -> Result<(), RunError> {
        let benchmark = &self.run.loaded.benchmark;
        let grades = write_grades(
            &self.run.dir,
            benchmark,
            self.run.standards.as_ref(),
            scores,
        )?;
        self.results.wrote(self.run.dir.grades());
        self.write_record(&grades, replies, run_id)?;
        self.results.report.grades = Some(grades);
        Ok(())
    }

    fn write_record(
        &self,
        grades: &Grades,
        replies: &[(IncompleteReplies, ReasoningReplies)],
        run_id: &RunId,
    ) -> Result<(), RunError> {
        let pipeline = self.run.pipeline;
        let run_id = run_id.to_string();
        let asked = pipeline.runs(Phase::Simulate) || pipeline.runs(Phase::Evaluate);
        let folder = pipeline.layout.run(&pipeline.session.run_id().to_string());
        write_record(
            &folder,
            self.run.alone,
            RecordOf {
                dir: &self.run.dir,
                benchmark: &self.run.loaded.benchmark,
                run_id: &run_id,
                outcome: self.outcome_so_far().as_str(),
                git: &pipeline.options.git,
                suts: asked.then(|| pipeline.targets().cloned().collect()),
                grades,
                replies,
            },
        )
        .map(|_| ())
    }

    /// How the run ends, as far as the phases before this one show.
    fn outcome_so_far(&self) -> RunOutcome {
        let any = |missing: fn(&Counts) -> u64| {
            let mut counts = self.results.report.counts.values();
            counts.any(|counts| missing(counts) > 0)
        };
        if self.run.pipeline.session.stop().is_stopped() || any(|counts| counts.skipped) {
            RunOutcome::Interrupted
        } else if any(|counts| counts.failed) {
            RunOutcome::FailedRows
        } else {
            RunOutcome::Complete
        }
    }
}
