//! `results.json` and `grades.json` from all the scores of the tree, and the record of the run.

use journal::RunId;
use schema::{
    BenchmarkScore, Grades, IncompleteReplies, ModelId, Phase, ReasoningReplies, Summary,
    statistics::Statistics,
};

use super::{results::Results, run::BenchmarkRun};
use crate::{progress::Progress, report::Counts, report::RunOutcome};
use store::{
    RecordOf, ReplyTally, RunError, TargetRows, TargetSummary, add_judge_statistics, check_scores,
    count_replies, scored_targets, sort_summaries, summarise_statistics, summarise_target,
    write_grades, write_json, write_record, write_statistics,
};

/// Writes the summaries of the scores of a tree.
pub(super) struct SummaryWriter<'r> {
    pub(super) run: &'r BenchmarkRun<'r>,
    pub(super) results: &'r mut Results,
}

impl SummaryWriter<'_> {
    /// Summarises the scores of every target in the tree, including those of earlier runs, and writes `results.json`, `grades.json`
    /// and the run's record. Rows are read one at a time.
    pub(super) fn write(&mut self, run_id: &RunId) -> Result<(), RunError> {
        self.run.observe(&Progress::Started {
            phase: Phase::Aggregate,
            benchmark: self.run.dir.name(),
            target: None,
            rows: None,
        });
        let mut summaries = Vec::new();
        let mut scores = Vec::new();
        let mut rows = Vec::new();
        let mut replies = Vec::new();
        for id in scored_targets(&self.run.dir)? {
            if !self.results.has_judged(&id) {
                let odd = check_scores(&self.run.dir, &self.run.loaded.benchmark, &id)?;
                self.results.report.odd_scores.extend(odd);
            }
            let tally = self.replies(&id);
            let summed = self.summary(&id, tally.as_ref())?;
            replies.extend(tally.map(|tally| tally.of(&id)));
            self.results.fingerprint("aggregator", &summed.aggregator);
            summaries.push(summed.summary);
            scores.push(summed.score);
            rows.push(summed.rows);
        }
        if !summaries.is_empty() {
            sort_summaries(&mut summaries);
            let place = |id: &ModelId| {
                summaries
                    .iter()
                    .position(|summary| summary.target_model == *id)
            };
            scores.sort_by_key(|score: &BenchmarkScore| place(&score.sut));
            rows.sort_by_key(|rows: &TargetRows| place(rows.target()));
            write_json(&self.run.dir.results(), &summaries)?;
            self.results.wrote(self.run.dir.results());
            self.results.report.summaries = summaries;
            let statistics = self.statistics(&rows)?;
            write_statistics(&self.run.dir, &statistics)?;
            self.results.wrote(self.run.dir.statistics());
            self.grade(scores, &statistics, &replies, run_id)?;
            self.results.report.statistics = Some(statistics);
        }
        self.run.observe(&Progress::Finished {
            phase: Phase::Aggregate,
            benchmark: self.run.dir.name(),
            target: None,
        });
        Ok(())
    }

    /// What is missing in the replies of a target, and how many hold reasoning. Conversations of earlier runs are read again. Scores
    /// alone are enough for a summary, so missing or unreadable conversations are not an error here.
    fn replies(&mut self, id: &ModelId) -> Option<ReplyTally> {
        if let Some(counted) = self.results.replies.get(id) {
            return Some(counted.clone());
        }
        let path = self.run.dir.target(id).ok()?.conversations();
        let tally = count_replies(&path, &self.run.loaded.benchmark).ok()?;
        self.results.replied(id, tally.clone());
        Some(tally)
    }

    /// For a run that judges but does not write `results.json`: summarises the tree, and notes whether an existing `results.json`
    /// differs. Scores that cannot be read are reported where they are summarised.
    pub(super) fn compare(&mut self) {
        let Ok((summaries, rows)) = self.summaries_now() else {
            return;
        };
        if let Ok(there) = files::read(self.run.dir.results()) {
            // Compare the parsed content, not the bytes: another version may have laid out the same content differently.
            let there = serde_json::from_slice::<Vec<Summary>>(&there);
            if !there.is_ok_and(|there| there == summaries) {
                self.results.report.results_outdated = true;
            }
        }
        self.results.report.rates = summaries;
        self.results.report.statistics = self.statistics(&rows).ok();
    }

    /// The summaries of all targets and their rows, in the order of `results.json`.
    fn summaries_now(&mut self) -> Result<(Vec<Summary>, Vec<TargetRows>), RunError> {
        let mut summaries = Vec::new();
        let mut rows = Vec::new();
        for id in scored_targets(&self.run.dir)? {
            let tally = self.replies(&id);
            let summed = self.summary(&id, tally.as_ref())?;
            summaries.push(summed.summary);
            rows.push(summed.rows);
        }
        sort_summaries(&mut summaries);
        rows.sort_by_key(|rows| {
            let of_rows = |summary: &Summary| summary.target_model == *rows.target();
            summaries.iter().position(of_rows)
        });
        Ok((summaries, rows))
    }

    fn statistics(&mut self, rows: &[TargetRows]) -> Result<Statistics, RunError> {
        let dir = &self.run.dir;
        let mut statistics = summarise_statistics(dir, &self.run.loaded.benchmark, rows)?;
        self.results.report.label_warnings = add_judge_statistics(dir, rows, &mut statistics)?;
        Ok(statistics)
    }

    /// Summarises the scores of one target.
    fn summary(
        &self,
        id: &ModelId,
        replies: Option<&ReplyTally>,
    ) -> Result<TargetSummary, RunError> {
        let aggregator = self.run.pipeline.phases.aggregator.as_ref();
        let aggregator = aggregator.map(|make| make(id));
        let standards = self.run.standards.as_ref().map(|loaded| &loaded.standards);
        let benchmark = &self.run.loaded.benchmark;
        summarise_target(&self.run.dir, benchmark, id, aggregator, standards, replies)
    }

    /// Writes `grades.json` and the run's record.
    fn grade(
        &mut self,
        scores: Vec<BenchmarkScore>,
        statistics: &Statistics,
        replies: &[(IncompleteReplies, ReasoningReplies)],
        run_id: &RunId,
    ) -> Result<(), RunError> {
        let benchmark = &self.run.loaded.benchmark;
        let grades = write_grades(
            &self.run.dir,
            benchmark,
            self.run.standards.as_ref(),
            scores,
            statistics,
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

    /// The outcome of the run according to the phases before this one.
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
