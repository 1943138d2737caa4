//! `completions`: scripts that let a shell complete the command line.

use clap_complete::{Shell, generate};

use super::Context;
use crate::exit::{Exit, Failure};

/// Prints the script of `shell` for the command line `line`.
///
/// # Errors
/// When the program's name consists of two words: shells complete `cargo`, and not `cargo xtask`.
pub fn run(context: &Context, mut line: clap::Command, shell: Shell) -> Result<Exit, Failure> {
    let program = context.layout.program().to_owned();
    if program.contains(char::is_whitespace) {
        return Err(Failure::usage(format!(
            "shells do not complete the commands of `{program}`, only those of an installed program\nhelp: cargo install --path \
             crates/cli, then `probity completions {shell}`"
        )));
    }
    let mut script = Vec::new();
    generate(shell, &mut line, program, &mut script);
    context
        .terminal
        .print_data(&String::from_utf8_lossy(&script));
    Ok(Exit::Complete)
}
