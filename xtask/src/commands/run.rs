//! `run` and the single phases.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc, time::Duration};

use indexmap::IndexMap;
use journal::{JournalWriter, RunId};
use llm_client::{Meter, Stop};
use pipeline::{
    Concurrency, Expected, Phase, PhaseSettings, Phases, Pipeline, RunOptions, RunReport,
};
use scenario_gen::ScenarioSettings;
use schema::Journal;
use simulator::SimulatorSettings;

use super::{
    Context, git,
    models::{Parts, Shared, build, open_cache, provider, resolve, scripted_server},
    plan, summary,
};
use crate::{
    benchmarks::{Wanted, choose},
    cli::PhaseArgs,
    config::{Config, ConfigError, Endpoints},
    exit::{Exit, Failure},
    progress::Watch,
};

/// Runs `phases` on the benchmarks of `args`.
///
/// # Errors
/// When nothing can be run.
pub fn run(context: &Context, args: PhaseArgs, phases: &[Phase]) -> Result<Exit, Failure> {
    let config = context.configure(&args.overrides)?;
    if config.settings.dry_run {
        context
            .terminal
            .note("dry run: this is what would be asked; nothing is called and nothing is written");
        return plan::show(context, &config, &args, phases);
    }
    let parts = Parts::of(&config.settings, phases, &args.targets)?;
    let phase_settings = phase_settings(&config)?;
    let wanted = Wanted {
        names: &args.names,
        all: args.all,
        demonstration: phases.contains(&Phase::GenMetrics),
        copies: true,
    };
    let run_id = RunId::now();
    let report = Context::runtime()?.block_on(async {
        let server = scripted_server(&config).await?;
        let endpoints = Endpoints::new(
            &config.settings,
            &config.vars,
            server.as_ref().map(|server| server.base_url()),
        )?;
        // Every key is there before a folder is made.
        let resolved = resolve(parts.called(), &endpoints)?;
        let names = choose(&context.layout, wanted, &context.terminal)?;
        if !parts.called().is_empty() {
            context.tell_scripted(&config);
        }
        let shared = share(context, &config, &run_id)?;
        let provider = provider(&config.settings, &resolved, &shared);
        let models = build(&parts, resolved, &provider)?;
        let journal = shared
            .journal
            .clone()
            .map(|journal| journal as Arc<dyn Journal>);
        let phases_made = Phases::standard(models, phase_settings, journal.clone())?;
        let watch = Arc::new(Watch::new(&context.terminal));
        let mut pipeline = Pipeline::new(
            context.layout.clone(),
            phases_made,
            options(&config, phases),
        )
        .observer(Arc::clone(&watch) as _)
        .stop(shared.stop.clone())
        .meter(shared.meter.clone())
        .run_id(run_id.clone());
        if let Some(journal) = journal {
            pipeline = pipeline.journal(journal);
        }
        listen_for_signals(context, shared.stop.clone());
        let watching = tokio::spawn(stop_when_nothing_can_be_kept(shared.clone()));
        let report = pipeline.run(&names).await;
        watching.abort();
        watch.end();
        close(context, &shared);
        // Stopped by a full disk and not by the user.
        let broken = shared.trouble().is_some();
        Ok::<(RunReport, bool), Failure>((report?, broken))
    })?;
    let (report, broken) = report;
    let exit = summary::show(context, &report, phases);
    Ok(if broken && exit == Exit::Interrupted {
        Exit::FailedRows
    } else {
        exit
    })
}

/// What the models share; makes the folder of the run's records.
fn share(context: &Context, config: &Config, run_id: &RunId) -> Result<Shared, Failure> {
    let folder = context.layout.run(run_id.as_str());
    std::fs::create_dir_all(&folder).map_err(|error| {
        Failure::nothing_ran(format!("{}: cannot be made: {error}", folder.display()))
    })?;
    let journal = JournalWriter::create(&folder, run_id)
        .map_err(|error| Failure::nothing_ran(error.to_string()))?;
    Ok(Shared {
        journal: Some(Arc::new(journal)),
        cache: Some(open_cache(&config.settings, &context.layout.cache())?),
        stop: Stop::new(),
        meter: Meter::new(),
    })
}

