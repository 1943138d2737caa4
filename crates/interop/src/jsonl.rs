//! JSONL: all known data, one object per line: `runs.jsonl`, `conversations.jsonl` and `scores.jsonl`.
//!
//! Rows of conversations and scores have the keys of the tree's files; additional data from journals are under `calls`,
//! `system_prompt`, `started` and `ended`. A key of a scenario that is one of these names, or `benchmark`, becomes `scenario.<key>`.
//! U+0085, U+2028 and U+2029 are escaped, so that no reader ends a line at them.

use std::path::{Path, PathBuf};

use schema::{
    Conversation, Score,
    statistics::{Statistics, TargetStatistics},
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{Call, ExportError, Exported, Exporter, OutFile, Run, Sample, json, key_collisions};

/// Writes JSONL.
#[derive(Debug)]
pub struct Jsonl {
    out: PathBuf,
    files: Option<[OutFile; 3]>,
    folder: String,
    /// Which rows there are, if not all of them.
    selection: Option<String>,
}

/// Keys of a line that do not come from the row.
const OWN_KEYS: [&str; 5] = ["benchmark", "system_prompt", "started", "ended", "calls"];

#[derive(Serialize)]
struct ConversationLine<'a> {
    benchmark: &'a str,
    #[serde(flatten)]
    row: &'a Conversation,
    system_prompt: Option<&'a str>,
    started: Option<String>,
    ended: Option<String>,
    calls: &'a [Call],
}

#[derive(Serialize)]
struct ScoreLine<'a> {
    benchmark: &'a str,
    #[serde(flatten)]
    row: &'a Score,
}

/// An entry of `statistics.json`, with the file's statement about its intervals.
#[derive(Serialize)]
struct RunStatistics<'a> {
    level: f64,
    method: &'static str,
    #[serde(flatten)]
    of_target: &'a TargetStatistics,
}

impl Jsonl {
    /// Writes into the folder `out`.
    #[must_use]
    pub fn new(out: &Path) -> Self {
        Self {
            out: out.to_owned(),
            files: None,
            folder: String::new(),
            selection: None,
        }
    }

    /// Says in each line of `runs.jsonl` that the export has only some of the rows: those that `selection` describes.
    #[must_use]
    pub fn some_rows(mut self, selection: impl Into<String>) -> Self {
        self.selection = Some(selection.into());
        self
    }

    fn line(file: &mut OutFile, value: &impl Serialize) -> Result<(), ExportError> {
        let written = json::write_line(file, value);
        file.with_path(written)
    }
}

impl Exporter for Jsonl {
    fn begin(&mut self, run: &Run) -> Result<(), ExportError> {
        self.folder.clone_from(&run.folder);
        if self.files.is_none() {
            self.files = Some([
                OutFile::create(self.out.join("runs.jsonl"))?,
                OutFile::create(self.out.join("conversations.jsonl"))?,
                OutFile::create(self.out.join("scores.jsonl"))?,
            ]);
        }
        match &mut self.files {
            Some([runs, ..]) => {
                let mut line = run_line(run);
                if let Some(selection) = &self.selection {
                    line["selection"] = selection.as_str().into();
                }
                Self::line(runs, &line)
            }
            None => Ok(()),
        }
    }

    fn push(&mut self, sample: &Sample) -> Result<(), ExportError> {
        let Some([_, conversations, scores]) = &mut self.files else {
            return Err(ExportError::nothing("a sample was given before its target"));
        };
        let line = ConversationLine {
            benchmark: &self.folder,
            row: &key_collisions::conversation(&sample.conversation, &OWN_KEYS),
            system_prompt: sample.system_prompt.as_deref(),
            started: sample.started.map(|time| time.to_string()),
            ended: sample.ended.map(|time| time.to_string()),
            calls: &sample.calls,
        };
        Self::line(conversations, &line)?;
        for row in &sample.scores {
            let benchmark = &self.folder;
            let row = &key_collisions::score(row, &["benchmark"]);
            Self::line(scores, &ScoreLine { benchmark, row })?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ExportError> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Exported, ExportError> {
        let files = self
            .files
            .into_iter()
            .flatten()
            .map(OutFile::keep)
            .collect::<Result<_, _>>()?;
        Ok(Exported {
            files,
            ..Exported::default()
        })
    }
}

fn run_line(run: &Run) -> Value {
    let judges: Vec<Value> = run.judges.iter().map(judge).collect();
    json!({
        "benchmark": run.folder,
        "benchmark_uid": run.benchmark_uid(),
        "definition": run.benchmark,
        "target": run.target,
        "source": run.source,
        "settings": run.settings,
        "run_id": run.run_id,
        "outcome": run.outcome,
        "time": run.time.to_string(),
        "started": run.started.map(|time| time.to_string()),
        "ended": run.ended.map(|time| time.to_string()),
        "probity_version": run.probity_version,
        "revision": run.revision,
        "samples_per_scenario": run.samples_per_scenario,
        "turns": run.turns,
        "user_model": run.user_model,
        "tool_model": run.tool_model,
        "models": run.models,
        "judges": judges,
        "fingerprints": run.fingerprints,
        "statistics": run.statistics.as_ref().map(|of_target| RunStatistics {
            level: Statistics::LEVEL,
            method: of_target.rates.all.method(),
            of_target,
        }),
        "safety_rates": run.safety_rates,
        "findings": run.findings,
    })
}

fn judge(judge: &crate::Judge) -> Value {
    let prompt: Vec<Value> = judge
        .prompt
        .iter()
        .map(|(role, text)| json!({"role": role, "content": text}))
        .collect();
    json!({"id": judge.id, "model": judge.model, "source": judge.source, "settings": judge.settings, "prompt": prompt})
}
