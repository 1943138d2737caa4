//! Transcripts of Petri and Bloom, in version 3.0 of the form that both share: a JSON file for each conversation.
//!
//! The form is known from its JSON schema in the viewer of transcripts, and from Bloom's documentation. A file has `metadata` (the models of the
//! auditor and of the target, the judge's scores by dimension) and `events`, which add messages to the view of the auditor, of the target or of
//! both, take them back, or begin again. The conversation of the target is what its view is at the end.

mod judged;
mod view;

use std::{
    collections::{BTreeMap, HashMap},
    io::BufReader,
    path::Path,
};

use schema::{Extra, Metric, Scenario, Turn, text::hex};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use self::{
    judged::{Judged, Rollout},
    view::View,
};
use super::{
    Found, ImportError, Recorded, SourceFile, Take,
    clean::Clean,
    file_name,
    inspect::{Messages, split_system},
};

/// The name of the evaluation: samples of one name are the same question to all models.
const TASK: &str = "petri";

/// The versions of the form that are read.
const VERSIONS: [&str; 2] = ["v3.0", "3.0"];

/// A file.
#[derive(Deserialize)]
struct Transcript {
    metadata: Metadata,
    /// Bloom has both beside the metadata.
    transcript_id: Option<String>,
    schema_version: Option<String>,
    target_system_prompt: Option<String>,
    #[serde(default)]
    events: Vec<Value>,
    #[serde(default)]
    target_messages: Vec<Value>,
}

#[derive(Deserialize)]
struct Metadata {
    transcript_id: Option<String>,
    version: Option<String>,
    #[serde(alias = "evaluator_model")]
    auditor_model: Option<String>,
    target_model: Option<String>,
    description: Option<String>,
    #[serde(default)]
    tags: Option<Vec<String>>,
    judge_output: Option<Judged>,
    probity: Option<Own>,
}

/// What Probity adds to the transcripts that it writes.
#[derive(Deserialize)]
struct Own {
    benchmark: String,
    target_id: String,
    scenario: Scenario,
    metrics: Vec<Metric>,
    /// By metric: whether the behaviour is present.
    present: BTreeMap<String, bool>,
}

/// The keys of a file by which it is recognised.
pub(super) fn has_keys(has: impl Fn(&str) -> bool) -> bool {
    has("metadata") && (has("events") || has("target_messages"))
}

/// The facts about the file at `path` as a whole.
pub(super) fn source(path: &Path) -> Result<SourceFile, ImportError> {
    let (transcript, _) = Transcript::read(path)?;
    let id = transcript.id().unwrap_or_default().to_owned();
    let Metadata {
        target_model,
        probity,
        ..
    } = transcript.metadata;
    let model = target_model
        .filter(|model| !model.is_empty())
        .ok_or_else(|| ImportError::unusable(path.display(), "`metadata` has no `target_model`"))?;
    let source = SourceFile {
        file: file_name(path),
        id,
        model,
        ..SourceFile::default()
    };
    Ok(match (probity, Rollout::of(path)) {
        (Some(own), _) => SourceFile {
            task: own.benchmark,
            target: Some(own.target_id),
            metrics: own.metrics,
            ..source
        },
        (None, Some(rollout)) => SourceFile {
            task: rollout.behavior(path),
            ..source
        },
        (None, None) => SourceFile {
            task: TASK.to_owned(),
            ..source
        },
    })
}

/// Passes the conversation of the file to `take`. Returns the number of replaced halves of surrogate pairs.
pub(super) fn read(path: &Path, take: &mut Take<'_>) -> Result<u64, ImportError> {
    let (transcript, replaced) = Transcript::read(path)?;
    let recorded = transcript
        .recorded(path)
        .map_err(|what| ImportError::unusable(path.display(), what))?;
    // There is no second conversation to stop before.
    let _ = take(Found::Conversation(Box::new(recorded)));
    Ok(replaced)
}

