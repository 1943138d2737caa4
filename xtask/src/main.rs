//! The commands of Probity: the command line, configuration, progress, and wiring. Nothing here knows what a phase does.

use std::process::ExitCode;

mod bench;
mod benchmarks;
mod cli;
mod commands;
mod config;
mod exit;
mod flags;
mod logging;
mod open_files;
mod panic;
mod progress;
mod shipped;
mod terminal;

/// A call allocates buffers of several sizes above a kilobyte, for which the system's allocator is slow: it returns memory to the
/// system and asks for it again at almost every call.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    open_files::raise();
    commands::dispatch(cli::Cli::from_command_line()).into()
}
