//! The summary and the grades of one target from its scores.

use std::path::Path;

use aggregator::{AggregateError, HazardScorer, aggregate_scores};
use schema::{Aggregator, Benchmark, BenchmarkScore, ModelId, Standards, Summary, notice};

use crate::{BenchmarkDir, RunError, SegmentFault, open_rows, segments::segment_of};

/// The summary that a custom `aggregator` computes from the `scores.json` of `target`. The shipped one is in
/// [`TargetFacts::summary`](crate::TargetFacts::summary).
///
/// # Errors
/// When the file cannot be read, or is not a list of score rows.
pub fn custom_summary(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    target: &ModelId,
    aggregator: Box<dyn Aggregator>,
) -> Result<Summary, RunError> {
    let path = dir.target(target)?.scores();
    let file = open_rows(&path).map_err(|error| RunError::read(&path, error))?;
    aggregate_scores(aggregator, target, &benchmark.metrics, file)
        .map_err(|error| scores_error(dir, target, &path, error))
}

/// Why the scores of `target` at `path` cannot be summarised.
pub(crate) fn scores_error(
    dir: &BenchmarkDir,
    target: &ModelId,
    path: &Path,
    error: AggregateError,
) -> RunError {
    let is_cut_off = matches!(error, AggregateError::CutOff { .. });
    let error = match error {
        AggregateError::Read { error, .. } if SegmentFault::of(&error).is_some() => {
            return RunError::read(path, error);
        }
        error => error,
    };
    if let AggregateError::Row { row, fault, .. } = &error
        && let Some((segment, line)) = segment_of(path, *row)
    {
        return RunError::in_file(&segment, Some(line), format!("score row {row}: {fault}"));
    }
    let refused = RunError::in_file(path, None, error.to_string()).with_source(error);
    match is_cut_off {
        true => refused.with_help(notice![
            dir.evaluate_command(target),
            " writes the file again"
        ]),
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
