//! The program around the commands.

use std::{env, ffi::OsString, path::Path, process::ExitCode, sync::Arc};

use clap::{ArgMatches, FromArgMatches};
use probity::{Models, Phases};

use crate::{
    cli::{Cli, command, parse},
    commands, open_files,
};

/// Puts phases of one's own into the places of shipped ones. It gets the models of the run too. It is called once for each run, and
/// a second time to look up what is cached.
pub type ChangePhases = Arc<dyn Fn(&mut Phases, &Models) + Send + Sync>;

/// What a further command does.
type Run = fn(&ArgMatches) -> ExitCode;

/// The command line of Probity under a name, with phases and further commands of one's own.
pub struct Program {
    name: String,
    change_phases: Option<ChangePhases>,
    more: Vec<(clap::Command, Run)>,
}

/// The whole command line, with `change_phases` applied to the shipped phases. Hints name the program as it was started.
pub fn main(change_phases: impl Fn(&mut Phases, &Models) + Send + Sync + 'static) -> ExitCode {
    Program::of_process().phases(change_phases).run()
}

impl Program {
    /// The command line of a program that is called `name` in help and hints: `cargo xtask`, for one.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            change_phases: None,
            more: Vec::new(),
        }
    }

    /// The same, called as this process was started; `probity` where that is not known.
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

    /// Adds a command beside those of Probity.
    #[must_use]
    pub fn command(mut self, command: clap::Command, run: Run) -> Self {
        self.more.push((command, run));
        self
    }

    /// Reads the command line of the process and does what it says. Errors have been reported when this returns.
    #[must_use]
    pub fn run(self) -> ExitCode {
        open_files::raise();
        let arguments: Vec<OsString> = env::args_os().collect();
        let more = self.more.iter().map(|(command, _)| command.clone());
        let line = command(&self.name, more);
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
