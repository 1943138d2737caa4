//! `worker`: runs rows of other machines' runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use clap::Args;
use cluster::{RunSpec, Workbenches, Worker, WorkerSettings, Workshop};
use engine::unit::playing_session;
use llm_client::{HttpClient, HttpOptions, LimitShare, Stop};
use probity::{Phase, Phases, config::Vars};
use scripted_llm::ScriptedServer;

use super::{
    Context,
    elsewhere::NatsArgs,
    imported::Imported,
    models::{ModelRoles, build, scripted_server},
    needs::Needs,
    signals,
};
use crate::{
    config::{Config, vars},
    exit::{Exit, Failure},
    open_files,
    terminal::Terminal,
};

/// Run rows for `run --nats` of other machines, until Ctrl-C
///
/// A worker has keys of its own: those of its environment and of `.env` in its folder. It takes rows of all targets whose models it reaches,
/// of every run on the server. No key and no header goes over the server, and no code comes from it: programs that a configuration names are
/// those of the worker's folder.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask worker --nats nats://queue:4222\n  cargo xtask worker --nats tls://queue:4222 --nats-creds run.creds \
    --concurrency 20 --models gpt-4.1,judge"
)]
pub struct WorkerArgs {
    #[command(flatten)]
    nats: NatsArgs,
    /// How many rows run at the same time
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    concurrency: usize,
    /// The models that this worker reaches, by their ids in the configuration of a run [default: all that it has keys for]
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    models: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// When the server cannot be used.
pub fn run(context: &Context, args: &WorkerArgs) -> Result<Exit, Failure> {
    let vars = vars::load(context.project.root())?;
    let Some(nats) = args.nats.options(&vars) else {
        return Err(Failure::usage("worker --nats URL: the server is missing"));
    };
    let failed = |error: &dyn std::fmt::Display| Failure::nothing_ran(error.to_string());
    let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
    let stop = Stop::new();
    let workshop = ModelsHere {
        context: context.clone(),
        vars,
        models: args.models.clone(),
        folder: folder.path().to_owned(),
        terminal: context.terminal.clone(),
        said: Mutex::default(),
    };
    let name = format!("{}-{}", machine(), std::process::id());
    let settings = WorkerSettings {
        nats,
        name: name.clone(),
        concurrency: args.concurrency,
        folder: folder.path().to_owned(),
        stop: stop.clone(),
    };
    open_files::raise();
    Context::runtime()?.block_on(async {
        let connected = Worker::connect(settings, Arc::new(workshop)).await;
        let worker = connected.map_err(|error| failed(&error))?;
        signals::listen(context.terminal.clone(), stop);
        context.terminal.note(&format!(
            "{name}: waits for rows, {} at the same time",
            args.concurrency
        ));
        worker.run().await;
        Ok(Exit::Complete)
    })
}

/// The name of this machine.
fn machine() -> String {
    let text = files::read_text("/etc/hostname").unwrap_or_default();
    let name = text.trim();
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    match name.is_empty() || !name.chars().all(is_plain) {
        true => "worker".to_owned(),
        false => name.to_owned(),
    }
}

/// Makes the phases of runs with the models that this machine reaches.
struct ModelsHere {
    context: Context,
    vars: Vars,
    /// The only models that are called; empty: all.
    models: Vec<String>,
    folder: PathBuf,
    terminal: Terminal,
    /// What was printed.
    said: Mutex<BTreeSet<String>>,
}

impl ModelsHere {
    /// Prints a line the first time.
    fn say(&self, line: String) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.insert(line.clone()) {
            self.terminal.note(&line);
        }
    }

    /// The configuration of `run`, as it is here.
    fn config(&self, run: &RunSpec) -> Result<Config, Failure> {
        let folder = self.folder.join("prompts");
        let failed = |error: std::io::Error| Failure::nothing_ran(error.to_string());
        fs::create_dir_all(&folder).map_err(failed)?;
        let mut prompts = Vec::new();
        for (name, text) in &run.prompts {
            let path = folder.join(format!("{}.j2", name.replace(['/', '\\', '.'], "_")));
            fs::write(&path, text).map_err(failed)?;
            prompts.push((name.clone(), path));
        }
        // The root may be the empty path.
        let root = std::path::absolute(self.context.project.root().join(".")).map_err(failed)?;
        let vars = self.vars.clone();
        Ok(Config::of_run_elsewhere(&run.config, &root, prompts, vars)?)
    }

