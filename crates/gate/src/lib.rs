//! The gate: does a benchmark, or a safety evaluation, meet the rules that a project wrote down?
//!
//! - [`read_gate_rules`] reads a `gate.yaml`: rules, each with a scope (all rows, a metric, a hazard, a rate of safety results) and a
//!   requirement (a bound of the interval, a difference to a baseline, missing rows, a cost).
//! - [`gate()`] answers the rules for the folder of a benchmark, [`gate_safety`] for result files of safety evaluations. Each answer is
//!   pass, fail or cannot say, with its reason; the differences of one rule, over its targets and metrics, are corrected together.
//! - [`baseline()`] and [`baseline_safety`] write the counts that later answers compare with.
//!
//! It calls no model and reads no configuration. The statistics behind an answer are `aggregator::gate_answer`; the form of
//! `baseline.json` and what makes two measurements comparable are `store`'s; how an answer is shown is the caller's.
//!
//! ```
//! use gate::{GateOptions, gate};
//! use schema::gate::GateAnswer;
//! use store::Layout;
//!
//! let folder = tempfile::tempdir()?;
//! let root = folder.path().join("calm");
//! std::fs::create_dir_all(root.join("runs/gpt"))?;
//! std::fs::write(root.join("benchmark.yaml"), "metrics: [{id: m01, name: Calm, type: positive, definition: It stays calm.}]\n")?;
//! std::fs::write(root.join("scenarios.json"), r#"[{"id": "m01_s001_v01", "metric_id": "m01", "metric_name": "Calm", "metric_type": "positive"}]"#)?;
//! std::fs::write(
//!     root.join("runs/gpt/scores.json"),
//!     r#"[{"id": "m01_s001_v01", "conv_id": "a", "metric_id": "m01", "metric_type": "positive", "passed": true, "score": 1}]"#,
//! )?;
//! let rules = folder.path().join("gate.yaml");
//! std::fs::write(&rules, "rules:\n- require: lower >= 0.8\n")?;
//!
//! let report = gate(&Layout::new(folder.path()), "calm", &GateOptions { rules, ..GateOptions::default() })?;
//! // A single row passed: the interval reaches far below 0.8.
//! assert_ne!(report.answer, GateAnswer::Pass);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! - The counts of all rows of a target are in memory, not the rows.
//! - A rule is about the rows that exist when it is read: a gate of a running benchmark is not corrected for looking early.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod baseline;
mod benchmark;
mod rows;
mod rules;
mod safety;

pub use baseline::{BaselineOptions, WrittenBaseline, baseline, baseline_safety};
pub use benchmark::{GateOptions, check_gate, gate};
pub use rows::is_about;
pub use rules::{GateMistake, GateNames, GateSubject, gate_rules, read_gate_rules};
pub use safety::{check_safety_gate, gate_safety};
