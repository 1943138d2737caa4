//! `run` and the single phases.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use clap::Args;
use llm_client::{CachedRow, Tally};
use probity::{
    Journals, Layout, Phase, PhaseSettings, Pipeline, PlanQuestions, PromptChoice, RunOptions,
    RunReport, Session, StopWhenDecided, TrialConversations,
};
use schema::PromptVersions;
use store::read_benchmark;

use super::{
    Context,
    command_hints::CommandHints,
    demonstration,
    elsewhere::{ElsewhereArgs, RunElsewhere},
    force_rows, forecast, gate, git,
    imported::Imported,
    models::{ModelRoles, build, missing_models, scripted_server},
    needs::Needs,
    plan, problems,
    results::RunResults,
    run_output::RunOutput,
    run_report, session,
    shard::{self, ShardArgs},
    signals,
    simulate::SimulateArgs,
    trial::run_trial_or_all,
    typos,
    until::UntilArgs,
};
use crate::{
    benchmarks::{Chosen, choose},
    config::{Config, ConfigError},
    exit::{Exit, Failure, Problems},
    flags::{Batch, BenchmarkSelection, KeepGoing, Overrides},
};

/// Run all phases: from a description to results
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Existing metrics and scenarios are kept, and cached replies are not called for again, so the same command resumes an \
    interrupted run.\nWithout BENCHMARK: the only benchmark in the folder, or the shipped demonstration where there is none.\n\n\
    Examples:\n  cargo xtask run\n  cargo xtask run honesty safety --target gpt-4.1\n  cargo xtask run --all --max-cost 5"
)]
#[command(mut_arg("force", |arg| arg.help(
    "Call the models again for every reply; metrics and scenarios are kept (gen-metrics --force and gen-scenarios --force replace them)"
)))]
pub struct RunArgs {
    #[command(flatten)]
    simulate: SimulateArgs,
    #[command(flatten)]
    keep_going: KeepGoing,
    #[command(flatten)]
    batch: Batch,
    /// Hold these rules against the results: the run ends as `gate` does
    #[arg(long, value_name = "FILE")]
    gate: Option<PathBuf>,
    #[command(flatten)]
    until: UntilArgs,
    #[command(flatten)]
    elsewhere: ElsewhereArgs,
}

/// What phases run on, and how. What a command has no flag for keeps its default.
#[derive(Clone, Debug, Default)]
pub struct PhaseArgs {
    /// The selected benchmarks.
    pub selection: BenchmarkSelection,
    /// The selected systems under test; empty: all.
    pub targets: Vec<String>,
    /// Overrides of the configuration.
    pub overrides: Overrides,
    /// Whether rows are added to a `scenarios.json` that was not generated here.
    pub add: bool,
    /// The rules that determine the exit code.
    pub gate: Option<PathBuf>,
    /// When the run stops before its last scenario.
    pub until: UntilArgs,
    /// The part of the scenarios that is simulated.
    pub shard: ShardArgs,
    /// Where the rows run.
    pub elsewhere: ElsewhereArgs,
    /// Conversations for which the models are called again.
    pub force_rows: Vec<String>,
    /// Whether benchmarks move on to the newest prompts and rules.
    pub prompts: PromptChoice,
    /// The versions of prompts and rules of benchmarks whose files do not show which they began with.
    pub versions: BTreeMap<String, PromptVersions>,
}

impl From<RunArgs> for PhaseArgs {
    fn from(args: RunArgs) -> Self {
        let simulate = Self::from(args.simulate);
        Self {
            overrides: simulate.overrides.with(&args.keep_going).with(&args.batch),
            gate: args.gate,
            until: args.until,
            elsewhere: args.elsewhere,
            ..simulate
        }
    }
}

/// Runs all phases.
///
/// # Errors
/// When nothing can be run.
pub fn run(context: &Context, args: RunArgs) -> Result<Exit, Failure> {
    let trial = args.simulate.trial.clone();
    let args = PhaseArgs::from(args);
    if trial.is_trial() {
        generate_missing(context, &args)?;
    }
    run_trial_or_all(context, &trial, &args, TrialConversations::New, &Phase::ALL)
}

