//! A program that is configured and not started.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use llm_client::{HostModels, ReplyBody, Wire};
use schema::{
    ChatReply, ChatRequest, Exchange, JsonText, ModelError, ModelErrorKind, PhaseProgram,
    ProgramKind,
};

use crate::{
    error::StartError,
    phase::{self, ProcessPhase},
    pool::ProcessPool,
    record::ProgramRecord,
    settings::ProcessSettings,
    target::{self, ProcessTarget},
};

/// A program before its start: a plan or a dry run starts none. What is its own in the cache is known if it was started so before, and has a
/// record.
#[derive(Debug)]
pub struct Program {
    settings: ProcessSettings,
    canonical: String,
    record: Option<ProgramRecord>,
}

impl Program {
    /// The program of `settings`.
    #[must_use]
    pub fn new(settings: ProcessSettings) -> Self {
        let record = ProgramRecord::read(&settings, None);
        let known = record.as_ref().and_then(|record| record.canonical.clone());
        Self {
            settings,
            canonical: known.unwrap_or_else(|| format!("not started {:016x}", fastrand::u64(..))),
            record,
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

    fn read(&self, request: &ChatRequest, stored: JsonText) -> Option<(ReplyBody, Exchange)> {
        match self.record.as_ref()?.phase_program() {
            Some(program) => phase::read_stored(program.kind, request, stored),
            None => target::read_stored(request, stored),
        }
    }

    fn keeps_conversations(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.sessions)
    }

    fn phase_program(&self) -> Option<PhaseProgram> {
        self.record.as_ref()?.phase_program()
    }

    fn models_called(&self) -> BTreeMap<String, (u32, u32)> {
        let record = self.record.as_ref();
        record
            .map(|record| record.models.clone())
            .unwrap_or_default()
    }

    fn start(&self, models: &HostModels) -> Result<Option<Arc<dyn Wire>>, String> {
        let mut settings = self.settings.clone();
        settings.models = models.names();
        let start = || -> Result<Arc<dyn Wire>, StartError> {
            let pool = ProcessPool::start(settings)?;
            // One that calls models is another with other models behind their names, and without a version nothing of it is kept.
            let is_known = pool.hello().models.is_empty() && pool.hello().cache;
            let is_known = is_known && pool.version().is_some();
            let wire: Arc<dyn Wire> = match ProgramKind::of(&pool.hello().kind) {
                Some(_) => Arc::new(ProcessPhase::new(pool, models)?),
                None => Arc::new(ProcessTarget::new(pool, models)?),
            };
            ProgramRecord::write(&self.settings, None, &*wire, is_known);
            Ok(wire)
        };
        start().map(Some).map_err(|error| error.to_string())
    }
}
