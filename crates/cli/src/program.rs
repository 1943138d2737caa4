//! The program around the commands.

use std::{env, ffi::OsString, path::Path, process::ExitCode, sync::Arc};

use clap::{ArgMatches, FromArgMatches};
use probity::{Models, Phases};

use crate::{
    cli::{Cli, command, parse},
    commands, completion, open_files,
};

/// Replaces shipped phases by custom ones. It also gets the models of the run. It is called once for each run, and a second time to
/// look up what is cached.
pub type ChangePhases = Arc<dyn Fn(&mut Phases, &Models) + Send + Sync>;

/// Runs an additional command.
type Run = fn(&ArgMatches) -> ExitCode;

/// The command line of Probity under a given name, with custom phases and additional commands.
pub struct Program {
    name: String,
    change_phases: Option<ChangePhases>,
    more: Vec<(clap::Command, Run)>,
}

/// Runs the whole command line, with `change_phases` applied to the shipped phases. Hints name the program as it was started.
pub fn main(change_phases: impl Fn(&mut Phases, &Models) + Send + Sync + 'static) -> ExitCode {
    Program::of_process().phases(change_phases).run()
}

impl Program {
    /// The command line of a program with the name `name` in help and hints, such as `cargo xtask`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            change_phases: None,
            more: Vec::new(),
        }
    }

    /// The command line with the name under which this process was started; `probity` if that is unknown.
    #[must_use]
    pub fn of_process() -> Self {
        let file = env::args_os().next();
        let stem = file.as_deref().map(Path::new).and_then(Path::file_stem);
        let name = stem.and_then(|stem| stem.to_str()).unwrap_or("probity");
        Self::new(name)
    }

    /// Applies `change` to the shipped phases.
    #[must_use]
    pub fn phases(mut self, change: impl Fn(&mut Phases, &Models) + Send + Sync + 'static) -> Self {
        self.change_phases = Some(Arc::new(change));
        self
    }

    /// Adds a command to those of Probity.
    #[must_use]
    pub fn command(mut self, command: clap::Command, run: Run) -> Self {
        self.more.push((command, run));
        self
    }

    /// Parses the command line of the process and runs the command. All errors are reported when this returns.
    #[must_use]
    pub fn run(self) -> ExitCode {
        open_files::raise();
        let arguments: Vec<OsString> = env::args_os().collect();
        let more = self.more.iter().map(|(command, _)| command.clone());
        let line = command(&self.name, more);
        if let Some(exit) = completion::answer(&line) {
            return exit;
        }
        let matches = match parse(line.clone(), &arguments) {
            Ok(matches) => matches,
            Err(error) => error.exit(),
        };
        let own = matches.subcommand().and_then(|(name, matches)| {
            let (_, run) = self.more.iter().find(|(own, _)| own.get_name() == name)?;
            Some(run(matches))
        });
        if let Some(exit) = own {
            return exit;
        }
        match Cli::from_arg_matches(&matches) {
            Ok(cli) => commands::dispatch(cli, line, self.change_phases).into(),
            Err(error) => error.exit(),
        }
    }
}
