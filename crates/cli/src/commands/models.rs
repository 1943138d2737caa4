//! The models of a run, with their keys and all policy around them.

use std::{num::NonZeroU32, sync::Arc};

use async_trait::async_trait;
use llm_client::{
    Budget, BudgetLimits, Cache, CacheMode, CacheSettings, HttpClient, HttpOptions, LimitSettings,
    ModelFactory, ModelSettings, RetryPolicy,
};
use probity::{Models, Phase, Session};
use schema::{
    ChatModel, ChatReply, ChatRequest, ModelError, ModelErrorKind, ModelId, TargetRef, nearest,
};
use scripted_llm::ScriptedServer;

use super::imported::Imported;
use crate::{
    config::{ConfigError, ConfigProblem, Endpoints, Limits, ModelEntry, Route, Settings, Whole},
    exit::Failure,
    open_files,
    terminal::Terminal,
};

/// Calls in flight at one endpoint, unless the settings say otherwise or need more.
const IN_FLIGHT: usize = 64;

/// The parts of the configured models that some phases need.
pub struct ModelRoles<'a> {
    /// Writes metrics and scenarios.
    pub generator: Option<&'a ModelEntry>,
    /// Plays the user.
    pub user: Option<&'a ModelEntry>,
    /// Answers calls of simulated tools.
    pub tool: Option<&'a ModelEntry>,
    /// Judges.
    pub evaluator: Option<&'a ModelEntry>,
    /// The systems under test, and whether they are called.
    pub targets: Vec<&'a ModelEntry>,
    /// Whether the targets are called.
    pub calls_targets: bool,
    /// Systems under test that no configuration needs to have: their conversations were imported, and are judged.
    pub imported: Vec<TargetRef>,
}

impl<'a> ModelRoles<'a> {
    /// What `phases` need of `settings`. `only`: these targets and no others.
    ///
    /// # Errors
    /// When a model is missing or there is no target of an id.
    pub fn of(settings: &'a Settings, phases: &[Phase], only: &[String]) -> Result<Self, Failure> {
        Self::and_imported(settings, phases, only, Imported::default())
    }

    /// The same, where conversations of some targets were imported.
    ///
    /// # Errors
    /// As [`ModelRoles::of`].
    pub fn and_imported(
        settings: &'a Settings,
        phases: &[Phase],
        only: &[String],
        imported: Imported,
    ) -> Result<Self, Failure> {
        let runs = |phase| phases.contains(&phase);
        let models = &settings.models;
        let mut missing = Vec::new();
        let mut need = |needed: bool, key: &str, model: &'a Option<ModelEntry>| {
            let key = format!("`{key}`");
            if needed && model.is_none() && !missing.contains(&key) {
                missing.push(key);
            }
            model.as_ref().filter(|_| needed)
        };
        let generates = runs(Phase::GenMetrics) || runs(Phase::GenScenarios);
        // The user model writes when no other does.
        let generator = need(generates, "user_model", &models.generator);
        let user = need(runs(Phase::Simulate), "user_model", &models.user);
        // Where no tool model is configured, it is the user model.
        let tool = models.tool.as_ref().filter(|_| user.is_some());
        let evaluator = need(runs(Phase::Evaluate), "evaluator_model", &models.evaluator);
        let with_targets = runs(Phase::Simulate) || runs(Phase::Evaluate);
        if with_targets && models.targets.is_empty() && imported.is_empty() {
            missing.push("`targets`".to_owned());
        }
        if !missing.is_empty() {
            let file = settings.file.as_ref().map_or_else(
                || "configuration".to_owned(),
                |file| file.display().to_string(),
            );
            let mut message = format!(
                "{file}: missing {}\nhelp: add what is missing, or run with --scripted",
                missing.join(", ")
            );
            if models.all().next().is_none() {
                message.push_str(
                    "; the file configures no model, so you can also delete it and let `init NAME` write one",
                );
            }
            return Err(Failure::usage(message));
        }
        let mut targets = Vec::new();
        for id in only.iter().filter(|id| !imported.has(id)) {
            targets.push(find_target(&models.targets, id)?);
        }
        if only.is_empty() && with_targets {
            let played = models.targets.iter();
            targets = played.filter(|entry| imported.leaves(&entry.id)).collect();
        }
        Ok(Self {
            generator,
            user,
            tool,
            evaluator,
            targets,
            calls_targets: runs(Phase::Simulate),
            imported: imported.chosen(only),
        })
    }

    /// The models that are called, each once: one with two roles is at one place of the configuration.
    pub fn called(&self) -> Vec<&'a ModelEntry> {
        let targets = if self.calls_targets {
            self.targets.as_slice()
        } else {
            &[]
        };
        let roles = [self.generator, self.user, self.tool, self.evaluator];
        let mut called: Vec<&ModelEntry> = Vec::new();
        for entry in roles.into_iter().flatten().chain(targets.iter().copied()) {
            if !called.iter().any(|known| known.path == entry.path) {
                called.push(entry);
            }
        }
        called
    }
}

