//! The commands.

mod aggregate;
mod baseline;
mod cache;
mod calibrate;
mod command_hints;
mod compare;
mod completions;
mod demonstration;
mod doctor;
mod elsewhere;
mod evaluate;
mod export;
mod findings;
mod force_rows;
mod forecast;
mod gate;
mod gen_metrics;
mod gen_scenarios;
mod git;
mod import;
mod import_data;
mod imported;
mod init;
mod journal;
mod judge_check;
mod label;
mod label_words;
mod list;
mod logs;
mod man;
mod merge;
mod missing_rows;
mod models;
mod needs;
mod output;
mod pack;
mod plan;
mod plan_budget;
mod plan_view;
mod problems;
mod replaced_files;
mod replay;
mod replies;
mod report;
mod report_file;
mod results;
mod row_flags;
mod run;
mod run_output;
mod run_report;
mod runs;
mod safety;
mod safety_files;
mod session;
mod shard;
mod show;
mod signals;
mod simulate;
mod status;
mod traced;
mod trial;
mod typos;
mod unpriced;
mod unscored;
mod until;
mod unused_tools;
mod validate;
mod verdicts;
mod view;
#[cfg(feature = "cluster")]
mod worker;
mod workflow;

pub use aggregate::AggregateArgs;
pub use baseline::BaselineArgs;
pub use cache::CacheCommand;
pub use calibrate::CalibrateArgs;
pub use compare::CompareArgs;
pub use completions::CompletionsArgs;
pub use doctor::DoctorArgs;
pub use evaluate::EvaluateArgs;
pub use export::ExportArgs;
pub use gate::GateArgs;
pub use gen_metrics::GenMetricsArgs;
pub use gen_scenarios::GenScenariosArgs;
pub use import::ImportArgs;
pub use init::InitArgs;
pub use journal::JournalCommand;
pub use judge_check::JudgeCheckArgs;
pub use label::LabelArgs;
pub use list::ListArgs;
pub use man::ManArgs;
pub use merge::MergeArgs;
pub use output::schema as output_schema;
pub use pack::PackArgs;
pub use plan::PlanArgs;
pub use replay::ReplayArgs;
pub use report::ReportArgs;
pub use run::{PhaseArgs, RunArgs};
pub use runs::RunsCommand;
#[cfg(test)]
pub use safety::SafetyArgs;
pub use safety::SafetyCommand;
pub use shard::ShardArgs;
pub use show::ShowArgs;
pub use simulate::SimulateArgs;
pub use status::StatusArgs;
#[cfg(test)]
pub use until::STOPS;
pub use validate::ValidateArgs;
pub use view::ViewArgs;
#[cfg(feature = "cluster")]
pub use worker::WorkerArgs;

use probity::{Layout, Models, PhaseSettings, Phases, standard_phases};
use schema::ProgramName;

use crate::{
    ChangePhases,
    benchmarks::choose,
    cli::{Cli, Command, Global},
    config::{self, Config, ConfigError},
    exit::{Exit, Failure, Problems},
    flags::Overrides,
    logging, panic,
    project::Project,
    terminal::Terminal,
};

/// The shared state of all commands.
#[derive(Clone)]
pub struct Context {
    /// The flags of every command.
    pub global: Global,
    /// The terminal for output.
    pub terminal: Terminal,
    /// The paths of files.
    pub layout: Layout,
    /// The program's name, and on which benchmarks it works: for commands in messages.
    pub program: ProgramName,
    /// The project, which determines the default configuration.
    pub project: Project,
    /// Replaces some of the shipped phases.
    pub change_phases: Option<ChangePhases>,
}

/// Runs the command in `cli`, which was parsed by the command line `line`. All errors are reported when this returns.
pub fn dispatch(cli: Cli, line: clap::Command, change_phases: Option<ChangePhases>) -> Exit {
    let terminal = Terminal::new(&cli.global);
    panic::install(&terminal);
    let project = Project::find();
    let program = ProgramName::new(line.get_name());
    let (layout, program) = match &cli.global.benchmarks {
        Some(folder) => (Layout::new(folder), program.for_benchmarks(folder)),
        None => {
            let layout = Layout::of_project(project.root());
            let program = program.finding(layout.benchmarks());
            (layout, program)
        }
    };
    let context = Context {
        global: cli.global,
        terminal,
        layout,
        program,
        project,
        change_phases,
    };
    if !matches!(
        cli.command,
        Command::Validate(_) | Command::Completions(_) | Command::Man(_)
    ) {
        context.report_project();
    }
    let done = logging::start(&context.global, &context.terminal)
        .and_then(|()| run_command(cli.command, &context, line));
    let exit = done.unwrap_or_else(|failure| {
        context.terminal.error(&failure.text(&context.program));
        failure.exit
    });
    // The caller has no result, even if the work succeeded. A run that was interrupted because its terminal was closed keeps that exit
    // code.
    match context.terminal.unwritten() {
        Some(why) if exit != Exit::Interrupted => {
            context.terminal.error(why);
            Exit::NothingRan
        }
        _ => exit,
    }
}

