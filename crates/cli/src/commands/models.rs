//! The models of a run, with their keys and all layers of policy.

use std::path::PathBuf;

use llm_client::{
    Cache, CacheMode, CachedRow, HttpClient, HttpOptions, ModelFactory, ModelSettings,
};
use probity::{Models, Phase, Session};
use schema::{TargetRef, nearest};
use scripted_llm::ScriptedServer;

use super::{imported::Imported, needs::Needs};
use crate::{
    config::{BuiltModels, McpEntry, ModelEntries, ModelEntry, OfferedModel, Route, Settings},
    exit::Failure,
    open_files,
    terminal::Terminal,
};

/// The configured models that some phases need, by role.
pub struct ModelRoles<'a> {
    /// Writes metrics and scenarios.
    pub generator: Option<&'a ModelEntry>,
    /// Simulates the user.
    pub user: Option<&'a ModelEntry>,
    /// Answers calls of simulated tools.
    pub tool: Option<&'a ModelEntry>,
    /// Judges: one, or a panel.
    pub judges: Vec<&'a ModelEntry>,
    /// The systems under test, and whether they are called.
    pub targets: Vec<&'a ModelEntry>,
    /// Whether the phases call the targets.
    pub calls_targets: bool,
    /// The servers whose tools targets can call.
    pub servers: &'a [McpEntry],
    /// Systems under test that need no configuration: their conversations were imported, and are judged.
    pub imported: Vec<TargetRef>,
}

impl<'a> ModelRoles<'a> {
    /// The models of `settings` that `phases` may need on any benchmark. `only`: restricts the targets to these ids.
    ///
    /// # Errors
    /// When a model is missing or a target's id is unknown.
    pub fn of(settings: &'a Settings, phases: &[Phase], only: &[String]) -> Result<Self, Failure> {
        let mut needs = Needs::all(phases);
        // Where a program plays the user, scenarios are usually there.
        needs.generator &= settings.models.generator.is_some() || settings.models.user.is_none();
        Self::needed(settings, phases, only, needs, Imported::default())
    }

    /// The models of `settings` that `phases` need, with targets whose conversations were imported.
    ///
    /// # Errors
    /// See [`ModelRoles::of`].
    pub fn needed(
        settings: &'a Settings,
        phases: &[Phase],
        only: &[String],
        needs: Needs,
        imported: Imported,
    ) -> Result<Self, Failure> {
        let runs = |phase| phases.contains(&phase);
        let models = &settings.models;
        let mut missing = Vec::new();
        let mut need = |needed: bool, key: &str, models: &'a [ModelEntry]| {
            let key = format!("`{key}`");
            if needed && models.is_empty() && !missing.contains(&key) {
                missing.push(key);
            }
            if needed { models } else { &[] }
        };
        // The user model is also the generator if no generator is configured, unless it is a program.
        let key = match models.user {
            None => "user_model",
            Some(_) => "generator_model",
        };
        let generator = need(needs.generator, key, models.generator.as_slice()).first();
        let user = need(needs.user, "user_model", models.user.as_slice()).first();
        // The user model is also the tool model if no tool model is configured.
        let tool = models.tool.as_ref().filter(|_| runs(Phase::Simulate));
        // All judges judge the realism of conversations, but only the first one judges the messages of simulated
        // users.
        let judging = &settings.judging;
        let judges_needed = match runs(Phase::Simulate) {
            _ if needs.judges => usize::MAX,
            true if judging.realism => usize::MAX,
            true if needs.user && !judging.simulator.is_off() => 1,
            _ => 0,
        };
        let judges = need(judges_needed > 0, "evaluator_model", &models.judges)
            .iter()
            .take(judges_needed)
            .collect();
        let with_targets = runs(Phase::Simulate) || runs(Phase::Evaluate);
        if with_targets && models.targets.is_empty() && imported.is_empty() {
            missing.push("`targets`".to_owned());
        }
        if !missing.is_empty() {
            return Err(missing_models(settings, &missing));
        }
        let mut targets = Vec::new();
        for id in only.iter().filter(|id| !imported.has(id)) {
            targets.push(find_model(("--target", "target"), &models.targets, id)?);
        }
        if only.is_empty() && with_targets {
            let played = models.targets.iter();
            targets = played.filter(|entry| imported.leaves(&entry.id)).collect();
        }
        Ok(Self {
            generator,
            user,
            tool,
            judges,
            targets,
            calls_targets: runs(Phase::Simulate),
            servers: match runs(Phase::Simulate) {
                true => &models.servers,
                false => &[],
            },
            imported: imported.chosen(only),
        })
    }

    /// The called models without duplicates: a model with two roles has one place in the configuration.
    pub fn called(&self) -> Vec<&'a ModelEntry> {
        let targets = if self.calls_targets {
            self.targets.as_slice()
        } else {
            &[]
        };
        let roles = [self.generator, self.user, self.tool];
        let judged = self.judges.iter().chain(targets).copied();
        let servers = self.servers.iter().map(|server| &server.entry);
        without_duplicates(roles.into_iter().flatten().chain(judged).chain(servers))
    }
}

