//! Reports before a run how many of its replies are in the cache.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use llm_client::{Cache, Cached, ModelSettings, Prefilled};
use probity::{
    Forecast, Models, Phase, PhaseSettings, Phases, PromptChoice, RunOptions, ToolServer, forecast,
};
use schema::{
    ChatModel, ChatReply, ChatRequest, ModelError, ModelErrorKind, ModelId, PhaseProgram,
    PromptVersions, TargetRef, numbers::grouped,
};
use store::provenance::begun_with;

use super::{Context, models::ModelRoles};
use crate::{
    config::{Config, Endpoints, ModelEntry},
    exit::Failure,
};

/// Looks up the expected cache use of the phases of `options` in `cache`. Whatever cannot be looked up is left out: the forecast is not
/// essential.
pub async fn look(
    context: &Context,
    config: &Config,
    parts: &ModelRoles<'_>,
    settings: PhaseSettings,
    options: &RunOptions,
    names: &[String],
    cache: &Cache,
) -> Vec<Forecast> {
    let Ok(phases) = phases(context, config, parts, settings, cache) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for name in names {
        let rows = forecast(&context.layout, name, &phases, options).await;
        found.extend(rows.unwrap_or_default());
    }
    found
}

/// The versions of prompts and rules of which `cache` answers the most rows, for each benchmark whose files do not show which versions it
/// began with; in a tie the newest. Benchmarks of which the cache answers nothing are left out: they begin with the newest.
///
/// Without this, the judge would be called again for a benchmark of which only the cache was kept, after each change of the shipped prompts.
pub async fn cached_versions(
    context: &Context,
    config: &Config,
    parts: &ModelRoles<'_>,
    settings: PhaseSettings,
    options: &RunOptions,
    names: &[String],
    cache: &Cache,
) -> BTreeMap<String, PromptVersions> {
    let mut found = BTreeMap::new();
    let choice = options.prompts == PromptChoice::Kept && PromptVersions::RELEASED.len() > 1;
    if !choice || cache.count().unwrap_or_default() == 0 {
        return found;
    }
    // Imported conversations are only judged. Elsewhere the judge's replies decide most, also before a command that only simulates.
    let targets: Vec<String> = parts
        .targets
        .iter()
        .map(|entry| entry.id.to_string())
        .collect();
    let whole = match parts.imported.is_empty() {
        true => ModelRoles::of(&config.settings, &Phase::ALL, &targets).ok(),
        false => None,
    };
    let looked_up: &[Phase] = match whole {
        Some(_) => &[Phase::Simulate, Phase::Evaluate],
        None => &[Phase::Evaluate],
    };
    let roles = whole.as_ref().unwrap_or(parts);
    let Ok(phases) = phases(context, config, roles, settings, cache) else {
        return found;
    };
    for name in names {
        let dir = context.layout.benchmark(name);
        if !dir.is_ok_and(|dir| matches!(begun_with(&dir), Ok(None))) {
            continue;
        }
        let mut most = 0;
        // The newest last: it wins a tie, and where another run fills the cache in the meantime, what comes counts for it.
        for versions in PromptVersions::RELEASED.iter().rev() {
            let options = RunOptions {
                phases: looked_up.iter().copied().collect(),
                found_versions: [(name.clone(), *versions)].into(),
                ..options.clone()
            };
            let rows = forecast(&context.layout, name, &phases, &options).await;
            let cached = rows.unwrap_or_default().iter().map(|row| row.cached).sum();
            if cached > 0 && cached >= most {
                most = cached;
                found.insert(name.clone(), *versions);
            }
        }
    }
    found
}

