//! `completions`: scripts that let a shell complete the command line.

use clap::Args;
use clap_complete::Shell;

use super::Context;
use crate::{
    completion,
    exit::{Exit, Failure},
};

/// Print the completion script of a shell
#[derive(Clone, Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints the script of a shell.
///
/// # Errors
/// When the program's name consists of two words: shells complete `cargo`, and not `cargo xtask`.
pub fn run(context: &Context, args: &CompletionsArgs) -> Result<Exit, Failure> {
    let shell = args.shell;
    let program = context.program.name();
    if program.contains(char::is_whitespace) {
        return Err(Failure::usage(format!(
            "shells do not complete the commands of `{program}`, only those of an installed program\nhelp: cargo install --path \
             crates/cli, then `probity completions {shell}`"
        )));
    }
    let script = completion::script(shell, program).map_err(|error| {
        Failure::nothing_ran(format!("no script can be written for {shell}: {error}"))
    })?;
    context.terminal.print_data(&script);
    Ok(Exit::Complete)
}
