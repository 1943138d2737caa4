//! `results.json` and `grades.json` from all the scores of the tree, and the record of the run.

use journal::RunId;
use schema::{
    Aggregator, BenchmarkScore, Fingerprint, Grades, IncompleteReplies, ModelId, Phase,
    ReasoningReplies, Standards, Summary, statistics::Statistics,
};

use super::{results::Results, run::BenchmarkRun};
use crate::{progress::Progress, report::Counts, report::RunOutcome};
use store::{
    RateAggregator, RecordOf, RunError, TargetFacts, TargetRows, add_judge_statistics,
    custom_summary, scored_targets, sort_summaries, summarise_statistics, write_grades, write_json,
    write_record, write_statistics,
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
            let facts = self.run.dir.facts(&self.run.loaded.benchmark, &id)?;
            if !self.results.has_judged(&id) {
                let odd = facts.faults.warnings()?;
                self.results.report.odd_scores.extend(odd);
            }
            self.note_replies(&id, &facts);
            replies.extend(facts.replies.as_ref().map(|tally| tally.of(&id)));
            let (summary, aggregator) = self.summary(&id, &facts)?;
            self.results.fingerprint("aggregator", &aggregator);
            summaries.push(summary);
            scores.push(facts.score(self.standards()));
            rows.push(facts.rows.clone());
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

    /// Adds what is missing in the replies of a target that this run did not simulate.
    fn note_replies(&mut self, id: &ModelId, facts: &TargetFacts) {
        if let Some(tally) = &facts.replies
            && !self.results.replies.contains_key(id)
        {
            self.results.replied(id, tally.clone());
        }
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
            let facts = self.run.dir.facts(&self.run.loaded.benchmark, &id)?;
            self.note_replies(&id, &facts);
            summaries.push(self.summary(&id, &facts)?.0);
            rows.push(facts.rows.clone());
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
        add_judge_statistics(dir, rows, &mut statistics)?;
        Ok(statistics)
    }

    /// The summary of the scores of one target, and what computed it.
    fn summary(
        &self,
        id: &ModelId,
        facts: &TargetFacts,
    ) -> Result<(Summary, Fingerprint), RunError> {
        let Some(make) = &self.run.pipeline.phases.aggregator else {
            let shipped = RateAggregator::new(id.clone()).fingerprint();
            return Ok((facts.summary.clone(), shipped));
        };
        let aggregator = make(id);
        let made_by = aggregator.fingerprint();
        let benchmark = &self.run.loaded.benchmark;
        let summary = custom_summary(&self.run.dir, benchmark, id, aggregator)?;
        Ok((summary, made_by))
    }

    fn standards(&self) -> Option<&Standards> {
        let loaded = self.run.standards.as_ref();
        loaded.map(|loaded| &loaded.standards)
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