/// Generates the metrics and scenarios that a trial chooses from, where there are none yet. A dry run generates nothing.
fn generate_missing(context: &Context, args: &PhaseArgs) -> Result<(), Failure> {
    let chosen = choose(&context.layout, &args.selection, false)?;
    let has_none = |name: &&String| {
        let dir = context.layout.benchmark(name);
        dir.is_ok_and(|dir| !dir.scenarios().exists())
    };
    let names: Vec<String> = chosen.names.iter().filter(has_none).cloned().collect();
    let config = context.configure_for(args, false)?;
    if names.is_empty() || config.settings.run.dry_run {
        return Ok(());
    }
    context.terminal.note(&format!(
        "{}: there are no scenarios to choose from yet; all of them are generated first",
        names.join(", ")
    ));
    let mut args = args.clone();
    args.selection.all = false;
    args.selection.names = names;
    let phases = [Phase::GenMetrics, Phase::GenScenarios];
    without_results(context, &config, &args, &phases).map(|_| ())
}

/// Runs `phases` on the benchmarks of `args`.
///
/// # Errors
/// When nothing can be run.
pub fn run_phases(context: &Context, args: &PhaseArgs, phases: &[Phase]) -> Result<Exit, Failure> {
    let demonstration = phases.contains(&Phase::GenMetrics);
    let config = shard::configure(context, args, demonstration)?;
    if config.settings.run.dry_run {
        context
            .terminal
            .note("dry run: nothing is called and nothing is written");
        let questions = PlanQuestions {
            gate: args.gate.clone(),
            ..PlanQuestions::default()
        };
        return plan::show(context, &config, args, &questions, phases);
    }
    let job = check(context, &config, args, phases)?;
    let (mut report, spent, exit, broken) = job.run_to_end()?;
    // The results of the run are shown even if the gate cannot be evaluated.
    let gated = gate::after_run(context, args, &report, exit);
    let gates = gated.as_ref().ok().and_then(Option::as_ref);
    run_report::of_run(context, &config, gates, &mut report, &job.journals);
    let exit = gates.map_or(exit, |gates| gate::exit_of_run(exit, gates, !broken));
    let hints = CommandHints::new(context, &args.overrides);
    if args.selection.json {
        let output = RunOutput::new(context, &report, &spent, gates.map(Vec::as_slice));
        context.print_json(job.command(), exit, &output);
    } else {
        RunResults::new(context, &report, &config, phases, &hints).show(&spent);
        gate::show(context, gates.map_or(&[], Vec::as_slice));
    }
    problems::report_problems(context, &report, &config, phases, &spent, &hints);
    gated.map(|_| exit)
}

/// Runs `phases` on the benchmarks of `args`, reports problems on standard error, and prints no results.
///
/// # Errors
/// When nothing can be run.
pub fn without_results(
    context: &Context,
    config: &Config,
    args: &PhaseArgs,
    phases: &[Phase],
) -> Result<(RunReport, Exit), Failure> {
    let (report, spent, exit, _) = check(context, config, args, phases)?.run_to_end()?;
    let hints = CommandHints::new(context, &args.overrides);
    problems::report_problems(context, &report, config, phases, &spent, &hints);
    Ok((report, exit))
}

/// Everything that a run needs, checked as far as possible without calling a model.
struct Job<'a> {
    context: &'a Context,
    config: &'a Config,
    phases: &'a [Phase],
    parts: ModelRoles<'a>,
    settings: PhaseSettings,
    chosen: Chosen,
    /// Whether rows are added to a `scenarios.json` that was not generated here.
    add: bool,
    /// The rows that are called for again although their replies are in the cache.
    refreshed: Vec<CachedRow>,
    /// Whether the benchmarks move on to the newest prompts and rules.
    prompts: PromptChoice,
    /// When the run stops before its last scenario.
    stop: Option<StopWhenDecided>,
    /// Where the rows run.
    elsewhere: ElsewhereArgs,
    /// Versions that are known: see [`PhaseArgs::versions`].
    versions: BTreeMap<String, PromptVersions>,
    /// The journals of the run, for its report.
    journals: Journals,
}