/// The phases, with models that answer from the cache only.
fn phases(
    context: &Context,
    config: &Config,
    parts: &ModelRoles<'_>,
    settings: PhaseSettings,
    cache: &Cache,
) -> Result<Phases, Failure> {
    let nowhere = Some(super::plan::NOWHERE.to_owned());
    let endpoints = config
        .endpoints(nowhere)?
        .with_records(context.layout.state());
    let model = |entry: Option<&ModelEntry>| -> Result<Arc<dyn ChatModel>, Failure> {
        let Some(entry) = entry else {
            let id = ModelId::new("none").map_err(|error| Failure::usage(error.to_string()))?;
            return Ok(Arc::new(NotCached { id, program: None }));
        };
        cached_only(&endpoints, entry, cache)
    };
    let mut targets = Vec::new();
    for entry in &parts.targets {
        let target = TargetRef {
            id: entry.id.clone(),
            model: entry.model.raw.clone(),
        };
        targets.push((target, model(Some(*entry))?));
    }
    let models = Models {
        generator: model(parts.generator)?,
        user: model(parts.user)?,
        tools: model(parts.tool.or(parts.user))?,
        judges: parts
            .judges
            .iter()
            .map(|entry| model(Some(*entry)))
            .collect::<Result<_, _>>()?,
        targets,
        servers: parts
            .servers
            .iter()
            .map(|server| {
                Ok(ToolServer {
                    model: model(Some(&server.entry))?,
                    targets: server.targets.clone(),
                })
            })
            .collect::<Result<_, Failure>>()?,
    };
    let mut phases = context.phases(models, settings)?;
    phases.targets.extend(parts.imported.iter().cloned());
    Ok(phases)
}

/// A model that answers from the cache only.
///
/// # Errors
/// When a model cannot be called with its settings.
pub fn cached_only(
    endpoints: &Endpoints<'_>,
    entry: &ModelEntry,
    cache: &Cache,
) -> Result<Arc<dyn ChatModel>, Failure> {
    let settings: ModelSettings = endpoints.without_key(entry)?;
    let absent = NotCached {
        id: entry.id.clone(),
        program: settings.wire.as_ref().and_then(|wire| wire.phase_program()),
    };
    let cached = Cached::new(absent, cache.clone(), &settings);
    Ok(Arc::new(Prefilled::new(cached, &settings)))
}

/// The model behind the cache, which has no reply.
struct NotCached {
    id: ModelId,
    program: Option<PhaseProgram>,
}

#[async_trait]
impl ChatModel for NotCached {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn phase_program(&self) -> Option<PhaseProgram> {
        self.program.clone()
    }

    async fn chat(&self, _request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let text = "the reply is not in the cache";
        Err(ModelError::new(ModelErrorKind::Permanent, text))
    }
}

/// The most names of targets in a line.
const NAMED: usize = 4;

/// A line for each benchmark and phase: how many rows come from the cache, how many are new, and why. Targets with the same text share a
/// line. `may_stop`: whether the run may end before its last row.
pub fn lines(found: &[Forecast], may_stop: bool) -> Vec<String> {
    let most = if may_stop { "at most " } else { "" };
    let mut lines: BTreeMap<(&str, &str, String), Vec<&ModelId>> = BTreeMap::new();
    for row in found {
        let more = if row.more {
            " of the rows looked up"
        } else {
            ""
        };
        let why = match row.reasons.is_empty() {
            true => String::new(),
            false => format!(": {}", row.reasons.join("; ")),
        };
        let text = format!(
            "{} from the cache, {most}{} new{more}{why}",
            grouped(row.cached),
            grouped(row.new)
        );
        let phase = row.phase.command();
        // In the order in which the phases run.
        let order = if phase == "simulate" { "1" } else { "2" };
        let key = (row.benchmark.as_str(), order, format!("{phase} {text}"));
        lines.entry(key).or_default().push(&row.target);
    }
    let line = |((benchmark, _, text), ids): (&(&str, &str, String), &Vec<&ModelId>)| {
        let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
        let each = if ids.len() > 1 { " each" } else { "" };
        let names = match ids.get(..NAMED).filter(|_| ids.len() > NAMED + 1) {
            Some(first) => format!("{} and {} more", first.join(", "), ids.len() - NAMED),
            None => ids.join(", "),
        };
        format!("{benchmark}: {names}{each}: {text}")
    };
    lines.iter().map(line).collect()
}
