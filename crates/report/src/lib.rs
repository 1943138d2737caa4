//! Results for people to read: plain text that fits a terminal, and the report as an [HTML page](html).
//!
//! Tables are [`Sheet`]s, which [`sheets_text`] and [`sheets_markdown`] render. All other functions take values and return a `String`; the
//! caller prints it. Widths are in terminal columns.
//!
//! - [`answer`]: the sentence that says which model passes most, and how sure that is.
//! - [`briefs_text`]: the results of a run in the few lines that a terminal ends with.
//! - [`results_table`], [`metrics_sheets`]: the rates per model, and by metric.
//! - [`grades_sheet`], [`standards_sheet`]: grades, and what they compare with.
//! - [`compared_text`], [`comparison_sheets`]: which targets differ, and which differences the data could have shown.
//! - [`gate_text`], [`gate_markdown`]: the answers of a gate.
//! - [`people_sheets`], [`judge_check_text`], [`judge_check_markdown`]: the agreement of judges with people.
//! - [`judges_sheet`], [`realism_sheet`]: the judges of a panel, and how realistic judges find the conversations.
//! - [`label_metric`], [`label_conversation`], [`label_verdict`]: a row that a person labels.
//! - [`failures_summary`]: the reasons of failures, each once.
//! - [`status_text`]: the state of a run in progress.
//! - [`spending_texts`]: the calls, tokens and cost of a run.
//! - [`safety_brief`], [`safety_summary`]: the results of a safety evaluation.
//! - [`plan_table`]: the calls and cost that a run would need; [`metric_plan_table`]: the differences that it could show;
//!   [`until_decided_text`]: how soon it stops.
//! - [`report_markdown`], [`report_figures`], [`report_latex`], [`report_methods`]: the report in other formats.
//! - [`checks_table`]: whether models can be used.
//! - [`files_list`]: the path of each file.
//! - [`journal_item`], [`journal_line`], [`journal_findings`]: the contents of a journal.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use report::{BenchmarkResults, results_table};
//! use schema::{ModelId, PhaseCost, statistics::{RateStatistics, Rates, Statistics, TargetStatistics}};
//!
//! let careful = ModelId::new("careful")?;
//! let positive = RateStatistics {
//!     passed: 2,
//!     rows: 3,
//!     scenarios: 3,
//!     estimate: Some(2.0 / 3.0),
//!     lower: Some(0.0943),
//!     upper: Some(0.9916),
//!     ..RateStatistics::default()
//! };
//! let rates = Rates {
//!     all: positive.clone(),
//!     positive,
//!     negative: RateStatistics::default(),
//!     hazards: BTreeMap::new(),
//!     metrics: BTreeMap::new(),
//! };
//! let target = TargetStatistics { rates, ..TargetStatistics::new(careful.clone()) };
//! let statistics = Statistics {
//!     format: Statistics::FORMAT.to_owned(),
//!     level: 0.95,
//!     method: Statistics::METHOD.to_owned(),
//!     correction: Statistics::CORRECTION.to_owned(),
//!     targets: vec![target],
//!     comparisons: vec![],
//!     corrected_differences: vec![],
//! };
//! let cost = PhaseCost { cost: Some(0.0123), ..PhaseCost::default() };
//! let table = results_table(
//!     &[BenchmarkResults {
//!         name: "honesty",
//!         statistics: &statistics,
//!         costs: &BTreeMap::from([(careful, cost)]),
//!         verdicts: &[],
//!     }],
//!     80,
//! );
//! assert_eq!(
//!     table,
//!     "honesty\n\
//!      \x20 model    metrics   rate  95% interval  rows  scenarios  no verdict\n\
//!      \x20 careful  positive   67%          9–99     3          3           0\n\
//!      \x20 Cost: careful 1.2 cents.\n"
//! );
//! # Ok::<(), schema::IdError>(())
//! ```
//!
//! # Limits
//! - Text is shown left to right, without colours.
//! - Widths of characters come from Unicode. A terminal that draws some emoji wider or narrower shows ragged columns.
//! - A shortened text may be cut between a letter and its accent.
//! - [`FailureGroups`] distinguishes at most 200 reasons; the rest are counted together.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod brief;
mod checks;
mod compared;
mod comparisons;
mod day;
mod failures;
mod files;
mod findings;
mod formats;
mod gate;
mod grades;
pub mod html;
mod journal;
mod judge_check;
mod judges;
mod label;
mod metric_plans;
mod model_mark;
mod numbers;
mod overview;
mod people;
mod plan;
pub mod prompt_caches;
mod realism;
mod results;
mod run_status;
mod safety;
mod spending;
mod terminal;
mod text;
mod text_chart;

pub use brief::{Brief, briefs_text, labelled_text, limits_text};
pub use checks::{ModelCheck, checks_table};
pub use compared::{ComparedTargets, compared_text};
pub use comparisons::comparison_sheets;
pub use failures::{Failure, FailureGroup, FailureGroups, failure_reasons, failures_summary};
pub use files::{FileEntry, files_list};
pub use findings::{finding_lines, finding_list};
pub use formats::{ReportFigure, report_figures, report_latex, report_markdown, report_methods};
pub use gate::{gate_markdown, gate_text};
pub use grades::{grades_sheet, standards_sheet};
pub use interop::{
    figures::{corrected_differences_sheet, people_sheet},
    sheet::{Cell, Column, Sheet, Value},
};
pub use journal::{
    JournalFinding, JournalItem, JournalStep, journal_findings, journal_item, journal_line,
};
pub use judge_check::{judge_check_markdown, judge_check_text};
pub use judges::judges_sheet;
pub use label::{label_conversation, label_hidden, label_metric, label_question, label_verdict};
pub use metric_plans::{metric_plan_table, until_decided_text};
pub use overview::{Answer, answer};
pub use people::{compared_people_sheet, corrected_width, people_sheets};
pub use plan::{PlanRow, Span, plan_table};
pub use realism::realism_sheet;
pub use results::{BenchmarkResults, TargetVerdicts, metrics_sheets, results_table};
pub use run_status::status_text;
pub use safety::{safety_brief, safety_summary};
pub use spending::{Spending, spending_texts};
pub use terminal::{sheets_markdown, sheets_text};
