//! The command `probity`: flags, loading the configuration, progress, and wiring. This crate knows no details of the phases.
//!
//! [`main()`] is the whole command line with custom phases: `run`, `plan`, resuming by running again, `journal`, `export` and the rest.
//! A program needs only this dependency; the library is re-exported as [`probity`].
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     probity_cli::main(|phases, _models| {
//!         phases.aggregator = None; // or an aggregator, a simulator, an evaluator of one's own
//!     })
//! }
//! ```
//!
//! `examples/own_evaluator.rs` is such a program, in 30 lines.
//!
//! # Limits
//! - `plan` counts the calls of the shipped phases, not those of custom ones.
//! - Safety evaluations do not support custom phases here: use `probity::safety::SafetyRun`.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod benchmarks;
mod cli;
mod commands;
mod completion;
mod config;
mod exit;
mod flags;
mod logging;
mod open_files;
mod panic;
mod program;
mod progress;
mod project;
mod shipped;
mod terminal;

pub use commands::output_schema;
pub use config::schema as config_schema;
pub use probity;
pub use program::{ChangePhases, Program, main};