/// The configured target of this id.
fn find_target<'a>(targets: &'a [ModelEntry], id: &str) -> Result<&'a ModelEntry, Failure> {
    if let Some(target) = targets.iter().find(|target| target.id.as_str() == id) {
        return Ok(target);
    }
    let names: Vec<&str> = targets.iter().map(|target| target.id.as_str()).collect();
    Err(Failure::usage(match nearest(id, names.iter().copied()) {
        Some(near) => format!("--target: unknown target `{id}`; did you mean `{near}`?"),
        None if names.is_empty() => {
            format!("--target: unknown target `{id}`; the configuration has no targets")
        }
        None => format!(
            "--target: unknown target `{id}`; known targets: {}",
            names.join(", ")
        ),
    }))
}

/// Resolves models; tells all that is missing at once.
///
/// # Errors
/// Every missing key and variable.
pub fn resolve<'a>(
    entries: impl IntoIterator<Item = &'a ModelEntry>,
    endpoints: &Endpoints<'_>,
) -> Result<Vec<(&'a ModelEntry, ModelSettings)>, ConfigError> {
    let mut resolved = Vec::new();
    let mut problems: Vec<ConfigProblem> = Vec::new();
    for entry in entries {
        match endpoints.resolve(entry) {
            Ok(settings) => resolved.push((entry, settings)),
            Err(error) => problems.extend(error.into_problems()),
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    problems.retain(|problem| seen.insert(problem.clone()));
    ConfigError::check(problems)?;
    Ok(resolved)
}

/// Hands out models under the policy of `settings`. `resolved` are all the models there will be.
///
/// # Errors
/// When this process may open too few files for a run.
pub fn model_factory(
    settings: &Settings,
    resolved: &[(&ModelEntry, ModelSettings)],
    cache: Cache,
    terminal: &Terminal,
) -> Result<ModelFactory, Failure> {
    let concurrency = &settings.run.concurrency;
    let targets = settings.models.targets.len().max(1);
    let needed = concurrency
        .gen_scenarios
        .max(concurrency.simulate.saturating_mul(targets))
        .max(concurrency.evaluate.saturating_mul(targets));
    let most = needed.max(IN_FLIGHT);
    let limits = limit_settings(&settings.limits, &Limits::default(), most);
    // Both ends of a connection to the scripted server are in this process.
    let scripted = resolved
        .iter()
        .any(|(entry, _)| entry.route == Route::Scripted);
    let connections = open_files::for_connections(targets, if scripted { 2 } else { 1 })?;
    if connections < limits.max_concurrency.min(needed)
        && let Some(limit) = open_files::limit()
    {
        terminal.warning(&format!(
            "at most {connections} calls run at the same time: this process may open {limit} files and connections\nhelp: raise the \
             limit with `ulimit -n 4096` before the command"
        ));
    }
    let http = HttpClient::new(HttpOptions {
        concurrency: most,
        max_connections: connections,
        ..HttpOptions::default()
    });
    let mut factory = ModelFactory::new(http)
        .with_cache(cache)
        .with_retries(RetryPolicy {
            max_attempts: *settings.retries.max_attempts,
            ..RetryPolicy::default()
        })
        .with_circuit_breaker(settings.retries.circuit_breaker.0)
        .with_limits(limits);
    let limits = BudgetLimits {
        dollars: settings.budget.dollars(),
        tokens: settings.budget.tokens(),
    };
    if limits.dollars.is_some() || limits.tokens.is_some() {
        factory = factory.with_budget(Budget::new(limits));
    }
    for (entry, model) in resolved {
        if entry.table.limits != Limits::default() {
            let limits = limit_settings(&settings.limits, &entry.table.limits, most);
            factory = factory.with_endpoint_limits(model.endpoint(), limits);
        }
    }
    Ok(factory)
}

fn limit_settings(global: &Limits, own: &Limits, most: usize) -> LimitSettings {
    let max = own
        .max_concurrency
        .or(global.max_concurrency)
        .map_or(most, |max| *max as usize);
    let rate =
        |own: Option<Whole<u32, 1>>, global| own.or(global).and_then(|n| NonZeroU32::new(*n));
    LimitSettings {
        requests_per_minute: rate(own.requests_per_minute, global.requests_per_minute),
        tokens_per_minute: rate(own.tokens_per_minute, global.tokens_per_minute),
        ..LimitSettings::up_to(max)
    }
}

/// The cache file, used as `settings` say.
///
/// # Errors
/// When it cannot be opened.
pub fn open_cache(settings: &Settings, path: &std::path::Path) -> Result<Cache, Failure> {
    let mode = if settings.run.force {
        CacheMode::Refresh
    } else {
        CacheMode::Use
    };
    let cache_settings = CacheSettings {
        mode,
        max_age: settings.cache.expiry.map(|length| length.0),
        ..CacheSettings::default()
    };
    Cache::open(path, cache_settings).map_err(|error| Failure::nothing_ran(error.to_string()))
}

/// The models of a run by part.
///
/// # Errors
/// When a model cannot be called with its settings.
pub fn build(
    parts: &ModelRoles<'_>,
    resolved: Vec<(&ModelEntry, ModelSettings)>,
    session: &Session,
) -> Result<Models, Failure> {
    let mut made: Vec<(&str, Arc<dyn ChatModel>)> = Vec::new();
    let mut problems = Vec::new();
    for (entry, settings) in resolved {
        match session.model(settings) {
            Ok(model) => made.push((entry.path.as_str(), model)),
            Err(error) => problems.push(format!("{}: {error}", entry.path).into()),
        }
    }
    ConfigError::check(problems)?;
    let part = |entry: Option<&ModelEntry>, part: &'static str| {
        let model = entry.and_then(|entry| made.iter().find(|(path, _)| *path == entry.path));
        Ok::<_, Failure>(match model {
            Some((_, model)) => Arc::clone(model),
            None => Arc::new(Unused::new(part)?),
        })
    };
    let mut targets = Vec::new();
    for entry in &parts.targets {
        let target = TargetRef {
            id: entry.id.clone(),
            model: entry.model.raw.clone(),
        };
        targets.push((target, part(Some(*entry), "target")?));
    }
    Ok(Models {
        generator: part(parts.generator, "generator_model")?,
        user: part(parts.user, "user_model")?,
        tools: part(parts.tool, "tool_model")?,
        judge: part(parts.evaluator, "evaluator_model")?,
        targets,
    })
}

/// Stands where a phase that does not run would have its model.
struct Unused {
    id: ModelId,
}

impl Unused {
    fn new(part: &str) -> Result<Self, Failure> {
        let id = ModelId::new(part).map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Self { id })
    }
}

#[async_trait]
impl ChatModel for Unused {
    fn id(&self) -> &ModelId {
        &self.id
    }

    async fn chat(&self, _request: &ChatRequest) -> Result<ChatReply, ModelError> {
        Err(ModelError::new(
            ModelErrorKind::Permanent,
            format!("{} is not set up for this command", self.id),
        ))
    }
}

/// Starts the scripted server where one of `models` is scripted.
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
