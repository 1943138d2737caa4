//! `results.json` and `grades.json` from all the scores of the tree, and the record of the run.

use std::{collections::BTreeMap, fs};

use journal::RunId;
use schema::{
    BenchmarkScore, Grades, IncompleteReplies, ModelId, Phase, ReasoningReplies, Summary,
};

use super::{BenchmarkRun, run_log::TestTally};
use crate::{progress::Progress, report::RunOutcome};
use store::{
    LoadedStandards, RecordOf, RunError, TargetSummary, TestCounts, check_scores, count_replies,
    grade_counts, scored_targets, sort_summaries, summarise_target, write_grades, write_json,
    write_record,
};

impl BenchmarkRun<'_> {
    /// Sums up the scores of every target that the tree holds, those of earlier runs included, and writes `results.json`,
    /// `grades.json` and the run's record. Rows are read one at a time.
    pub(super) fn summarise(&self, run_id: &RunId) -> Result<(), RunError> {
        self.tell(&Progress::Started {
            phase: Phase::Aggregate,
            benchmark: self.dir.name(),
            target: None,
            rows: None,
        });
        let mut summaries = Vec::new();
        let mut scores = Vec::new();
        let mut replies = Vec::new();
        for id in scored_targets(&self.dir)? {
            if !self.has_judged(&id) {
                let odd = check_scores(&self.dir, &self.loaded.benchmark, &id)?;
                self.odd_scores(odd);
            }
            replies.extend(self.replies(&id));
            let summed = self.summary(&id)?;
            self.fingerprint("aggregator", &summed.aggregator);
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
            write_json(&self.dir.results(), &summaries)?;
            self.wrote(self.dir.results());
            self.summaries(summaries);
            self.grade(scores, &replies, run_id)?;
        }
        self.tell(&Progress::Finished {
            phase: Phase::Aggregate,
            benchmark: self.dir.name(),
            target: None,
        });
        Ok(())
    }

    /// What the replies of a target lack, and how many hold reasoning. Conversations of earlier runs are read again; scores alone are
    /// enough to sum up, so
    /// conversations that are not there, or cannot be read, are no error here.
    fn replies(&self, id: &ModelId) -> Option<(IncompleteReplies, ReasoningReplies)> {
        let counted = self.replies_of(id).or_else(|| {
            let path = self.dir.target(id).ok()?.conversations();
            let tally = count_replies(&path, &self.loaded.benchmark).ok()?;
            self.replied(id, tally);
            Some(tally)
        });
        Some(counted?.of(id))
    }

    /// Sums up what the tree holds for a run that judges and does not write `results.json`, and takes note of it when that file is
    /// there and says something else. Scores that cannot be read are reported where they are summed up.
    pub(super) fn compare_results(&self) {
        let Ok(mut summaries) = self.summaries_now() else {
            return;
        };
        sort_summaries(&mut summaries);
        if let Ok(there) = fs::read(self.dir.results()) {
            // Read, and not byte by byte: a file that another version laid out may say the same.
            let there = serde_json::from_slice::<Vec<Summary>>(&there);
            if !there.is_ok_and(|there| there == summaries) {
                self.results_outdated();
            }
        }
        self.rates(summaries);
    }

    fn summaries_now(&self) -> Result<Vec<Summary>, RunError> {
        let targets = scored_targets(&self.dir)?.into_iter();
        targets.map(|id| Ok(self.summary(&id)?.summary)).collect()
    }

    /// What the scores of one target sum up to.
    fn summary(&self, id: &ModelId) -> Result<TargetSummary, RunError> {
        let aggregator = self.pipeline.phases.aggregator.as_ref();
        let aggregator = aggregator.map(|make| make(id));
        let standards = self.standards.as_ref().map(|loaded| &loaded.standards);
        let benchmark = &self.loaded.benchmark;
        summarise_target(&self.dir, benchmark, id, aggregator, standards)
    }

    /// Writes `grades.json` and the run's record.
    fn grade(
        &self,
        scores: Vec<BenchmarkScore>,
        replies: &[(IncompleteReplies, ReasoningReplies)],
        run_id: &RunId,
    ) -> Result<(), RunError> {
        let benchmark = &self.loaded.benchmark;
        let grades = write_grades(&self.dir, benchmark, self.standards.as_ref(), scores)?;
        self.wrote(self.dir.grades());
        self.write_record(&grades, replies, run_id)?;
        self.graded_as(grades);
        Ok(())
    }

    fn write_record(
        &self,
        grades: &Grades,
        replies: &[(IncompleteReplies, ReasoningReplies)],
        run_id: &RunId,
    ) -> Result<(), RunError> {
        let pipeline = self.pipeline;
        let run_id = run_id.to_string();
        let asked = pipeline.runs(Phase::Simulate) || pipeline.runs(Phase::Evaluate);
        let folder = pipeline.layout.run(&pipeline.session.run_id().to_string());
        write_record(
            &folder,
            self.alone,
            RecordOf {
                dir: &self.dir,
                benchmark: &self.loaded.benchmark,
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

    /// How the run ends, as far as the phases before this one tell.
    fn outcome_so_far(&self) -> RunOutcome {
        let (failed, skipped) = self.rows_missing();
        if self.pipeline.session.stop().is_stopped() || skipped {
            RunOutcome::Interrupted
        } else if failed {
            RunOutcome::FailedRows
        } else {
            RunOutcome::Complete
        }
    }

    /// The scores and grades of a target by what this run measured; `None` where nothing is graded.
    pub(super) fn graded(
        &self,
        sut: &ModelId,
        tests: &BTreeMap<String, TestTally>,
    ) -> Option<BenchmarkScore> {
        let standards = self.standards.as_ref()?;
        let counts = tests.iter().map(|(test, tally)| {
            let counts = TestCounts {
                passed: tally.passed,
                failed: tally.failed,
                unscored: tally.unscored,
            };
            (test.as_str(), counts)
        });
        let benchmark = &self.loaded.benchmark;
        Some(grade_counts(benchmark, sut, counts, &standards.standards))
    }

    /// The file of the standards, as records name it.
    pub(super) fn standards_file(&self) -> Option<String> {
        let loaded: &LoadedStandards = self.standards.as_ref()?;
        Some(loaded.file.clone())
    }
}
