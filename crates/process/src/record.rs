//! What a program said of itself when it was last started, for plans, which start none.

use std::{collections::BTreeMap, io::Write as _, path::Path, sync::Arc};

use llm_client::Wire;
use schema::{PhaseProgram, ProgramKind, ToolSpec, text::hex};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{settings::ProcessSettings, version};

/// The version of the file.
const FORMAT: u32 = 1;

/// The record of one program. It is only an estimate's: a run goes by what the program says now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ProgramRecord {
    format: u32,
    /// The hash of how it is started.
    started: String,
    /// What decides its answers, as its cached results have it. `None` for one whose results are not kept, or rest on other models too.
    pub(crate) canonical: Option<String>,
    /// The models that it calls, each with the fewest and the most calls of a request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) models: BTreeMap<String, (u32, u32)>,
    /// Whether it keeps conversations.
    pub(crate) sessions: bool,
    phase: Option<PhaseRecord>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct PhaseRecord {
    kind: String,
    wants: Vec<String>,
    fingerprint: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolSpec>,
}

/// The hash of how a program is started, or of where the server is: another command, file, setting or address makes it another one.
fn started(settings: &ProcessSettings, address: Option<&str>) -> String {
    let names: Vec<&str> = settings.env.iter().map(|(name, _)| name.as_str()).collect();
    let mut start = json!({
        "command": settings.command,
        "settings": settings.settings,
        "version": settings.version,
        "files": version::of_files(settings),
        "env": names,
    });
    if let Some(address) = address {
        start["address"] = address.into();
    }
    if !settings.metadata.is_empty() {
        start["metadata"] = settings.metadata.clone().into();
    }
    hex(&Sha256::digest(start.to_string()))
}

impl ProgramRecord {
    /// The record of the program that `settings` start, or of the server at `address`; `None` where it was not started so before.
    pub(crate) fn read(settings: &ProcessSettings, address: Option<&str>) -> Option<Self> {
        let text = files::read_text(settings.record.as_deref()?).ok()?;
        let record: Self = serde_json::from_str(&text).ok()?;
        let is_it = record.format == FORMAT && record.started == started(settings, address);
        is_it.then_some(record)
    }

    /// Records what `wire` is, which `settings` started, and whether its answers can be known by that alone. Where it cannot be written, plans
    /// count its rows as new.
    pub(crate) fn write(
        settings: &ProcessSettings,
        address: Option<&str>,
        wire: &dyn Wire,
        is_known: bool,
    ) {
        let Some(path) = &settings.record else {
            return;
        };
        let program = wire.phase_program().filter(|_| is_known);
        let phase = program.map(|program| PhaseRecord {
            kind: program.kind.as_str().to_owned(),
            wants: program.wants.to_vec(),
            fingerprint: Value::clone(&program.fingerprint),
            tools: program.tools.to_vec(),
        });
        let record = Self {
            format: FORMAT,
            started: started(settings, address),
            canonical: is_known.then(|| wire.canonical().to_owned()),
            models: wire.models_called(),
            sessions: wire.keeps_conversations(),
            phase,
        };
        if let Err(error) = record.save(path) {
            tracing::debug!("{}: not recorded: {error}", settings.name);
        }
    }

    fn save(&self, path: &Path) -> std::io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let mut file = files::create_unfinished(folder)?;
        serde_json::to_writer(&mut file, self)?;
        file.flush()?;
        file.persist(path)?;
        Ok(())
    }

    /// See [`Wire::phase_program`].
    pub(crate) fn phase_program(&self) -> Option<PhaseProgram> {
        let phase = self.phase.as_ref()?;
        Some(PhaseProgram {
            kind: ProgramKind::of(&phase.kind)?,
            wants: phase.wants.clone().into(),
            fingerprint: Arc::new(phase.fingerprint.clone()),
            tools: phase.tools.clone().into(),
        })
    }
}
