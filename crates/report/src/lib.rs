//! Results for people to look at: plain text, made to fit a terminal.
//!
//! Everything here takes values and gives a `String`; printing is up to the caller. Widths are in terminal columns.
//!
//! - [`results_table`]: the rates per model.
//! - [`grades_table`], [`standards_table`]: the scores of hazards, their bounds and grades, and what grades compare with.
//! - [`failures_summary`]: what failed and why, each reason once.
//! - [`spending_lines`]: what was asked for and paid.
//! - [`safety_summary`], [`safety_spending`]: what a safety evaluation found.
//! - [`plan_table`]: what a run would ask for and cost.
//! - [`checks_table`]: whether models can be used.
//! - [`files_list`]: where each file lies.
//! - [`journal_item`], [`journal_line`], [`journal_tables`],
//!   [`journal_findings`]: what a journal tells.
//!
//! ```
//! use std::collections::BTreeMap;
//! use report::{BenchmarkResults, results_table};
//! use schema::{MetricType, ModelId, PhaseCost, Rate, Summary};
//!
//! let careful = ModelId::new("careful")?;
//! let summary = Summary {
//!     target_model: careful.clone(),
//!     positive_pass_rate: Some(0.6667),
//!     negative_pass_rate: None,
//!     n_positive: 4,
//!     n_negative: 0,
//!     n_total: 4,
//!     by_metric: BTreeMap::from([("m01".to_owned(), Rate::new(2, 3))]),
//!     by_scenario: BTreeMap::new(),
//! };
//! let cost = PhaseCost { cost: Some(0.0123), ..PhaseCost::default() };
//! let table = results_table(
//!     &[BenchmarkResults {
//!         name: "honesty",
//!         summaries: &[summary],
//!         metric_types: &BTreeMap::from([("m01".to_owned(), MetricType::Positive)]),
//!         costs: &BTreeMap::from([(careful, cost)]),
//!         replies: &[],
//!     }],
//!     80,
//! );
//! assert_eq!(
//!     table,
//!     "honesty\n\
//!      \x20 model       positive  negative  rows  unscored     cost\n\
//!      \x20 careful  66.7% (2/3)         -     4         1  $0.0123\n"
//! );
//! # Ok::<(), schema::IdError>(())
//! ```
//!
//! # Limits
//! - Text is shown left to right, without colours.
//! - How wide a character is, is taken from Unicode; a terminal that draws some emoji wider or narrower shows ragged columns.
//! - A text that is shortened may be cut between a letter and its accent.
//! - The rates of [`results_table`] come without intervals.
//! - [`FailureGroups`] tells at most 200 different reasons apart; the rest are counted together.

mod checks;
mod failures;
mod files;
mod grades;
mod journal;
mod numbers;
mod plan;
mod results;
mod safety;
mod spending;
mod table;
mod text;

pub use checks::{ModelCheck, checks_table};
pub use failures::{Failure, FailureGroup, FailureGroups, failure_reasons, failures_summary};
pub use files::{FileEntry, files_list};
pub use grades::{grades_table, standards_table};
pub use journal::{
    JournalCell, JournalFinding, JournalItem, JournalStep, JournalTable, journal_findings,
    journal_item, journal_line, journal_tables,
};
pub use plan::{PlanRow, Span, plan_table};
pub use results::{BenchmarkResults, results_table};
pub use safety::{safety_spending, safety_summary};
pub use spending::{Spending, spending_lines};
