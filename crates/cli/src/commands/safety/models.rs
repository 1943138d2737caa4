//! The models of a safety evaluation.

use std::{path::Path, sync::Arc};

use files::Unreadable;
use schema::{Finding, text::is_blank};
use store::findings::{ModelRole, RoleModels, role_findings};

use super::{
    super::models::{find_model, missing_models, without_duplicates},
    args::SafetyArgs,
};
use crate::{
    config::{Config, ModelEntry, Route},
    exit::Failure,
};

/// The models of a safety evaluation.
pub struct SafetyRoles {
    /// Rewrites prompts or attacks.
    pub attacker: ModelEntry,
    /// Score the responses.
    pub judges: Vec<ModelEntry>,
    /// The systems under test.
    pub targets: Vec<ModelEntry>,
}

/// The ids of models that a command line, or the record of a run, names. Empty: those of the configuration.
pub struct NamedModels<'a> {
    /// Rewrites prompts or attacks.
    pub attacker: Option<&'a str>,
    /// Score the responses.
    pub judges: &'a [String],
    /// The systems under test.
    pub targets: &'a [String],
}

impl<'a> From<&'a SafetyArgs> for NamedModels<'a> {
    fn from(args: &'a SafetyArgs) -> Self {
        Self {
            attacker: args.common.attacker.as_deref(),
            judges: &args.common.judges,
            targets: &args.common.targets,
        }
    }
}

impl SafetyRoles {
    /// The models that are named, and those of the configuration for roles without a name.
    ///
    /// # Errors
    /// When a model's id is unknown, or a role has no model.
    pub fn of(config: &Config, named: &NamedModels<'_>) -> Result<Self, Failure> {
        let settings = &config.settings;
        let (safety, models) = (&settings.safety, &settings.models);
        let attacks = models
            .user
            .as_ref()
            .map(|model| stand_in(model, "scripted-attacker"))
            .transpose()?;
        let judging = models
            .judges
            .iter()
            .map(|model| stand_in(model, "scripted-safety-judge"))
            .collect::<Result<Vec<_>, _>>()?;
        let own = safety.attacker.iter().chain(&safety.judges);
        let all: Vec<&ModelEntry> = own
            .chain(&attacks)
            .chain(&judging)
            .chain(models.all())
            .collect();
        let attacker = match named.attacker {
            Some(id) => Some(find_model(("--attacker", "model"), all.iter().copied(), id)?.clone()),
            None => safety.attacker.clone().or(attacks.clone()),
        };
        let mut judges = Vec::new();
        for id in named.judges {
            let judge = find_model(("--judge", "model"), all.iter().copied(), id)?.clone();
            if judges.iter().any(|known: &ModelEntry| known.id == judge.id) {
                return Err(Failure::usage(format!("--judge: duplicate id `{id}`")));
            }
            judges.push(judge);
        }
        if judges.is_empty() {
            judges.clone_from(&safety.judges);
        }
        if judges.is_empty() {
            judges.clone_from(&judging);
        }
        let mut targets = Vec::new();
        for id in named.targets {
            let target = find_model(("--target", "target"), &models.targets, id)?.clone();
            if targets
                .iter()
                .all(|known: &ModelEntry| known.id != target.id)
            {
                targets.push(target);
            }
        }
        if named.targets.is_empty() {
            targets.clone_from(&models.targets);
        }
        let roles = [
            (
                attacker.is_none(),
                "`user_model` or `safety.attacker_model`",
            ),
            (
                judges.is_empty(),
                "`evaluator_model` or `safety.judge_models`",
            ),
            (targets.is_empty(), "`targets`"),
        ];
        let missing: Vec<String> = roles
            .into_iter()
            .filter(|(is_missing, _)| *is_missing)
            .map(|(_, keys)| keys.to_owned())
            .collect();
        let attacker = attacker
            .filter(|_| missing.is_empty())
            .ok_or_else(|| missing_models(settings, &missing))?;
        Ok(Self {
            attacker,
            judges,
            targets,
        })
    }

