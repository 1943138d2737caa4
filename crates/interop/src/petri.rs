//! Transcripts of Petri, a JSON file for each conversation, in version 3.0 of the form that Bloom has too.
//!
//! The target's messages are those of Inspect. The auditor's view begins with what the simulated user was to do. Scores are whole numbers from 1
//! to 10, as Petri's dimensions have them: a value on a scale is what it is, and present is 10, absent 1. [`crate::import`] reads these files.
//!
//! # Limits
//! - The auditor's own thoughts and tools are not there: the simulated user of Probity has none.
//! - A conversation without a verdict has no score, and one without a reply is left out.

use std::path::{Path, PathBuf};

use schema::{Metric, Score};
use serde_json::{Map, Value, json};

use crate::{
    ExportError, Exported, Exporter, OutFile, Run, Sample,
    inspect::{conversation_id, messages, sample_id},
    json, text,
};

/// The score of a behaviour that is there, and of one that is not.
const PRESENT: i32 = 10;
const ABSENT: i32 = 1;

/// Writes transcripts.
#[derive(Debug)]
pub struct Petri {
    out: PathBuf,
    run: Option<Run>,
    exported: Exported,
    silent: u64,
}

impl Petri {
    /// Writes `<benchmark>/<target>/transcript_<scenario>_<sample>.json` into the folder `out`.
    #[must_use]
    pub fn new(out: &Path) -> Self {
        Self {
            out: out.to_owned(),
            run: None,
            exported: Exported::default(),
            silent: 0,
        }
    }
}

impl Exporter for Petri {
    fn begin(&mut self, run: &Run) -> Result<(), ExportError> {
        self.run = Some(run.clone());
        Ok(())
    }

    fn push(&mut self, sample: &Sample) -> Result<(), ExportError> {
        let Some(run) = &self.run else {
            return Err(ExportError::nothing("a sample was given before its target"));
        };
        let mut turns = sample.conversation.transcript.iter();
        if !turns.any(|turn| turn.role == schema::Role::Assistant) {
            self.silent += 1;
            return Ok(());
        }
        let name = format!(
            "transcript_{}_{:03}.json",
            sample_id(&sample.conversation),
            sample.conversation.sample
        );
        let folder = self.out.join(&run.folder).join(run.target.id.as_str());
        let mut file = OutFile::create(folder.join(name))?;
        let transcript = file.with_path(transcript(run, sample))?;
        let written = json::write_pretty(&mut file, &transcript);
        file.with_path(written)?;
        self.exported.files.push(file.keep()?);
        Ok(())
    }

    fn end(&mut self) -> Result<(), ExportError> {
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Exported, ExportError> {
        if self.silent > 0 {
            let left = schema::text::counted(self.silent, "conversation", "conversations");
            self.exported
                .notes
                .push(format!("{left} without a reply of the target left out"));
        }
        Ok(self.exported)
    }
}

fn transcript(run: &Run, sample: &Sample) -> std::io::Result<Value> {
    let conversation = &sample.conversation;
    let id = conversation_id(run, &conversation.conv_id);
    let began = sample.started.unwrap_or(run.time).to_string();
    let ended = sample.ended.unwrap_or(run.time).to_string();
    let said: Vec<Value> = messages(run, sample, &id)?
        .iter()
        .map(|message| serde_json::from_str(message.get()))
        .collect::<Result<_, _>>()?;
    let seed = json!({"id": format!("{id}-seed"), "role": "user", "content": text::scenario(&conversation.scenario)});
    let adds = |view: Value, message: &Value| {
        let event = message.get("id").and_then(Value::as_str);
        json!({"type": "transcript_event", "id": format!("{}-event", event.unwrap_or_default()), "timestamp": began,
            "view": view, "edit": {"operation": "add", "message": message}})
    };
    let view = |message: &Value| match message["role"] == "system" {
        true => json!(["target"]),
        false => json!(["auditor", "target"]),
    };
    let mut events = vec![adds(json!(["auditor"]), &seed)];
    events.extend(said.iter().map(|message| adds(view(message), message)));
    let heard = said.iter().filter(|message| message["role"] != "system");
    let auditors: Vec<&Value> = std::iter::once(&seed).chain(heard).collect();
    Ok(json!({
        "metadata": {
            "transcript_id": id,
            "auditor_model": run.user_model.as_ref().map(|model| &model.model),
            "target_model": run.target.model,
            "created_at": began,
            "updated_at": ended,
            "version": "v3.0",
            "description": conversation.scenario.extra.get("title"),
            "tags": [run.folder],
            "judge_output": judge_output(run, &sample.scores),
            "probity": own(run, sample),
        },
        "events": events,
        "messages": auditors,
        "target_messages": said,
    }))
}

/// What an import needs to have the scenario and its verdicts as they were.
fn own(run: &Run, sample: &Sample) -> Value {
    let scenario = &sample.conversation.scenario;
    let all = run.benchmark.metrics.iter();
    let metrics: Vec<&Metric> = all
        .filter(|metric| metric.id == scenario.metric_id)
        .collect();
    let present: Map<String, Value> = sample
        .scores
        .iter()
        .filter_map(|score| Some((score.metric_id.clone(), score.present?.into())))
        .collect();
    json!({"benchmark": run.folder, "target_id": run.target.id, "scenario": scenario, "metrics": metrics, "present": present})
}

/// The scores by metric; null if there are none.
fn judge_output(run: &Run, scores: &[Score]) -> Value {
    let mut values = Map::new();
    let mut descriptions = Map::new();
    let mut reasons = Vec::new();
    for score in scores {
        let Some(value) = value(score) else {
            continue;
        };
        let metric = run
            .benchmark
            .metrics
            .iter()
            .find(|metric| metric.id == score.metric_id);
        values.insert(score.metric_id.clone(), value.into());
        if let Some(metric) = metric {
            descriptions.insert(score.metric_id.clone(), described(metric).into());
        }
        if !score.justification.is_empty() {
            reasons.push(score.justification.as_str());
        }
    }
    if values.is_empty() {
        return Value::Null;
    }
    let reason = reasons.join("\n\n");
    json!({"response": "", "summary": reason, "justification": reason, "scores": values, "score_descriptions": descriptions})
}

/// The score as a whole number; `None` without a verdict.
fn value(score: &Score) -> Option<i32> {
    let on_scale = score.verdict.as_ref().and_then(|verdict| verdict.value);
    let present = score.present?;
    Some(on_scale.unwrap_or(if present { PRESENT } else { ABSENT }))
}

fn described(metric: &Metric) -> String {
    let scale = match metric.verdict {
        Some(_) => String::new(),
        None => format!(" ({PRESENT}: present; {ABSENT}: absent)"),
    };
    format!("{}: {}{scale}", metric.name, metric.definition.trim())
}
