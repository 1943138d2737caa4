//! `man`: the manual pages.

use std::{fs, path::PathBuf};

use clap::Args;

use super::Context;
use crate::exit::{Exit, Failure};

/// Write the manual pages into a folder
#[derive(Clone, Debug, Args)]
pub struct ManArgs {
    /// The folder, such as ~/.local/share/man/man1; made where it is missing
    folder: PathBuf,
}

/// Writes a manual page for each command of the command line `line` into the folder, which is created if it is missing.
///
/// # Errors
/// When the program's name consists of two words, which cannot name a manual page, or the folder cannot be written.
pub fn run(context: &Context, line: clap::Command, args: &ManArgs) -> Result<Exit, Failure> {
    let folder = &args.folder;
    let program = context.program.name().to_owned();
    if program.contains(char::is_whitespace) {
        return Err(Failure::usage(format!(
            "there are no manual pages of `{program}`, only those of an installed program\nhelp: cargo install --path crates/cli, then \
             `probity man {}`",
            folder.display()
        )));
    }
    let unwritten = |error: std::io::Error| {
        Failure::nothing_ran(format!("{}: cannot write: {error}", folder.display()))
    };
    fs::create_dir_all(folder).map_err(unwritten)?;
    clap_mangen::generate_to(line.name(program), folder).map_err(unwritten)?;
    context
        .terminal
        .print(&format!("wrote manual pages into {}\n", folder.display()));
    Ok(Exit::Complete)
}