    /// The models that rows of `target` need, all of which this worker may call.
    fn parts<'c>(
        &self,
        run: &RunSpec,
        config: &'c Config,
        target: &str,
    ) -> Result<ModelRoles<'c>, Failure> {
        let phases = [Phase::Simulate, Phase::Evaluate];
        let needs = Needs {
            generator: false,
            user: run.needs.user,
            judges: run.needs.judges,
        };
        let only = [target.to_owned()];
        let all = ModelRoles::needed(&config.settings, &phases, &only, needs, Imported::default())?;
        let parts = ModelRoles {
            tool: all.tool.filter(|_| run.needs.tools),
            ..all
        };
        let called = parts.called();
        let mut ids = called.iter().map(|entry| entry.id.as_str());
        let is_other =
            |id: &&str| !self.models.is_empty() && !self.models.iter().any(|model| model == id);
        match ids.find(is_other) {
            Some(other) => Err(Failure::usage(format!(
                "the model {other} is not among its --models"
            ))),
            None => Ok(parts),
        }
    }

    /// The phases for each target, and the server of scripted models, if there are any.
    async fn make(
        &self,
        run: &RunSpec,
        share: &LimitShare,
        stop: &Stop,
    ) -> Result<(PhasesByTarget, Option<ScriptedServer>), Failure> {
        let config = self.config(run)?;
        let parts: BTreeMap<&String, Result<ModelRoles<'_>, Failure>> = run
            .targets
            .iter()
            .map(|target| (target, self.parts(run, &config, target)))
            .collect();
        let called: Vec<_> = parts
            .values()
            .flatten()
            .flat_map(ModelRoles::called)
            .collect();
        let server = scripted_server(called).await?;
        let endpoints = config
            .endpoints(server.as_ref().map(|server| server.base_url()))?
            .with_records(self.context.layout.state());
        let resolved: BTreeMap<&String, Result<_, Failure>> = parts
            .into_iter()
            .map(|(target, parts)| {
                let resolved = parts.and_then(|parts| {
                    let resolved = endpoints.resolve_all(parts.called())?;
                    Ok((parts, resolved))
                });
                (target, resolved)
            })
            .collect();
        let all: Vec<_> = resolved
            .values()
            .flatten()
            .flat_map(|(_, resolved)| resolved.clone())
            .collect();
        let http = HttpClient::new(HttpOptions {
            max_connections: open_files::for_connections(1, if server.is_some() { 2 } else { 1 })?,
            ..config.settings.http_options()
        });
        let factory = config
            .settings
            .model_factory(http, &all)
            .with_stop(stop.clone())
            .with_share(share.clone());
        let session = playing_session(factory);
        let phases = |(parts, resolved): (ModelRoles<'_>, _)| {
            let offered = endpoints.offered(&config.settings.models, &parts.called());
            let built = build(&parts, resolved, offered, &session)?;
            Ok(Arc::new(
                self.context.phases(built, config.phase_settings()?)?,
            ))
        };
        let made = resolved
            .into_iter()
            .map(|(target, resolved)| (target.clone(), resolved.and_then(phases)))
            .collect();
        Ok((made, server))
    }
}

/// The phases for each target, or why there are none.
type PhasesByTarget = BTreeMap<String, Result<Arc<Phases>, Failure>>;

#[async_trait]
impl Workshop for ModelsHere {
    async fn open(&self, run: &RunSpec, share: &LimitShare, stop: &Stop) -> Workbenches {
        let names = run.benchmarks.join(", ");
        let refused = |target: &String, failure: &Failure| {
            let reason = failure.text(&self.context.program);
            self.say(format!("{names}: takes no rows of {target}: {reason}"));
            Err(reason)
        };
        let (made, server) = match self.make(run, share, stop).await {
            Ok(made) => made,
            Err(failure) => {
                let targets = run.targets.iter();
                return Workbenches {
                    phases: targets
                        .map(|target| (target.clone(), refused(target, &failure)))
                        .collect(),
                    held: Box::new(()),
                };
            }
        };
        let phases = made.into_iter().map(|(target, made)| {
            let phases = match made {
                Ok(phases) => {
                    self.say(format!("{names}: takes rows of {target}"));
                    Ok(phases)
                }
                Err(failure) => refused(&target, &failure),
            };
            (target, phases)
        });
        Workbenches {
            phases: phases.collect(),
            held: Box::new(server),
        }
    }
}
