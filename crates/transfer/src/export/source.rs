//! Data that applies to a whole run of a target, from its journal and its manifest.

use std::{fs, io, path::Path, time::SystemTime};

use interop::{Judge, KnownSource, Run};
use jiff::Timestamp;
use llm_client::ProviderPreset;
use schema::{
    Extra, ModelId, ModelRecord, RoleRecords, SettingsRecord, TargetRef,
    setting_keys::{self, EVALUATOR, SIMULATOR},
    text::hex,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Bench, journal_index::JournalIndex};
use store::{Manifest, RunError, TargetDir, open_rows};

/// The run of `target`; `content` is its [`content`].
pub(super) fn run(
    bench: &Bench,
    index: &JournalIndex,
    target: TargetRef,
    files: &TargetDir,
    content: Option<String>,
) -> Run {
    let known = index.target(&target.id);
    let journal = known.journal.as_ref();
    let manifest = manifest(journal.and_then(|journal| journal.parent()));
    let ended = time(manifest.end.as_deref()).or(known.ended);
    let started = time(Some(&manifest.start));
    let known_time = ended.or(started);
    let dated_by_files = known_time.is_none();
    let dated = known_time.or_else(|| written(files));
    // Another run than the one that simulated the conversations may have judged them.
    let judging = match known.judging_journal.as_deref() {
        Some(path) if Some(path) != known.journal.as_deref() => self::manifest(path.parent()),
        _ => manifest.clone(),
    };
    let config = &manifest.config;
    let fingerprints = fingerprints([&manifest, &judging], bench.dir.name(), &target.id);
    let evaluator = judging.config.evaluator_model.as_slice();
    let has_config = [&manifest, &judging].map(|of| of.config != SettingsRecord::default());
    let used = match known.judges.is_empty() {
        // If nothing was judged, for example because all conversations failed, the planned judges are listed.
        true => evaluator
            .iter()
            .filter_map(|judge| judge.target_ref().map(unasked))
            .collect(),
        false => known.judges,
    };
    let judges = used.into_iter().map(|judge| sourced(judge, evaluator));
    let (user, tool) = (config.user_model.as_ref(), config.tool_model.as_ref());
    let simulates = bench.benchmark.tools.iter().any(|tool| tool.simulated);
    Run {
        source: source_of(&manifest, &target.id),
        content,
        started,
        ended,
        run_id: known.run_id,
        outcome: manifest.outcome.clone(),
        probity_version: Some(manifest.probity_version.clone())
            .filter(|version| !version.is_empty()),
        revision: revision(&manifest),
        samples_per_scenario: known.samples,
        expected: bench
            .scenarios
            .map(|scenarios| scenarios.saturating_mul(known.samples.unwrap_or(1).max(1).into())),
        turns: config.generation.turns,
        settings: known.settings,
        judges: judges.collect(),
        user_model: user.and_then(ModelRecord::target_ref),
        user_source: user.and_then(|user| user.source.clone()),
        known_source,
        tool_model: tool.and_then(ModelRecord::target_ref).filter(|_| simulates),
        tool_source: tool.and_then(|tool| tool.source.clone()),
        models: (has_config == [true; 2]).then(|| RoleRecords::new(config, &judging.config)),
        dated_by_files,
        fingerprints,
        ..Run::new(
            bench.benchmark.clone(),
            bench.dir.name(),
            target,
            dated.unwrap_or(Timestamp::UNIX_EPOCH),
        )
    }
}