/// Checks configuration, keys and benchmarks; reports all problems at once.
fn check<'a>(
    context: &'a Context,
    config: &'a Config,
    args: &PhaseArgs,
    phases: &'a [Phase],
) -> Result<Job<'a>, Failure> {
    let mut problems = Problems::default();
    let imported = problems
        .take(Imported::of(&context.layout, &args.selection, phases))
        .unwrap_or_default();
    let needs = Needs::of(&context.layout, &args.selection, phases);
    let parts = ModelRoles::needed(&config.settings, phases, &args.targets, needs, imported);
    let mut parts = problems.take(parts);
    let demonstration = phases.contains(&Phase::GenMetrics);
    let chosen = choose(&context.layout, &args.selection, demonstration)
        .and_then(|chosen| demonstration::refuse_bought(context, config, args, phases, chosen));
    if let (Some(parts), Ok(chosen)) = (&mut parts, &chosen) {
        if !simulates_tools(context, chosen) {
            // The key of the tool model is not needed.
            parts.tool = None;
        } else if parts.tool.is_none() && phases.contains(&Phase::Simulate) {
            let missing = ["`tool_model`, which answers the simulated tools".to_owned()];
            problems.take(Err::<(), _>(missing_models(&config.settings, &missing)));
        }
    }
    let keys = |parts: &ModelRoles<'_>| -> Result<(), ConfigError> {
        let nowhere = Some(plan::NOWHERE.to_owned());
        let endpoints = config.endpoints(nowhere)?;
        args.elsewhere.resolve(&endpoints, parts).map(|_| ())
    };
    let keys = parts.as_ref().map_or(Ok(()), keys);
    problems.take(keys);
    let settings = problems.take(config.phase_settings());
    problems.take(config.standards());
    let chosen = problems.take(chosen);
    if let Some(chosen) = &chosen {
        problems.take(gate::check(context, args, &chosen.names));
        typos::warn(context, &chosen.names, false);
    }
    let stop = args.until.stop(args.gate.as_deref(), *config.settings.seed);
    let stop = problems.take(stop).flatten();
    if stop.is_some() && config.settings.run.batch.is_some() {
        problems.take(Err::<(), _>(Failure::usage(
            "run --until looks at the verdicts after each scenario, and a batch gives them hours later: leave out --until or --batch \
             (`run.batch` in a configuration)",
        )));
    }
    let mut refreshed = Vec::new();
    if let (Some(parts), Some(chosen)) = (&parts, &chosen) {
        let found = force_rows::find(context, config, &parts.targets, chosen, &args.force_rows);
        refreshed = problems.take(found).unwrap_or_default();
    }
    match (parts, settings, chosen) {
        (Some(parts), Some(settings), Some(chosen)) if problems.is_empty() => Ok(Job {
            context,
            config,
            phases,
            parts,
            settings,
            chosen,
            add: args.add,
            refreshed,
            prompts: args.prompts,
            stop,
            elsewhere: args.elsewhere.clone(),
            versions: args.versions.clone(),
            journals: Journals::default(),
        }),
        _ => Err(problems.into_failure()),
    }
}

/// Whether one of the benchmarks has tools that a model simulates. The run itself reports a file that cannot be read.
fn simulates_tools(context: &Context, chosen: &Chosen) -> bool {
    let simulates = |layout: &Layout, name: &str| {
        let benchmark = layout
            .benchmark(name)
            .and_then(|dir| read_benchmark(&dir))
            .ok();
        let mut tools = benchmark.iter().flat_map(|benchmark| &benchmark.tools);
        Ok::<_, Failure>(tools.any(|tool| tool.simulated))
    };
    let all = chosen.read(&context.layout, simulates);
    all.is_ok_and(|all| all.contains(&true))
}

