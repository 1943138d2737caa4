//! The summary and the grades of one target from its scores.

use std::path::Path;

use aggregator::{
    AggregateError, HazardScorer, RateAggregator, ScoreRow, aggregate_reader_and,
    aggregate_scores_and, statistics::TargetRows,
};
use schema::{
    Aggregator, Benchmark, BenchmarkScore, Fingerprint, ModelId, Score, Standards, Summary,
};

use crate::{BenchmarkDir, ReplyTally, RunError};

/// The summary of the scores of one target.
#[derive(Clone, Debug)]
pub struct TargetSummary {
    /// Its row of `results.json`.
    pub summary: Summary,
    /// Its row of `grades.json`.
    pub score: BenchmarkScore,
    /// Its rows by scenario, for `statistics.json`.
    pub rows: TargetRows,
    /// The aggregator that computed the summary.
    pub aggregator: Fingerprint,
}

/// Summarises the `scores.json` of `target`, row by row. If no custom `aggregator` is given, the shipped one reads only the fields
/// that it needs, several times as fast for large files. `replies`, if they were counted, show which conversations are incomplete.
///
/// # Errors
/// When the file cannot be read, or is not a list of score rows.
pub fn summarise_target(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    target: &ModelId,
    aggregator: Option<Box<dyn Aggregator>>,
    standards: Option<&Standards>,
    replies: Option<&ReplyTally>,
) -> Result<TargetSummary, RunError> {
    let path = dir.target(target)?.scores();
    let file = files::open(&path).map_err(|error| RunError::read(&path, error))?;
    let mut scorer = HazardScorer::new(&benchmark.scored_hazards());
    let mut rows = TargetRows::new(target.clone());
    let mut push = |row: &ScoreRow<'_>| {
        scorer.push_row(row);
        let incomplete = replies.is_some_and(|replies| replies.is_incomplete(&row.conv_id));
        rows.push_row(row, incomplete);
    };
    let metrics = &benchmark.metrics;
    let (made_by, summary) = match aggregator {
        None => (
            RateAggregator::new(target.clone()).fingerprint(),
            aggregate_reader_and(target.clone(), metrics, file, push),
        ),
        Some(aggregator) => {
            let made_by = aggregator.fingerprint();
            let push = |score: &Score| push(&score.into());
            let summary = aggregate_scores_and(aggregator, target, metrics, file, push);
            (made_by, summary)
        }
    };
    let summary = summary.map_err(|error| scores_error(dir, target, &path, error))?;
    note_conversations(&mut rows, replies);
    Ok(TargetSummary {
        summary,
        score: scorer.finish(target.clone(), standards),
        rows,
        aggregator: made_by,
    })
}

/// The rows of `scores.json` of `target` by scenario. `replies` as in [`summarise_target`].
///
/// # Errors
/// As [`summarise_target`].
pub fn read_target_rows(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    target: &ModelId,
    replies: Option<&ReplyTally>,
) -> Result<TargetRows, RunError> {
    let path = dir.target(target)?.scores();
    let file = files::open(&path).map_err(|error| RunError::read(&path, error))?;
    let mut rows = TargetRows::new(target.clone());
    aggregate_reader_and(target.clone(), &benchmark.metrics, file, |row| {
        let incomplete = replies.is_some_and(|replies| replies.is_incomplete(&row.conv_id));
        rows.push_row(row, incomplete);
    })
    .map_err(|error| scores_error(dir, target, &path, error))?;
    note_conversations(&mut rows, replies);
    Ok(rows)
}

/// Records in `rows` what their conversations show besides verdicts.
fn note_conversations(rows: &mut TargetRows, replies: Option<&ReplyTally>) {
    if let Some(replies) = replies {
        rows.set_simulator(
            replies.simulator().clone(),
            replies.simulator_sample().clone(),
        );
        rows.set_realism(replies.realism().clone());
    }
}

/// Why the scores of `target` at `path` cannot be summarised.
pub(crate) fn scores_error(
    dir: &BenchmarkDir,
    target: &ModelId,
    path: &Path,
    error: AggregateError,
) -> RunError {
    let is_cut_off = matches!(error, AggregateError::CutOff { .. });
    let refused = RunError::in_file(path, None, error.to_string()).with_source(error);
    match is_cut_off {
        true => refused.with_help(format!(
            "{} writes the file again",
            dir.evaluate_command(target)
        )),
        false => refused,
    }
}

/// The number of items of a test that passed, failed, and have no verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCounts {
    /// Items that passed.
    pub passed: u64,
    /// Items that failed.
    pub failed: u64,
    /// Items without a verdict.
    pub unscored: u64,
}

/// The scores and grades of `target`, computed only from the counts of each test.
pub fn grade_counts<'a>(
    benchmark: &Benchmark,
    target: &ModelId,
    counts: impl IntoIterator<Item = (&'a str, TestCounts)>,
    standards: &Standards,
) -> BenchmarkScore {
    let mut scorer = HazardScorer::new(&benchmark.scored_hazards());
    for (test, counts) in counts {
        scorer.push_counts(test, counts.passed, counts.failed, counts.unscored);
    }
    scorer.finish(target.clone(), Some(standards))
}
