//! Data that applies to all conversations of a result file.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use interop::Run;
use jiff::Timestamp;
use schema::{
    Benchmark, Extra, Finding, Metric, MetricType, ModelId, ModelRecord, ScenarioDefaults,
    TargetRef,
    safety::{
        CaseKind, Threshold,
        results::{RunParameters, SafetyResults},
    },
    text::hex,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{
    super::{find, journal_index::JournalIndex, journal_record::Journals, source},
    rows::Rows,
    statistics::statistics,
};
use store::{
    Layout, Manifest, RunError,
    safety_results::{self, OpenedResults, run_records},
    safety_uid,
};

/// A result file to export.
pub(super) struct RunSource<'a> {
    pub(super) results: &'a SafetyResults,
    pub(super) path: &'a Path,
    /// The file's text.
    pub(super) text: &'a str,
    /// The target, if the file does not name it.
    pub(super) unnamed: &'a TargetRef,
    /// When the file was last written.
    pub(super) written: Option<Timestamp>,
}

impl RunSource<'_> {
    fn parameters(&self) -> Option<&RunParameters> {
        self.results.details()?.run.as_ref()
    }

    pub(super) fn target(&self) -> &TargetRef {
        self.parameters().map_or(self.unnamed, |run| &run.target)
    }

    /// The folder of the run's records, if the file names a run.
    pub(super) fn records(&self, layout: &Layout) -> Option<PathBuf> {
        run_records(layout, self.parameters()?)
    }

    /// The data that journals of the run report.
    pub(super) fn index(
        &self,
        journals: &Journals,
        records: Option<&Path>,
    ) -> Result<JournalIndex, RunError> {
        let target = self.target().id.to_string();
        let paths = records.map(find::journals_in).unwrap_or_default();
        let sources: Result<Vec<_>, RunError> = paths
            .iter()
            .map(|path| {
                Ok(find::JournalSource {
                    record: journals.read(path)?,
                    targets: [target.clone()].into(),
                    repeated: Default::default(),
                })
            })
            .collect();
        Ok(JournalIndex::new(sources?))
    }

    /// The run of the file.
    pub(super) fn run(&self, rows: &Rows, index: &JournalIndex, records: Option<&Path>) -> Run {
        let given = self.parameters();
        let known = index.target(&self.target().id);
        let manifest = source::manifest(records);
        let started = given
            .and_then(|run| run.started.as_deref()?.parse().ok())
            .or_else(|| source::time(Some(&manifest.start)));
        let ended = source::time(manifest.end.as_deref()).or(known.ended);
        let run_id = given
            .map(|run| run.run_id.clone())
            .filter(|id| !id.trim().is_empty());
        let hash = || hex(&Sha256::digest(self.text.as_bytes()));
        let evaluator = manifest.config.evaluator_model.as_slice();
        let used = match known.judges.is_empty() {
            true => given.map_or_else(Vec::new, judges),
            false => known.judges,
        };
        let judges = used
            .into_iter()
            .map(|judge| source::sourced(judge, evaluator));
        let known_time = ended.or(started);
        let time = known_time.or(self.written).unwrap_or(Timestamp::UNIX_EPOCH);
        let user = manifest
            .config
            .user_model
            .as_ref()
            .filter(|user| self.is_attacker(user));
        Run {
            source: source::source_of(&manifest, &self.target().id),
            content: run_id.is_none().then(hash),
            run_id,
            started,
            ended,
            outcome: manifest.outcome.clone(),
            probity_version: given.map(|run| run.version.clone()),
            revision: source::revision(&manifest),
            samples_per_scenario: Some(1),
            turns: self.turns(),
            settings: known.settings,
            judges: judges.collect(),
            dated_by_files: known_time.is_none(),
            user_model: self.attacker(&manifest),
            user_source: user.and_then(|user| user.source.clone()),
            known_source: source::known_source,
            statistics: statistics(rows, &self.target().id, self.results.details()),
            safety_rates: self.results.details().and_then(|all| all.rates.clone()),
            unlisted: rows.unlisted.clone(),
            file: Some(self.path.to_owned()),
            fingerprints: given.map(fingerprints).unwrap_or_default(),
            ..Run::new(
                self.benchmark(rows),
                safety_uid(self.results),
                self.target().clone(),
                time,
            )
        }
    }

    /// The number of exchanges of a conversation.
    fn turns(&self) -> Option<u32> {
        match self.results {
            SafetyResults::SingleTurn(_) => Some(1),
            SafetyResults::MultiTurn(_) => {
                let settings = self.parameters()?.multi_turn.as_ref()?;
                Some(settings.max_turns.exchanges())
            }
        }
    }

    fn threshold(&self) -> Option<Threshold> {
        let run = self.parameters()?;
        let single = run.single_turn.as_ref().map(|settings| settings.threshold);
        single.or(run.multi_turn.as_ref().map(|settings| settings.threshold))
    }

    fn benchmark(&self, rows: &Rows) -> Benchmark {
        let metrics = rows.groups.iter();
        let (name, description) = match self.results {
            SafetyResults::SingleTurn(_) => (
                "Safety, single prompts",
                "How safely the target answers single prompts and their variations.",
            ),
            SafetyResults::MultiTurn(_) => (
                "Safety, conversations",
                "How safely the target answers in conversations that an attacker leads.",
            ),
        };
        let system = self.parameters().and_then(|run| run.system_prompt.clone());
        Benchmark {
            name: name.to_owned(),
            description: description.to_owned(),
            scenario: ScenarioDefaults {
                user_context: system,
                ..ScenarioDefaults::default()
            },
            metrics: metrics
                .map(|(group, kind)| self.metric(group, *kind))
                .collect(),
            ..Benchmark::default()
        }
    }

    /// A group as a metric.
    fn metric(&self, group: &str, kind: CaseKind) -> Metric {
        let reach = self.threshold().map_or_else(
            || "reaches the threshold of the run".to_owned(),
            |threshold| format!("is {} or more", f64::from(threshold)),
        );
        let mut extra = Extra::new();
        extra.insert("scorer".to_owned(), "safety".into());
        extra.insert("kind".to_owned(), json!(kind));
        if let Some(threshold) = self.threshold() {
            extra.insert("threshold".to_owned(), json!(threshold));
        }
        let definition = format!(
            "The target's responses are safe: the lowest score of the conversation, from 0 (as unsafe as can be) to 1 (very safe), {reach}. \
                 Judges scored each response by the rubric of the safety evaluation, which is not part of this definition: a judge who has this definition alone measures something else."
        );
        Metric {
            extra,
            ..Metric::new(group, group, MetricType::Positive, definition)
        }
    }

    /// Whether a model of the configuration is the one that rewrote prompts or simulated the user.
    fn is_attacker(&self, model: &ModelRecord) -> bool {
        let attacker = self.parameters().and_then(|run| run.attacker.as_deref());
        attacker.is_some_and(|attacker| model.is(attacker))
    }

    /// The model that rewrote prompts or simulated the user.
    fn attacker(&self, manifest: &Manifest) -> Option<TargetRef> {
        let id = self.parameters()?.attacker.as_ref()?;
        let user = manifest.config.user_model.as_ref();
        let known = user.and_then(ModelRecord::target_ref);
        let id = ModelId::new(id).ok()?;
        let model = known
            .filter(|known| known.id == id)
            .map(|known| known.model);
        Some(TargetRef {
            id,
            model: model.unwrap_or_default(),
        })
    }
}

/// What limits the conclusions from the files, those of one kind side by side, the worst of each first.
pub(super) fn findings(layout: &Layout, sources: &[RunSource<'_>]) -> Vec<Finding> {
    let mut kinds: BTreeMap<&str, Vec<OpenedResults<'_>>> = BTreeMap::new();
    for source in sources {
        if let (Some(details), Some(run)) = (source.results.details(), source.parameters()) {
            let uid = safety_uid(source.results);
            let opened = OpenedResults { details, run };
            kinds.entry(uid).or_default().push(opened);
        }
    }
    let kinds = kinds.iter();
    kinds
        .flat_map(|(uid, files)| safety_results::findings(layout, uid, files))
        .collect()
}

fn judges(run: &RunParameters) -> Vec<interop::Judge> {
    let judge = |id: &String| interop::Judge {
        id: id.clone(),
        ..interop::Judge::default()
    };
    run.judges.iter().map(judge).collect()
}

/// The parts of a run by name.
fn fingerprints(run: &RunParameters) -> Extra {
    let name = |part: &Value| part.get("name").and_then(Value::as_str).map(str::to_owned);
    let parts = run.parts.iter();
    parts
        .filter_map(|part| Some((name(part)?, part.clone())))
        .collect()
}
