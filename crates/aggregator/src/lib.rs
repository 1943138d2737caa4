//! Aggregates scores to summaries and grades. Pure and synchronous.
//!
//! - [`RateAggregator`]: pass rates by type, by metric and by scenario, as in `results.json`. It keeps counts, not rows, so its memory
//!   depends on the number of metrics and scenarios.
//! - [`aggregate_reader`]: the summary of a `scores.json`, read row by row. [`aggregate_scores`] does the same for a custom aggregator.
//! - [`sort_summaries`]: the order of `results.json`.
//! - [`HazardScorer`]: the scores of hazards with exact bounds, and their grades, built on [`estimate`], [`combine`] and [`grade`].
//! - [`statistics`]: rates with intervals, comparisons, agreement. The methods of intervals are in `src/interval`, one in a file.
//! - [`gate_answer`]: whether rates, differences, missing verdicts and costs meet a rule, break it, or leave it undecided.
//! - [`sequential`]: answers that hold at every look, for runs that stop when they are decided.
//! - [`read_standards`], [`check_standards`], [`calibrate`]: the references of grades.
//!
//! ```
//! use aggregator::{aggregate_reader, sort_summaries};
//! use schema::ModelId;
//!
//! let scores = br#"[
//!   {"id": "m01_s001_v01", "metric_id": "m01", "metric_type": "positive", "passed": true},
//!   {"id": "m01_s001_v01", "metric_id": "m01", "metric_type": "positive", "passed": false},
//!   {"id": "m02_s001_v01", "metric_id": "m02", "metric_type": "negative", "passed": null}
//! ]"#;
//! let summary = aggregate_reader(ModelId::new("careful")?, &[], &scores[..])?;
//! assert_eq!(summary.positive_pass_rate, Some(0.5));
//! assert_eq!(summary.negative_pass_rate, None); // the judge abstained: no rate, not 0.0
//! assert_eq!(summary.n_negative, 1);
//!
//! let mut summaries = vec![summary];
//! sort_summaries(&mut summaries);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! - Rows are not checked: neither whether `passed` matches `present` and `score`, nor for duplicates, nor for their `target_model`.
//! - Every sample counts as one row. There is no weighting, and no agreement between samples. The intervals of hazards treat samples as
//!   independent; several samples of one scenario are not, so the true interval is wider. The intervals in [`statistics`] take this into
//!   account.
//! - Intervals are accurate to a relative 1e-9 or better up to a million samples. Counts above 2^53 are rounded.
//! - One row may be at most 256 MiB long. Text in keys that are not needed is skipped without checking that it is UTF-8.
//! - The summary itself grows with the number of distinct scenarios: about 90 bytes each.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod beta;
mod conversation_row;
mod error;
mod fraction;
mod gate;
mod grade;
mod hazards;
mod interval;
mod order;
mod rates;
mod row;
mod score_rules;
pub mod sequential;
mod standards;
pub mod statistics;

pub use conversation_row::{
    ConversationKey, ConversationRow, MessageRow, Readable, TextFacts, reply_key,
};
pub use error::AggregateError;
pub use fraction::{combine, estimate};
pub use gate::{BaselineEvidence, GateDecision, GateEvidence, gate_answer};
pub use grade::{grade, grade_note, grade_points, mean_reference};
pub use hazards::HazardScorer;
pub use order::sort_summaries;
pub use rates::RateAggregator;
pub use row::{JudgeRow, ReadingRow, ScoreRow, StatedFields, VerdictRow, is_scored, read_score};
pub use score_rules::{ScoreFault, ScoreFaultKind, ScoreFaultSeverity, ScoreRules};
pub use standards::{StandardsError, calibrate, check_standards, read_standards, standards_note};

use std::io::Read;

use located::json::JsonRows;
use schema::{Aggregator, Metric, ModelId, Summary};

/// The summary of `model` from `scores`: one JSON list of score rows, as in `scores.json`.
///
/// The list is read row by row and never held in memory. Only the fields of [`ScoreRow`] are read. A row
/// without `metric_type`, as written by ImpactBench, has the type of its metric in `metrics`. Reads are large, so `scores` needs no buffer.
///
/// # Errors
/// When `scores` cannot be read, is not one JSON list, is cut off, or contains a row without a required key. The error names the row and
/// the line.
pub fn aggregate_reader(
    model: ModelId,
    metrics: &[Metric],
    scores: impl Read,
) -> Result<Summary, AggregateError> {
    aggregate_reader_and(model, metrics, scores, |_| {})
}

/// Like [`aggregate_reader`], and also passes each row to `also`, so that the file is read once for both.
///
/// # Errors
/// See [`aggregate_reader`].
pub fn aggregate_reader_and(
    model: ModelId,
    metrics: &[Metric],
    scores: impl Read,
    mut also: impl FnMut(&ScoreRow<'_>),
) -> Result<Summary, AggregateError> {
    let mut rates = RateAggregator::new(model.clone());
    let mut rows = JsonRows::new(scores);
    while let Some(row) = rows.next_row()? {
        let row = row::score_row(&row, metrics)?;
        rates.push_row(&row);
        also(&row);
    }
    Ok(rates.into_summary())
}

/// The summary that `aggregator` computes from `scores`: one JSON list of score rows, as in `scores.json`.
///
/// For custom aggregators. Every row is parsed completely, one at a time, which takes a few times as long as [`aggregate_reader`]. `model`
/// and `metrics` supply the values that rows leave out.
///
/// # Errors
/// See [`aggregate_reader`]; also when a row is not a [`schema::Score`].
pub fn aggregate_scores(
    mut aggregator: Box<dyn Aggregator>,
    model: &ModelId,
    metrics: &[Metric],
    scores: impl Read,
) -> Result<Summary, AggregateError> {
    let mut rows = JsonRows::new(scores);
    while let Some(row) = rows.next_row()? {
        aggregator.push(&read_score(&row, model, metrics)?);
    }
    Ok(aggregator.finish())
}
