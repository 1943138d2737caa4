//! What holds for a whole run of a target, from its journal and its manifest.

use std::{fs, path::Path};

use interop::{Judge, Run};
use jiff::Timestamp;
use schema::{Extra, ModelId, TargetRef};
use serde_json::Value;

use super::Bench;
use crate::{
    error::PipelineError,
    export::facts::{Facts, TargetFacts},
    layout::TargetDir,
};

/// The run of `target`.
pub(super) fn run(
    bench: &Bench,
    facts: &Facts,
    target: TargetRef,
    files: &TargetDir,
) -> Result<Run, PipelineError> {
    let known = facts.target(&target.id);
    let manifest = Manifest::beside(&known);
    let ended = manifest.time("end").or(known.ended);
    let time = match ended.or_else(|| manifest.time("start")) {
        Some(time) => time,
        None => modified(files)?,
    };
    let config = |path: &str| {
        manifest
            .value(&format!("/config/{path}"))
            .cloned()
            .unwrap_or_default()
    };
    let fingerprints = manifest.fingerprints(bench.dir.name(), &target.id);
    let judges = known
        .judges
        .into_iter()
        .map(|judge| sourced(judge, &config("evaluator_model")));
    let entry = config("targets");
    let entry = entry
        .as_array()
        .into_iter()
        .flatten()
        .find(|entry| entry.get("id").and_then(Value::as_str) == Some(target.id.as_str()));
    let user = config("user_model");
    let text = |name: &str| {
        manifest
            .value(name)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    Ok(Run {
        source: entry.and_then(source),
        started: manifest.time("start"),
        ended,
        run_id: known.run_id,
        outcome: text("/outcome"),
        probity_version: text("/probity_version"),
        revision: text("/git/revision"),
        samples_per_scenario: known.samples,
        turns: config("generation/turns")
            .as_u64()
            .and_then(|turns| u32::try_from(turns).ok()),
        settings: known.settings,
        judges: judges.collect(),
        user_model: model(&user),
        fingerprints,
        ..Run::new(bench.benchmark.clone(), bench.dir.name(), target, time)
    })
}

/// When the target's files were written.
fn modified(files: &TargetDir) -> Result<Timestamp, PipelineError> {
    let path = files.conversations();
    let read = |path: &Path| fs::metadata(path)?.modified();
    let time = read(&path).map_err(|error| PipelineError::read(&path, error))?;
    let time = Timestamp::try_from(time);
    // To the second: that is what ids are made of.
    Ok(time
        .ok()
        .and_then(|time| Timestamp::from_second(time.as_second()).ok())
        .unwrap_or(Timestamp::UNIX_EPOCH))
}

fn source(entry: &Value) -> Option<String> {
    entry
        .get("source")
        .and_then(Value::as_str)
        .map(str::to_owned)
}

fn model(entry: &Value) -> Option<TargetRef> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    Some(TargetRef {
        id: ModelId::new(text("id")?).ok()?,
        model: text("model").unwrap_or_default().to_owned(),
    })
}

fn sourced(judge: Judge, entry: &Value) -> Judge {
    let is_it = entry.get("id").and_then(Value::as_str) == Some(judge.id.as_str());
    Judge {
        source: is_it.then(|| source(entry)).flatten(),
        ..judge
    }
}

/// The `manifest.json` of a run; null where it is not there.
struct Manifest(Value);

impl Manifest {
    fn beside(known: &TargetFacts) -> Self {
        let path = known
            .journal
            .as_ref()
            .and_then(|journal| Some(journal.parent()?.join("manifest.json")));
        let text = path
            .and_then(|path| fs::read(path).ok())
            .unwrap_or_default();
        Self(serde_json::from_slice(&text).unwrap_or_default())
    }

    fn value(&self, pointer: &str) -> Option<&Value> {
        self.0.pointer(pointer)
    }

    fn time(&self, name: &str) -> Option<Timestamp> {
        self.0.get(name)?.as_str()?.parse().ok()
    }

    /// What ran the phases of one target.
    fn fingerprints(&self, benchmark: &str, target: &ModelId) -> Extra {
        let all = self
            .0
            .get("results")
            .and_then(|results| results.get(benchmark)?.get("fingerprints")?.as_object());
        let own = format!("simulator:{target}");
        let named = |(name, value): (&String, &Value)| match name.strip_prefix("simulator:") {
            Some(_) if *name == own => Some(("simulator".to_owned(), value.clone())),
            Some(_) => None,
            None => Some((name.clone(), value.clone())),
        };
        all.into_iter().flatten().filter_map(named).collect()
    }
}