impl Transcript {
    fn read(path: &Path) -> Result<(Self, u64), ImportError> {
        let file = files::open(path).map_err(|error| ImportError::read(path, error))?;
        let mut clean = Clean::new(file);
        let read: Self = serde_json::from_reader(BufReader::new(&mut clean))
            .map_err(|error| ImportError::json(path.display(), &error))?;
        let version = read.metadata.version.as_ref();
        if let Some(other) = version
            .or(read.schema_version.as_ref())
            .filter(|version| !VERSIONS.contains(&version.as_str()))
        {
            let what = format!("a transcript of version {other:?}; expected v3.0");
            return Err(ImportError::unusable(path.display(), what));
        }
        Ok((read, clean.replaced()))
    }

    fn id(&self) -> Option<&str> {
        let inner = self.metadata.transcript_id.as_deref();
        inner.or(self.transcript_id.as_deref())
    }

    fn recorded(mut self, path: &Path) -> Result<Recorded, String> {
        let id = self.id().unwrap_or_default().to_owned();
        let view = View::of_target(
            std::mem::take(&mut self.events),
            std::mem::take(&mut self.target_messages),
        )?;
        let attachments = HashMap::new();
        let mut messages = Messages {
            attachments: &attachments,
            not_text: Vec::new(),
        };
        let turns: Result<Vec<Turn>, String> = view
            .messages
            .into_iter()
            .map(|message| messages.turn(message))
            .collect();
        let (system_prompt, transcript) = split_system(turns?);
        let rollout = Rollout::of(path);
        let judged = match (self.metadata.judge_output, &rollout) {
            (Some(judged), _) => Some(judged),
            (None, Some(rollout)) => rollout.judged(path)?,
            (None, None) => None,
        };
        let question = view.seed.as_deref().map(|seed| Sha256::digest(seed).into());
        let sample_id = match (&rollout, &question) {
            (Some(rollout), _) => format!("variation {}", rollout.variation),
            (None, Some(question)) => format!("seed {}", short(question)),
            (None, None) => id,
        };
        let mut metadata = Extra::new();
        let known = [
            ("description", self.metadata.description),
            ("auditor_model", self.metadata.auditor_model),
            ("seed", view.seed),
        ];
        for (key, text) in known {
            if let Some(text) = text {
                metadata.insert(key.to_owned(), text.into());
            }
        }
        if let Some(tags) = self.metadata.tags.filter(|tags| !tags.is_empty()) {
            metadata.insert("tags".to_owned(), tags.into());
        }
        let mut scores = judged.map(Judged::scores).unwrap_or_default();
        let (scenario, sample_id) = match self.metadata.probity {
            Some(own) => {
                own.decide(&mut scores);
                // The scenario has its goal; samples of one are counted in the order of the files.
                metadata = Extra::new();
                let id = own.scenario.id.clone();
                (Some(own.scenario), id)
            }
            None => (None, sample_id),
        };
        let mut recorded = Recorded {
            // Bloom's number of the variation is sufficient.
            question: question.filter(|_| rollout.is_none() && scenario.is_none()),
            sample_id,
            scenario,
            system_prompt: system_prompt.or(self.target_system_prompt.map(Into::into)),
            transcript,
            scores,
            metadata,
            not_text: messages.not_text,
            taken_back: view.taken_back,
            ..Recorded::default()
        };
        recorded.check();
        Ok(recorded)
    }
}

impl Own {
    /// Puts the verdicts in the place of the whole numbers that stand for them.
    fn decide(&self, scores: &mut [Value]) {
        for score in scores {
            let name = score.get("name").and_then(Value::as_str);
            if let Some(present) = name.and_then(|name| self.present.get(name)) {
                score["value"] = (*present).into();
            }
        }
    }
}

/// The beginning of a hash.
fn short(hash: &[u8; 32]) -> String {
    hex(hash.get(..4).unwrap_or_default())
}
