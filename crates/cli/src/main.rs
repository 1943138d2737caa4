//! The command `probity`, with the shipped phases.

use std::process::ExitCode;

fn main() -> ExitCode {
    probity_cli::Program::of_process().run()
}