impl Job<'_> {
    /// The command as typed.
    fn command(&self) -> &'static str {
        match self.phases {
            [phase] => phase.command(),
            _ => "run",
        }
    }

    /// Runs the phases. Returns the results, the calls with their cost, the exit code, and whether the run was stopped because nothing
    /// could be saved any more.
    fn run_to_end(&self) -> Result<(RunReport, Tally, Exit, bool), Failure> {
        let (report, spent, broken) = Context::runtime()?.block_on(self.run())?;
        let exit = match report.outcome().into() {
            // The run was stopped by a full disk and not by the user, or it completed without a whole record.
            Exit::Interrupted | Exit::Complete if broken => Exit::FailedRows,
            exit => exit,
        };
        Ok((report, spent, exit, broken))
    }

    /// Runs the phases. Returns the results, the calls with their cost, and whether the run was stopped because nothing could be
    /// saved any more.
    async fn run(&self) -> Result<(RunReport, Tally, bool), Failure> {
        let (context, config) = (self.context, self.config);
        let models = &config.settings.models;
        let callable = models.callable_entries();
        let server = scripted_server(models.all().chain(callable)).await?;
        let endpoints = config
            .endpoints(server.as_ref().map(|server| server.base_url()))?
            .with_records(context.layout.state());
        let resolved = self.elsewhere.resolve(&endpoints, &self.parts)?;
        self.chosen.copy(&context.layout, &context.terminal)?;
        if !self.parts.called().is_empty() {
            context.report_configured(config, &self.chosen.names);
        }
        context.warn_of_scripted_scenarios(config, &self.chosen.names, self.phases);
        let (opened, watch) =
            session::open(context, config, &resolved, &self.refreshed, &self.journals)?;
        let run = RunElsewhere {
            config,
            parts: &self.parts,
            names: &self.chosen.names,
        };
        let (session, elsewhere) = self.elsewhere.begin(context, run, opened).await?;
        let targets = resolved.iter().filter(|(entry, _)| {
            self.parts
                .targets
                .iter()
                .any(|target| target.path == entry.path)
        });
        let sut_options = targets
            .map(|(entry, settings)| (entry.id.clone(), settings.sent_options()))
            .collect();
        let offered = endpoints.offered(&config.settings.models, &self.parts.called());
        let models = build(&self.parts, resolved, offered, &session)?;
        let mut phases = context.phases(models, self.settings.clone())?;
        phases.targets.extend(self.parts.imported.iter().cloned());
        let mut options = RunOptions {
            prompts: self.prompts,
            stop_when_decided: self.stop.clone(),
            add_scenarios: self.add,
            force_rows: !self.refreshed.is_empty(),
            git: git::state(),
            ..config.run_options(self.phases)?
        };
        self.find_versions(&mut options, &session).await;
        self.report_forecast(&options, &session).await;
        let pipeline = Pipeline::new(
            Arc::clone(&session),
            context.layout.clone(),
            phases,
            options,
        )
        .sut_options(sut_options);
        signals::listen(context.terminal.clone(), session.stop().clone());
        let watching = tokio::spawn(session::stop_when_nothing_can_be_kept(Arc::clone(&session)));
        let report = pipeline.run(&self.chosen.names).await;
        watching.abort();
        let is_complete = report.is_ok() && !session.stop().is_stopped();
        elsewhere.close(is_complete).await;
        watch.end();
        session::close(context, &session);
        let broken = session.trouble().is_some();
        Ok((report?, session.meter().total(), broken))
    }
}

impl Job<'_> {
    /// Adds the versions of prompts that the cache answers, for benchmarks whose files do not show which they began with.
    async fn find_versions(&self, options: &mut RunOptions, session: &Session) {
        if let Some(cache) = session.cache() {
            let (names, settings) = (&self.chosen.names, self.settings.clone());
            let found = forecast::cached_versions(
                self.context,
                self.config,
                &self.parts,
                settings,
                options,
                names,
                cache,
            );
            options.found_versions = found.await;
        }
        options.found_versions.extend(self.versions.clone());
    }

    /// Prints which calls come from the cache, which are new, and why: before the first call, and only if there is something to report.
    /// Nothing is looked up where notes are off: it takes as long as a run of those rows.
    async fn report_forecast(&self, options: &RunOptions, session: &Session) {
        if self.context.terminal.quiet() {
            return;
        }
        let Some(cache) = session.cache().filter(|_| !self.parts.called().is_empty()) else {
            return;
        };
        if cache.count().unwrap_or_default() == 0 {
            return;
        }
        let (names, settings) = (&self.chosen.names, self.settings.clone());
        let found = forecast::look(
            self.context,
            self.config,
            &self.parts,
            settings,
            options,
            names,
            cache,
        )
        .await;
        for line in forecast::lines(&found, options.stop_when_decided.is_some()) {
            self.context.terminal.note(&line);
        }
    }
}
