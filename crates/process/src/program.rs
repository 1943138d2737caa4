//! A program that is configured and not started.

use std::sync::Arc;

use async_trait::async_trait;
use llm_client::{HostModels, ReplyBody, Wire};
use schema::{ChatReply, ChatRequest, Exchange, JsonText, ModelError, ModelErrorKind, ProgramKind};

use crate::{
    error::StartError, phase::ProcessPhase, pool::ProcessPool, settings::ProcessSettings,
    target::ProcessTarget,
};

/// A program before its start: a plan or a dry run starts none. What it would answer is not known, so nothing in the cache is its own.
#[derive(Debug)]
pub struct Program {
    settings: ProcessSettings,
    canonical: String,
}

impl Program {
    /// The program of `settings`.
    #[must_use]
    pub fn new(settings: ProcessSettings) -> Self {
        Self {
            settings,
            canonical: format!("not started {:016x}", fastrand::u64(..)),
        }
    }
}

#[async_trait]
impl Wire for Program {
    fn canonical(&self) -> &str {
        &self.canonical
    }

    async fn call(&self, _request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let text = format!("{}: the program is not started", self.settings.name);
        Err(ModelError::new(ModelErrorKind::Permanent, text))
    }

    fn read(&self, _request: &ChatRequest, _stored: JsonText) -> Option<(ReplyBody, Exchange)> {
        None
    }

    fn start(&self, models: &HostModels) -> Result<Option<Arc<dyn Wire>>, String> {
        let mut settings = self.settings.clone();
        settings.models = models.names();
        let start = || -> Result<Arc<dyn Wire>, StartError> {
            let pool = ProcessPool::start(settings)?;
            Ok(match ProgramKind::of(&pool.hello().kind) {
                Some(_) => Arc::new(ProcessPhase::new(pool, models)?),
                None => Arc::new(ProcessTarget::new(pool, models)?),
            })
        };
        start().map(Some).map_err(|error| error.to_string())
    }
}
