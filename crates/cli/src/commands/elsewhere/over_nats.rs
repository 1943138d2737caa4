//! Over NATS JetStream.

use std::{collections::BTreeMap, fs, time::Duration};

use cluster::{Coordinator, NatsOptions, RunNeeds, RunSettings, RunSpec, run_key};
use probity::config::Vars;
use schema::SettingsRecord;
use serde_json::Value;

use super::*;

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

fn spec(run: &RunElsewhere<'_>) -> Result<RunSpec, Failure> {
    let mut prompts = BTreeMap::new();
    for (name, path) in run.config.prompt_files()? {
        let read = files::read_text(&path);
        let text = read.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
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
