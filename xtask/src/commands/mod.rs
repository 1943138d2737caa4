//! The commands.

mod doctor;
mod git;
mod init;
mod models;
mod plan;
mod run;
mod summary;

use std::path::Path;

use pipeline::{Layout, Phase};

use crate::{
    cli::{Cli, Command, Global, Overrides},
    config::{self, Config},
    exit::{Exit, Failure},
    logging, panic,
    terminal::Terminal,
};

/// What every command works with.
pub struct Context {
    /// The flags that hold for every command.
    pub global: Global,
    /// Where to write.
    pub terminal: Terminal,
    /// Where the files are.
    pub layout: Layout,
}

/// Does what the command line says. Errors have been told when this returns.
pub fn dispatch(cli: Cli) -> Exit {
    let terminal = Terminal::new(&cli.global);
    panic::install(&terminal);
    let layout = Layout::new(&cli.global.benchmarks);
    let context = Context {
        global: cli.global,
        terminal,
        layout,
    };
    let done = match cli.command {
        Command::Run(args) => run::run(&context, args, &Phase::ALL),
        Command::GenMetrics(args) => run::run(&context, args, &[Phase::GenMetrics]),
        Command::GenScenarios(args) => run::run(&context, args, &[Phase::GenScenarios]),
        Command::Simulate(args) => run::run(&context, args, &[Phase::Simulate]),
        Command::Evaluate(args) => run::run(&context, args, &[Phase::Evaluate]),
        Command::Aggregate(args) => run::run(&context, args, &[Phase::Aggregate]),
        Command::Plan(args) => plan::run(&context, &args),
        Command::Doctor(overrides) => doctor::run(&context, &overrides),
        Command::Bench(args) => bench(args),
        Command::Init { name } => init::run(&context, &name),
    };
    done.unwrap_or_else(|failure| {
        context.terminal.error(&failure.to_string());
        failure.exit
    })
}

fn bench(args: crate::bench::BenchArgs) -> Result<Exit, Failure> {
    let done = Context::runtime()?.block_on(crate::bench::run(args));
    done.map(|()| Exit::Complete)
        .map_err(|error| Failure::nothing_ran(format!("the benchmark failed: {error}")))
}

impl Context {
    /// Loads the configuration and starts diagnostics.
    fn configure(&self, overrides: &Overrides) -> Result<Config, Failure> {
        let flags = overrides.flags();
        let config = config::load(
            Path::new(""),
            self.global.config.as_deref(),
            &flags,
            self.global.scripted,
        )?;
        logging::start(&self.global, config.settings.verbose, &self.terminal)?;
        for warning in &config.warnings {
            self.terminal.warning(warning);
        }
        Ok(config)
    }

    /// Says that the models are scripted, where any is.
    fn tell_scripted(&self, config: &Config) {
        let models = &config.settings.models;
        if models
            .all()
            .all(|model| model.route == config::Route::Scripted)
        {
            let why = match (self.global.scripted, &config.settings.file) {
                (true, _) => "--scripted",
                (false, Some(_)) => "the config says so",
                (false, None) => "there is no config file",
            };
            self.terminal.note(&format!(
                "all models are scripted ({why}): a server in this process plays them by fixed rules. The results show how \
                 Probity works and say nothing about a real model; `cargo xtask init NAME` writes a config for real ones"
            ));
        } else if models.any_scripted() {
            self.terminal.note("some of the models are scripted: a server in this process plays them by fixed rules");
        }
    }

    /// A runtime for the commands that call models.
    fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::nothing_ran(format!("no threads can be started: {error}")))
    }
}
