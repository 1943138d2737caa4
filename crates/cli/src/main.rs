//! The command `probity`, with the shipped phases.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

use std::process::ExitCode;

fn main() -> ExitCode {
    probity_cli::Program::of_process().run()
}