/// The models without duplicates: a model with two roles has one place in the configuration.
pub fn without_duplicates<'a>(
    models: impl IntoIterator<Item = &'a ModelEntry>,
) -> Vec<&'a ModelEntry> {
    let mut called: Vec<&ModelEntry> = Vec::new();
    for entry in models {
        if !called.iter().any(|known| known.path == entry.path) {
            called.push(entry);
        }
    }
    called
}

/// The error that `settings` have no models under these keys.
pub fn missing_models(settings: &Settings, keys: &[String]) -> Failure {
    let file = settings.file.as_ref().map_or_else(
        || "configuration".to_owned(),
        |file| file.display().to_string(),
    );
    let mut message = format!(
        "{file}: missing {}\nhelp: add what is missing, or run with --scripted",
        keys.join(", ")
    );
    let safety = settings
        .safety
        .attacker
        .iter()
        .chain(&settings.safety.judges);
    if settings.models.all().chain(safety).next().is_none() {
        message.push_str(
            "; the file configures no model, so you can also delete it and let `init NAME` write one",
        );
    }
    Failure::usage(message)
}

/// The configured model with this id. `flag` names it as a `kind`: `target` or `model`.
///
/// # Errors
/// When there is none.
pub fn find_model<'a>(
    (flag, kind): (&str, &str),
    models: impl IntoIterator<Item = &'a ModelEntry>,
    id: &str,
) -> Result<&'a ModelEntry, Failure> {
    let mut names: Vec<&str> = Vec::new();
    for model in models {
        if model.id.as_str() == id {
            return Ok(model);
        }
        if !names.contains(&model.id.as_str()) {
            names.push(model.id.as_str());
        }
    }
    Err(Failure::usage(match nearest(id, names.iter().copied()) {
        Some(near) => format!("{flag}: unknown {kind} `{id}`; did you mean `{near}`?"),
        None if names.is_empty() => {
            format!("{flag}: unknown {kind} `{id}`; the configuration has no {kind}s")
        }
        None => format!(
            "{flag}: unknown {kind} `{id}`; known {kind}s: {}",
            names.join(", ")
        ),
    }))
}

/// Creates models under the policy of `settings`. `resolved` contains all models of the run; `batches` is the folder for files of batches.
///
/// # Errors
/// When this process cannot open enough files for a run.
pub fn model_factory(
    settings: &Settings,
    resolved: &[(&ModelEntry, ModelSettings)],
    cache: Cache,
    batches: PathBuf,
    terminal: &Terminal,
) -> Result<ModelFactory, Failure> {
    let targets = settings.models.targets.len().max(1);
    // Both ends of a connection to the scripted server are in this process.
    let scripted = resolved
        .iter()
        .any(|(entry, _)| entry.route == Route::Scripted);
    let connections = open_files::for_connections(targets, if scripted { 2 } else { 1 })?;
    if connections < settings.most_calls()
        && let Some(limit) = files::open_file_limit()
    {
        terminal.warning(&format!(
            "at most {connections} calls run at the same time: this process may open {limit} files and connections\nhelp: raise the \
             limit with `ulimit -n 4096` before the command"
        ));
    }
    let http = HttpClient::new(HttpOptions {
        max_connections: connections,
        ..settings.http_options()
    });
    let factory = settings.model_factory(http, resolved).with_cache(cache);
    Ok(match settings.batch_settings(batches) {
        Some(batches) => factory.with_batches(batches),
        None => factory,
    })
}

/// The cache file, opened according to `settings`; it ignores the stored replies of the rows `refreshed`.
///
/// # Errors
/// When it cannot be opened.
pub fn open_cache(
    settings: &Settings,
    path: &std::path::Path,
    refreshed: &[CachedRow],
) -> Result<Cache, Failure> {
    let mut used = settings.cache_settings();
    if !refreshed.is_empty() {
        // The flags for rows and for everything exclude each other.
        used.mode = CacheMode::RefreshRows(refreshed.into());
    }
    Cache::open(path, used).map_err(|error| Failure::nothing_ran(error.to_string()))
}

/// The models of a run by role.
///
/// # Errors
/// When a model cannot be called with its settings.
pub fn build(
    parts: &ModelRoles<'_>,
    resolved: Vec<(&ModelEntry, ModelSettings)>,
    offered: Vec<OfferedModel>,
    session: &Session,
) -> Result<Models, Failure> {
    let entries = ModelEntries {
        user: parts.user.cloned(),
        tool: parts.tool.cloned(),
        generator: parts.generator.cloned(),
        judges: parts.judges.iter().copied().cloned().collect(),
        targets: parts.targets.iter().copied().cloned().collect(),
        servers: parts.servers.to_vec(),
        ..ModelEntries::default()
    };
    let models = BuiltModels::new(resolved, offered, session)?.by_part(&entries);
    models.map_err(|error| Failure::usage(error.to_string()))
}

/// Starts the scripted server if any of `models` is scripted.
///
/// # Errors
/// When there is no free port.
pub async fn scripted_server<'a>(
    models: impl IntoIterator<Item = &'a ModelEntry>,
) -> Result<Option<ScriptedServer>, Failure> {
    let mut models = models.into_iter();
    if !models.any(|model| model.route == Route::Scripted) {
        return Ok(None);
    }
    let server = ScriptedServer::start().await;
    server
        .map(Some)
        .map_err(|error| Failure::nothing_ran(format!("the scripted server cannot start: {error}")))
}
