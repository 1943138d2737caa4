//! Builds callable models from the configured ones.

use std::sync::Arc;

use async_trait::async_trait;
use engine::Session;
use llm_client::{HostModel, HostModels, KeyMaker, ModelSettings, SetupError};
use schema::{
    ChatModel, ChatReply, ChatRequest, Extra, IdError, ModelError, ModelErrorKind, ModelId,
    TargetRef,
};

use super::{
    error::ConfigError,
    sections::{ModelEntries, ModelEntry},
};
use crate::{Models, ToolServer};

/// A model that programs may call, by name, or why it cannot be called.
pub type OfferedModel = (String, Result<ModelSettings, ConfigError>);

/// Offers models to the programs that are started later. `model` builds one.
pub fn offer(
    offered: Vec<OfferedModel>,
    to: &HostModels,
    model: impl Fn(ModelSettings) -> Result<Arc<dyn ChatModel>, SetupError>,
) {
    for (name, settings) in offered {
        let built = settings
            .map_err(|error| error.to_string())
            .and_then(|settings| {
                let identity = KeyMaker::new(&settings).identity();
                let name = settings.model.clone();
                let model = model(settings).map_err(|error| error.to_string())?;
                Ok(HostModel {
                    model,
                    name,
                    identity,
                })
            });
        to.offer(name, built);
    }
}

/// Configured models that are ready to be called.
pub struct BuiltModels(Vec<BuiltModel>);

struct BuiltModel {
    /// The key path of its configuration: a model with two roles is built only once.
    path: String,
    model: Arc<dyn ChatModel>,
    options: Extra,
}

impl BuiltModels {
    /// Builds all models of `resolved`. Programs among them may call those of `offered`.
    ///
    /// # Errors
    /// Lists every model that cannot be called with its settings.
    pub fn new(
        resolved: Vec<(&ModelEntry, ModelSettings)>,
        offered: Vec<OfferedModel>,
        session: &Session,
    ) -> Result<Self, ConfigError> {
        offer(offered, session.host_models(), |settings| {
            session.model(settings)
        });
        let mut built: Vec<BuiltModel> = Vec::new();
        let mut problems = Vec::new();
        for (entry, settings) in resolved {
            if built.iter().any(|known| known.path == entry.path) {
                continue;
            }
            let options = settings.sent_options();
            match session.model(settings) {
                Ok(model) => built.push(BuiltModel {
                    path: entry.path.clone(),
                    model,
                    options,
                }),
                Err(error) => problems.push(format!("{}: {error}", entry.path).into()),
            }
        }
        ConfigError::check(problems).map(|()| Self(built))
    }

    fn find(&self, entry: &ModelEntry) -> Option<&BuiltModel> {
        self.0.iter().find(|built| built.path == entry.path)
    }

    /// The model of `entry`. If it was not built, its calls fail.
    pub fn model(&self, entry: &ModelEntry) -> Arc<dyn ChatModel> {
        match self.find(entry) {
            Some(built) => Arc::clone(&built.model),
            None => Arc::new(Unused {
                id: entry.id.clone(),
            }),
        }
    }

    /// What the requests to the model of `entry` contain besides their messages.
    pub fn options(&self, entry: &ModelEntry) -> Extra {
        let built = self.find(entry);
        built.map(|built| built.options.clone()).unwrap_or_default()
    }

    /// The models of `entries` by part. Models that are not configured or were not built belong to phases that do not run: their calls
    /// fail.
    ///
    /// # Errors
    /// Never, as long as the names of the parts are valid ids.
    pub fn by_part(&self, entries: &ModelEntries) -> Result<Models, IdError> {
        let part = |entry: &Option<ModelEntry>, part| -> Result<Arc<dyn ChatModel>, IdError> {
            Ok(match entry {
                Some(entry) => self.model(entry),
                None => Arc::new(Unused {
                    id: ModelId::new(part)?,
                }),
            })
        };
        let target = |entry: &ModelEntry| {
            let target = TargetRef {
                id: entry.id.clone(),
                model: entry.model.raw.clone(),
            };
            (target, self.model(entry))
        };
        Ok(Models {
            generator: part(&entries.generator, "generator_model")?,
            user: part(&entries.user, "user_model")?,
            tools: part(&entries.tool, "tool_model")?,
            judges: entries
                .judges
                .iter()
                .map(|entry| self.model(entry))
                .collect(),
            targets: entries.targets.iter().map(target).collect(),
            servers: entries
                .servers
                .iter()
                .map(|server| ToolServer {
                    model: self.model(&server.entry),
                    targets: server.targets.clone(),
                })
                .collect(),
        })
    }
}

/// Replaces the model of a phase that does not run.
struct Unused {
    id: ModelId,
}

#[async_trait]
impl ChatModel for Unused {
    fn id(&self) -> &ModelId {
        &self.id
    }

    async fn chat(&self, _request: &ChatRequest) -> Result<ChatReply, ModelError> {
        Err(ModelError::new(
            ModelErrorKind::Permanent,
            format!("the model {} was not made", self.id),
        ))
    }
}