/// Stops the run in order once replies or events can no longer be written, for one because the disk is full: what is paid for
/// from there on would be lost.
async fn stop_when_nothing_can_be_kept(shared: Shared) {
    while shared.trouble().is_none() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    shared.stop.stop();
}

/// Tells what could not be kept and which prices were missing.
fn close(context: &Context, shared: &Shared) {
    if let Some(trouble) = shared.cache.as_ref().and_then(llm_client::Cache::trouble) {
        context.terminal.warning(&format!(
            "the run was stopped, because replies could not be kept: {trouble}"
        ));
    }
    for model in shared.meter.unpriced() {
        context.terminal.warning(&format!(
            "the cost of {model} is not known: no price or no usage came with its replies. Add a price under `prices` in the config"
        ));
    }
    if let Some(Err(error)) = shared.journal.as_ref().map(|journal| journal.close()) {
        context
            .terminal
            .warning(&format!("the journal is not complete: {error}"));
    }
}

/// The first Ctrl-C ends the run in order, the second at once.
fn listen_for_signals(context: &Context, stop: Stop) {
    let terminal = context.terminal.clone();
    tokio::spawn(async move {
        if interrupted().await {
            terminal.line("stopping: calls in flight are finished and the files written; press Ctrl-C again to leave at once");
            stop.stop();
            interrupted().await;
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
    });
}

/// Waits for Ctrl-C or, where there is one, a request to terminate. False when signals cannot be waited for.
async fn interrupted() -> bool {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            return tokio::select! {
                ctrl_c = tokio::signal::ctrl_c() => ctrl_c.is_ok(),
                _ = terminate.recv() => true,
            };
        }
    }
    tokio::signal::ctrl_c().await.is_ok()
}

fn options(config: &Config, phases: &[Phase]) -> RunOptions {
    let settings = &config.settings;
    RunOptions {
        phases: phases.iter().copied().collect::<BTreeSet<_>>(),
        force: settings.force,
        targets: Vec::new(),
        samples: settings.generation.num_samples,
        concurrency: Concurrency {
            simulate: settings.concurrency.simulate,
            evaluate: settings.concurrency.evaluate,
        },
        expected: Expected {
            scenarios_per_metric: Some(settings.generation.scenarios_per_metric),
            turns: Some(settings.generation.turns),
            demographics: demographics(config).ok(),
        },
        config: settings.to_public_json(),
        git: git::state(),
    }
}

fn phase_settings(config: &Config) -> Result<PhaseSettings, ConfigError> {
    let settings = &config.settings;
    let base = settings
        .file
        .as_ref()
        .and_then(|file| file.parent())
        .map(PathBuf::from)
        .unwrap_or_default();
    let mut prompts = std::collections::BTreeMap::new();
    for (name, file) in &settings.prompts {
        let path = base.join(file.resolve(&config.vars)?);
        if !path.is_file() {
            return Err(file.error(format!("names {}, which is no file", path.display())));
        }
        prompts.insert(name.clone(), path);
    }
    let defaults = PhaseSettings::default();
    Ok(PhaseSettings {
        metrics: settings.generation.metrics.clone(),
        scenarios: ScenarioSettings {
            scenarios_per_metric: settings.generation.scenarios_per_metric,
            turns: settings.generation.turns,
            demographics: demographics(config)?,
            landmarks: settings.landmarks,
            concurrency: settings.concurrency.gen_scenarios,
            tries: defaults.tries,
        },
        simulator: SimulatorSettings {
            turns: settings.generation.turns,
            landmarks: settings.landmarks,
            perfunctory: settings.perfunctory,
            seed: settings.seed,
            ..SimulatorSettings::default()
        },
        tries: defaults.tries,
        prompts,
    })
}

/// The demographic axes with their variables resolved.
pub fn demographics(config: &Config) -> Result<IndexMap<String, Vec<String>>, ConfigError> {
    let axis = |(name, values): &(String, Vec<crate::config::Text>)| {
        let values = values
            .iter()
            .map(|value| value.resolve(&config.vars))
            .collect::<Result<_, _>>()?;
        Ok((name.clone(), values))
    };
    config.settings.demographics.iter().map(axis).collect()
}
