//! The commands of Probity: the command line, configuration, progress, and wiring. Nothing here knows what a phase does.

use std::process::ExitCode;

use clap::Parser;

mod bench;
mod benchmarks;
mod cli;
mod commands;
mod config;
mod exit;
mod flags;
mod logging;
mod panic;
mod progress;
mod shipped;
mod terminal;

fn main() -> ExitCode {
    commands::dispatch(cli::Cli::parse()).into()
}