fn run_command(command: Command, context: &Context, line: clap::Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(args) => run::run(context, args),
        Command::GenMetrics(args) => gen_metrics::run(context, args),
        Command::GenScenarios(args) => gen_scenarios::run(context, args),
        Command::Simulate(args) => simulate::run(context, args),
        Command::Evaluate(args) => evaluate::run(context, args),
        Command::Aggregate(args) => aggregate::run(context, args),
        Command::Calibrate(args) => calibrate::run(context, &args),
        Command::Baseline(args) => baseline::run(context, &args),
        Command::Gate(args) => gate::run(context, &args),
        Command::Compare(args) => compare::run(context, &args),
        Command::JudgeCheck(args) => judge_check::run(context, &args),
        Command::Label(args) => label::run(context, &args),
        Command::Safety(command) => safety::run(context, *command),
        Command::Report(args) => report::run(context, &args),
        Command::Export(args) => export::run(context, &args),
        Command::View(args) => view::run(context, &args),
        Command::List(args) => list::run(context, &args),
        Command::Show(args) => show::run(context, &args),
        Command::Status(args) => status::run(context, &args),
        Command::Import(args) => import::run(context, &args),
        Command::Merge(args) => merge::run(context, &args),
        Command::Pack(args) => pack::run(context, &args),
        Command::Replay(args) => replay::run(context, &args),
        Command::Plan(args) => plan::run(context, args),
        Command::Doctor(args) => doctor::run(context, &args),
        Command::Journal(command) => journal::run(context, &command),
        Command::Cache(command) => cache::run(context, &command),
        Command::Runs(command) => runs::run(context, &command),
        Command::Validate(args) => validate::run(context, &args),
        #[cfg(feature = "cluster")]
        Command::Worker(args) => worker::run(context, &args),
        Command::Completions(args) => completions::run(context, &args),
        Command::Man(args) => man::run(context, line, &args),
        Command::Init(args) => init::run(context, &args),
    }
}

impl Context {
    /// Reports the project if it is not in the current folder.
    fn report_project(&self) {
        if self.project.is_above() {
            let root = self.project.root().display();
            let text = match (&self.global.benchmarks, &self.global.config) {
                (None, None) => format!("using the benchmarks and the configuration of {root}"),
                (None, Some(_)) => format!("using the benchmarks of {root}"),
                (Some(_), None) => format!("using the configuration of {root}"),
                (Some(_), Some(_)) => return,
            };
            self.terminal.note(&text);
        }
    }

    /// The same context with benchmarks in a temporary folder, which no command names.
    fn with_layout(&self, layout: Layout) -> Self {
        let program = ProgramName::new(self.program.name());
        Self {
            program: program.finding(layout.benchmarks()),
            layout,
            ..self.clone()
        }
    }

    /// The phases of a run: the shipped ones, some of them replaced by the caller's.
    fn phases(&self, models: Models, settings: PhaseSettings) -> Result<Phases, Failure> {
        let mut phases = standard_phases(models.clone(), settings)?;
        if let Some(change) = &self.change_phases {
            change(&mut phases, &models);
        }
        Ok(phases)
    }

    /// Loads the configuration.
    fn configure(&self, overrides: &Overrides) -> Result<Config, Failure> {
        let config = self.load(overrides.flags())?;
        for warning in &config.warnings {
            self.terminal.warning(&warning.to_string());
        }
        Ok(config)
    }

    /// Loads the configuration, and says nothing of it.
    fn load(&self, flags: &[config::Flag]) -> Result<Config, ConfigError> {
        let root = self.project.root();
        let given = self
            .global
            .config
            .as_ref()
            .map(|file| match self.project.is_above() {
                // The path is relative to the current folder, not to the project's.
                true => std::path::absolute(file).unwrap_or_else(|_| file.clone()),
                false => file.clone(),
            });
        config::load(root, given.as_deref(), flags, self.global.scripted)
    }

    /// Loads the configuration for a command on benchmarks. If it is unusable, a missing benchmark is reported as well.
    fn configure_for(&self, args: &PhaseArgs, demonstration: bool) -> Result<Config, Failure> {
        self.configure(&args.overrides).map_err(|failure| {
            let mut problems = Problems::default();
            problems.take::<()>(Err(failure));
            problems.take(choose(&self.layout, &args.selection, demonstration));
            problems.into_failure()
        })
    }

    /// A runtime for the commands that call models. It has one thread: calls wait for models and not for the processor, which is mostly
    /// idle even at thousands of calls per second, and threads that wake each other for every call cost more than they gain. The cache,
    /// the journal and the writing of large files have threads of their own.
    fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::nothing_ran(format!("no threads can be started: {error}")))
    }
}