    /// All models without duplicates.
    pub fn called(&self) -> Vec<&ModelEntry> {
        let all = std::iter::once(&self.attacker);
        without_duplicates(all.chain(&self.judges).chain(&self.targets))
    }

    /// Refuses servers of tools that are for a target of the evaluation: without its tools, it would be another system than the user means.
    ///
    /// # Errors
    /// The server, and what to do.
    pub fn check_tools(&self, config: &Config) -> Result<(), Failure> {
        for server in &config.settings.models.servers {
            let mut targets = self.targets.iter();
            let has = targets
                .find(|target| server.targets.is_empty() || server.targets.contains(&target.id));
            if let Some(target) = has {
                let name = &server.entry.id;
                return Err(Failure::usage(format!(
                    "mcp_servers.{name}: safety evaluations give targets no tools, and {} would have those of {name}\n                     help: name the targets that get them, `targets: [...]` of the server, or use a configuration without it",
                    target.id
                )));
            }
        }
        Ok(())
    }

    /// What the models already say about the results.
    pub fn findings(&self) -> Vec<Finding> {
        let of_target = |target: &ModelEntry| {
            let models = [
                target.in_role(ModelRole::Target),
                self.attacker.in_role(ModelRole::Attacker),
            ];
            let judges = self
                .judges
                .iter()
                .map(|judge| judge.in_role(ModelRole::Judge));
            RoleModels {
                target: target.id.clone(),
                models: models.into_iter().chain(judges).collect(),
            }
        };
        let roles: Vec<RoleModels> = self.targets.iter().map(of_target).collect();
        role_findings("", &roles)
    }
}

/// The model of a role that the section `safety` does not name. A scripted model is replaced by the one for safety evaluations.
fn stand_in(model: &ModelEntry, scripted: &str) -> Result<ModelEntry, Failure> {
    match model.route {
        Route::Scripted => ModelEntry::scripted(&model.path, scripted)
            .map_err(|error| Failure::usage(error.to_string())),
        _ => Ok(model.clone()),
    }
}

/// The targets' system prompt: from the command line, else from the configuration.
///
/// # Errors
/// When its file cannot be read, or the configuration names both a text and a file.
pub fn system_prompt(config: &Config, args: &SafetyArgs) -> Result<Option<Arc<str>>, Failure> {
    if let Some(text) = &args.common.system_prompt {
        return Ok(some_text(text));
    }
    if let Some(file) = &args.common.system_prompt_file {
        return read(file).map(Some);
    }
    let safety = &config.settings.safety;
    match (&safety.system_prompt, &safety.system_prompt_file) {
        (Some(text), Some(_)) => Err(text
            .error("and safety.system_prompt_file are both set; leave one out")
            .into()),
        (Some(text), None) => Ok(some_text(&text.resolve(&config.vars)?)),
        (None, Some(file)) => {
            let folder = config
                .settings
                .file
                .as_ref()
                .and_then(|file| file.parent())
                .map(Path::to_owned)
                .unwrap_or_default();
            read(&folder.join(file.resolve(&config.vars)?)).map(Some)
        }
        (None, None) => Ok(None),
    }
}

fn some_text(text: &str) -> Option<Arc<str>> {
    (!is_blank(text)).then(|| text.into())
}

fn read(path: &Path) -> Result<Arc<str>, Failure> {
    let name = path.display();
    let text = files::read_text(path).map_err(|error| {
        Failure::usage(match Unreadable::of(&error) {
            Some(unreadable) => format!("{name}: {unreadable}"),
            None => format!("{name}: the system prompt cannot be read: {error}"),
        })
    })?;
    match text.trim_end() {
        "" => Err(Failure::usage(format!(
            "{name}: the system prompt is empty"
        ))),
        text => Ok(text.into()),
    }
}
