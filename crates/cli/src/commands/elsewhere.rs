//! Rows that run on workers elsewhere: the flags, and what a run does with them. Without the feature `cluster` there are none.

use std::sync::Arc;

use clap::Args;
use llm_client::ModelSettings;
use probity::Session;

use super::{Context, models::ModelRoles};
use crate::{
    config::{Config, ConfigError, Endpoints, ModelEntry},
    exit::{Exit, Failure},
};

/// Flags of commands that work with a NATS server.
#[derive(Clone, Debug, Default, Args)]
pub struct NatsArgs {
    /// The NATS server with JetStream, over which the rows run on workers (`worker`): nats://HOST:4222, or tls://HOST:4222
    #[cfg(feature = "cluster")]
    #[arg(long = "nats", value_name = "URL")]
    nats_url: Option<String>,
    /// The credentials file for the NATS server; a token is read from the variable NATS_TOKEN
    #[cfg(feature = "cluster")]
    #[arg(long = "nats-creds", value_name = "FILE", requires = "nats_url")]
    credentials: Option<std::path::PathBuf>,
    /// Certificates, in PEM, that the NATS server's is checked with besides those of the system
    #[cfg(feature = "cluster")]
    #[arg(long = "nats-ca", value_name = "FILE", requires = "nats_url")]
    authorities: Option<std::path::PathBuf>,
}

/// Flags of `run`.
#[derive(Clone, Debug, Default, Args)]
pub struct ElsewhereArgs {
    #[command(flatten)]
    nats: NatsArgs,
    /// Seconds that a worker may be silent before its row goes to another one [default: 60]
    #[cfg(feature = "cluster")]
    #[arg(long = "nats-lease", value_name = "SECONDS", requires = "nats_url", value_parser = clap::value_parser!(u64).range(4..))]
    lease: Option<u64>,
}

/// What a run that goes elsewhere has.
pub struct RunElsewhere<'r> {
    /// The run's configuration.
    pub config: &'r Config,
    /// Its models.
    pub parts: &'r ModelRoles<'r>,
    /// Its benchmarks.
    pub names: &'r [String],
}

/// The work elsewhere, until the run has ended.
#[derive(Default)]
pub struct WorkElsewhere {
    #[cfg(feature = "cluster")]
    coordinator: Option<cluster::Coordinator>,
}

impl WorkElsewhere {
    /// Ends the work. Nothing stays on the server of a run that `is_complete`.
    pub async fn close(&self, is_complete: bool) {
        #[cfg(feature = "cluster")]
        if let Some(coordinator) = &self.coordinator {
            coordinator.close(is_complete).await;
        }
        #[cfg(not(feature = "cluster"))]
        let _ = is_complete;
    }
}

impl ElsewhereArgs {
    /// Whether rows run elsewhere.
    pub fn is_used(&self) -> bool {
        #[cfg(feature = "cluster")]
        return self.nats.nats_url.is_some();
        #[cfg(not(feature = "cluster"))]
        false
    }

    /// The settings of all models that `parts` call. Where rows run elsewhere, a model that only they call needs no key here.
    ///
    /// # Errors
    /// Lists every missing key and variable once.
    pub fn resolve<'e>(
        &self,
        endpoints: &Endpoints<'_>,
        parts: &ModelRoles<'e>,
    ) -> Result<Vec<(&'e ModelEntry, ModelSettings)>, ConfigError> {
        let called = parts.called();
        if !self.is_used() {
            return endpoints.resolve_all(called);
        }
        let is_called_here = |entry: &ModelEntry| {
            let generator = parts.generator;
            generator.is_some_and(|generator| generator.path == entry.path)
        };
        let resolve = |entry: &'e ModelEntry| {
            let settings = match endpoints.resolve(entry) {
                Err(_) if !is_called_here(entry) => endpoints.without_key(entry),
                resolved => resolved,
            };
            settings.map(|settings| (entry, settings))
        };
        called.into_iter().map(resolve).collect()
    }

    /// Lets the rows of a run go elsewhere, if the flags say so.
    ///
    /// # Errors
    /// When the server cannot be used.
    pub async fn begin(
        &self,
        context: &Context,
        run: RunElsewhere<'_>,
        session: Session,
    ) -> Result<(Arc<Session>, WorkElsewhere), Failure> {
        #[cfg(feature = "cluster")]
        if self.is_used() {
            return over_nats::begin(self, context, run, session).await;
        }
        let _ = (context, run.config, run.parts, run.names);
        Ok((Arc::new(session), WorkElsewhere::default()))
    }
}

/// Shows the runs and workers on the server of `args`, if it names one.
///
/// # Errors
/// When the server cannot be used.
pub fn show_server(
    context: &Context,
    args: &NatsArgs,
    json: bool,
) -> Result<Option<Exit>, Failure> {
    #[cfg(feature = "cluster")]
    return over_nats::show_server(context, args, json);
    #[cfg(not(feature = "cluster"))]
    {
        let _ = (context, args, json);
        Ok(None)
    }
}

#[cfg(feature = "cluster")]
pub(super) mod over_nats {
    //! Over NATS JetStream.

    use std::{
        collections::{BTreeMap, BTreeSet},
        fs,
        time::Duration,
    };

    use cluster::{Coordinator, NatsOptions, RunNeeds, RunSettings, RunSpec, run_key};
    use probity::config::Vars;
    use schema::{SettingsRecord, text::counted};
    use serde_json::Value;

    use super::*;
    use crate::config::vars;

