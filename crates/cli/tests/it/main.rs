//! The command as its users see it: each file starts the real binary. One test binary, since linking one for each file takes
//! longer than all the tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failure ends the test"
)]

mod advice;
mod agentic;
mod bad_endpoints;
mod bad_files;
mod baseline;
mod cache;
mod cached_rows;
mod calibrate;
mod cli;
mod common;
mod compare;
mod configuration;
mod dead_endpoints;
mod denied_keys;
mod derived_files;
mod earlier_journals;
mod export;
mod export_again;
mod export_agentic;
mod export_bad_input;
mod export_intervals;
mod export_runs;
mod export_safety;
mod exports;
mod findings;
mod frozen;
mod full_disk;
mod gate;
mod gate_baseline;
mod gate_safety;
mod golden;
mod grouped_counts;
mod hints;
mod hints_of_the_library;
mod http_app;
mod impactbench;
mod impactbench_generations;
mod import;
mod import_accounts;
mod import_bad_input;
mod import_inspect;
mod import_odd_input;
mod import_roles;
mod import_samples;
mod import_tree;
mod import_verdicts;
mod imports;
mod incomplete_replies;
mod interrupt;
mod journal;
mod journals;
mod judges;
mod kept_rows;
mod kill;
mod killed_commands;
mod label_command;
mod label_import;
mod label_report;
mod label_results;
#[cfg(target_os = "linux")]
mod label_terminal;
mod labels;
mod logs;
mod measured_alike;
mod modelbench;
mod open_files;
mod opened_files;
mod phase_alone;
mod plan_and_json;
mod played_alike;
mod progress;
mod prompt_versions;
mod read_only;
mod realism;
mod report;
mod report_formats;
mod report_page;
mod report_safety;
mod report_trees;
mod rewritten;
mod runs_prune;
mod safety;
mod safety_bad_input;
mod safety_full_disk;
mod safety_gate;
mod safety_golden;
mod safety_interrupt;
mod safety_project;
mod schemas;
mod screen;
mod secrets;
mod simulator_faults;
mod special_files;
mod status;
mod subfolders;
mod target_replies;
mod target_versions;
mod tls;
mod tree;
mod typos;
mod unfinished_runs;
mod usability;
mod useless_judges;
mod validate;
mod verdicts;
mod versions;
mod view;
mod waits;