/// A hash of the content of the target's files. It replaces the run's id if there is no journal, and a copy of the files has the same
/// hash. `None` if there is a journal.
pub(super) fn content(
    index: &JournalIndex,
    target: &ModelId,
    files: &TargetDir,
) -> Result<Option<String>, RunError> {
    if index.target(target).run_id.is_some() {
        return Ok(None);
    }
    let mut hash = Sha256::new();
    for path in [files.conversations(), files.scores()] {
        let copied = open_rows(&path).and_then(|mut file| io::copy(&mut file, &mut hash));
        match copied {
            Ok(length) => hash.update(length.to_le_bytes()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(RunError::read(&path, error)),
        }
    }
    Ok(Some(hex(&hash.finalize())))
}

/// The time when the files of a target were last written. Without a record of the run, this is all that is known of its time.
fn written(files: &TargetDir) -> Option<Timestamp> {
    let times = [files.conversations(), files.scores()];
    times.iter().filter_map(|path| modified(path)).max()
}

/// The time when a file was last written, to the second.
pub(super) fn modified(path: &Path) -> Option<Timestamp> {
    let time = fs::metadata(path).and_then(|file| file.modified()).ok()?;
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Timestamp::from_second(i64::try_from(since.as_secs()).ok()?).ok()
}

fn unasked(judge: TargetRef) -> Judge {
    Judge {
        id: judge.id.to_string(),
        model: judge.model,
        ..Judge::default()
    }
}

/// The known data of the provider `source`.
pub(super) fn known_source(source: &str) -> Option<KnownSource> {
    match ProviderPreset::parse(source) {
        Ok(provider) => Some(KnownSource {
            self_hosted: provider.is_local(),
            base_url: Some(provider.base_url()),
        }),
        // The scripted models run in this process.
        Err(_) => (source == "scripted").then_some(KnownSource {
            self_hosted: true,
            base_url: None,
        }),
    }
}

/// The judge with the source that its configuration names.
pub(super) fn sourced(judge: Judge, configured: &[ModelRecord]) -> Judge {
    let own = configured.iter().find(|entry| entry.is(&judge.id));
    Judge {
        source: own.and_then(|entry| entry.source.clone()),
        ..judge
    }
}

/// The manifest in the folder `records`; empty if there is none.
pub(super) fn manifest(records: Option<&Path>) -> Manifest {
    records.and_then(Manifest::read).unwrap_or_default()
}

pub(super) fn time(text: Option<&str>) -> Option<Timestamp> {
    text?.parse().ok()
}

/// The git revision of the folder in which the run was started.
pub(super) fn revision(manifest: &Manifest) -> Option<String> {
    manifest.git["revision"].as_str().map(str::to_owned)
}

/// The provider of `target`, as the configuration names it.
pub(super) fn source_of(manifest: &Manifest, target: &ModelId) -> Option<String> {
    manifest.config.target(target.as_str())?.source.clone()
}

/// The fingerprints of the phases of one target. The evaluator's is that of the run that judged it.
fn fingerprints([simulating, judging]: [&Manifest; 2], benchmark: &str, target: &ModelId) -> Extra {
    let all = simulating.result(benchmark, "fingerprints").as_object();
    let judged = judging.result(benchmark, "fingerprints").get(EVALUATOR);
    let own = setting_keys::simulator(target.as_str());
    let named = |(name, value): (&String, &Value)| match name.as_str() {
        name if name == own => Some((SIMULATOR.to_owned(), value.clone())),
        name if name.starts_with(&setting_keys::simulator("")) => None,
        EVALUATOR => Some((name.clone(), judged?.clone())),
        _ => Some((name.clone(), value.clone())),
    };
    let mut named: Extra = all.into_iter().flatten().filter_map(named).collect();
    if let Some(judged) = judged {
        named.entry(EVALUATOR).or_insert_with(|| judged.clone());
    }
    named
}

#[cfg(test)]
mod tests {
    use super::known_source;

    #[test]
    fn who_hosts_a_model_is_known_by_its_provider() {
        let self_hosted = |source| known_source(source).map(|known| known.self_hosted);
        for local in ["scripted", "ollama", "vllm", "llamacpp"] {
            assert_eq!(self_hosted(local), Some(true), "{local}");
        }
        for other in ["openai", "anthropic", "mistral"] {
            assert_eq!(self_hosted(other), Some(false), "{other}");
        }
        assert_eq!(self_hosted("my own"), None);
    }
}