    /// The variable of the server's token.
    const TOKEN: &str = "NATS_TOKEN";
    /// How long a worker may be silent, in seconds.
    const LEASE: u64 = 60;
    /// The file with the name of the project's runs on servers.
    const FILE: &str = "nats.json";

    impl NatsArgs {
        /// How the server is reached. `vars` is the environment.
        pub fn options(&self, vars: &Vars) -> Option<NatsOptions> {
            Some(NatsOptions {
                url: self.nats_url.clone()?,
                credentials: self.credentials.clone(),
                token: vars.get(TOKEN).map(str::to_owned),
                authorities: self.authorities.clone(),
            })
        }
    }

    pub(super) async fn begin(
        args: &ElsewhereArgs,
        context: &Context,
        run: RunElsewhere<'_>,
        session: Session,
    ) -> Result<(Arc<Session>, WorkElsewhere), Failure> {
        let Some(options) = args.nats.options(&run.config.vars) else {
            return Ok((Arc::new(session), WorkElsewhere::default()));
        };
        let spec = spec(&run)?;
        let settings = RunSettings {
            key: key(context, &spec)?,
            spec,
            lease: Duration::from_secs(args.lease.unwrap_or(LEASE)),
            stop: session.stop().clone(),
        };
        let terminal = context.terminal.clone();
        let notes = Arc::new(move |text: &str| terminal.warning(text));
        let connected = Coordinator::connect(&options, settings, notes).await;
        let coordinator = connected.map_err(|error| Failure::nothing_ran(error.to_string()))?;
        let session = session.with_runner(Arc::new(coordinator.clone()));
        let work = WorkElsewhere {
            coordinator: Some(coordinator),
        };
        Ok((Arc::new(session), work))
    }

    pub(super) fn show_server(
        context: &Context,
        args: &NatsArgs,
        json: bool,
    ) -> Result<Option<Exit>, Failure> {
        let vars = vars::load(context.project.root())?;
        let Some(options) = args.options(&vars) else {
            return Ok(None);
        };
        if json {
            return Err(Failure::usage(
                "status --nats has no JSON: leave out --json",
            ));
        }
        let found = Context::runtime()?.block_on(cluster::status(&options));
        let (runs, workers) = found.map_err(|error| Failure::nothing_ran(error.to_string()))?;
        let mut text = String::new();
        for run in &runs {
            let state = if run.is_stopping {
                "stopping"
            } else {
                "running"
            };
            text.push_str(&format!(
                "run {}  {state}  {}\n    {} to be done or in flight, {} done and not written yet, {} of rows in flight\n",
                run.key,
                run.benchmarks.join(", "),
                counted(run.units, "row", "rows"),
                counted(run.ends, "row", "rows"),
                counted(run.replies, "reply", "replies"),
            ));
        }
        for worker in &workers {
            let rows: usize = worker.in_flight.values().map(BTreeSet::len).sum();
            let targets: BTreeSet<&String> = worker.can.values().flatten().collect();
            text.push_str(&format!(
                "worker {}  {rows} of {} rows in flight, takes rows of {}\n",
                worker.name,
                worker.concurrency,
                counted(targets.len() as u64, "target", "targets"),
            ));
            for (target, reason) in worker.cannot.values().flatten() {
                text.push_str(&format!("    not of {target}: {reason}\n"));
            }
        }
        if text.is_empty() {
            text.push_str("no run and no worker is on this server\n");
        }
        context.terminal.print(&text);
        Ok(Some(Exit::Complete))
    }

    fn spec(run: &RunElsewhere<'_>) -> Result<RunSpec, Failure> {
        let mut prompts = BTreeMap::new();
        for (name, path) in run.config.prompt_files()? {
            let read = files::read_text(&path);
            let text =
                read.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
            prompts.insert(name, text);
        }
        let parts = run.parts;
        let targets = parts.targets.iter().map(|target| target.id.to_string());
        Ok(RunSpec {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            config: run.config.settings.to_record(),
            prompts,
            targets: targets.collect(),
            benchmarks: run.names.to_vec(),
            divided_by: run.config.settings.divided_by.max(1),
            needs: RunNeeds {
                user: parts.user.is_some(),
                tools: parts.tool.is_some(),
                judges: !parts.judges.is_empty(),
            },
        })
    }

    /// The name of the run on the server: that of the project, and of all that decides what its rows are. A run that goes on with an earlier
    /// one has the same.
    fn key(context: &Context, spec: &RunSpec) -> Result<String, Failure> {
        let path = context.layout.state().join(FILE);
        let failed = |error: &dyn std::fmt::Display| {
            Failure::nothing_ran(format!("{}: {error}", path.display()))
        };
        let text = files::read_text(&path).unwrap_or_default();
        let record: Option<Value> = serde_json::from_str(&text).ok();
        let known = record.and_then(|known| Some(known.get("project")?.as_str()?.to_owned()));
        let project = match known {
            Some(project) => project,
            None => {
                let mut random = [0; 16];
                getrandom::fill(&mut random).map_err(|error| failed(&error))?;
                let project = schema::text::hex(&random);
                let text = serde_json::json!({"project": project}).to_string();
                fs::create_dir_all(context.layout.state())
                    .and_then(|()| fs::write(&path, text))
                    .map_err(|error| failed(&error))?;
                project
            }
        };
        let decisive = RunSpec {
            config: SettingsRecord {
                run: Value::Null,
                ..spec.config.clone()
            },
            ..spec.clone()
        };
        let decisive = serde_json::to_string(&decisive).map_err(|error| failed(&error))?;
        let folder = context.layout.benchmarks().display().to_string();
        Ok(run_key(&[&project, &folder, &decisive]))
    }
}
