//! `baseline.json` of safety results: a rate and a group are a metric, a case is a scenario.

use std::collections::{BTreeMap, BTreeSet};

use aggregator::statistics::TargetRows;
use schema::{
    Baseline, BaselineBenchmark, BaselineCounts, BaselineMetric, BaselineTarget, Fingerprint,
    MetricType, ModelId, SettingsRecord,
    gate::SafetyScope,
    safety::{
        TestCaseGroup,
        results::{Details, RunParameters, SafetyResults},
    },
    text::hex,
};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    baseline::unlike_benchmark,
    provenance::{Settings, flatten_settings, safety_judge_settings},
    safety_rows,
};

/// The uid of safety results, in place of a benchmark's.
#[must_use]
pub fn safety_uid(results: &SafetyResults) -> &'static str {
    match results {
        SafetyResults::SingleTurn(_) => "safety-single-turn",
        SafetyResults::MultiTurn(_) => "safety-multi-turn",
    }
}

/// A baseline of safety results without a target.
#[must_use]
pub fn safety_baseline(uid: &str) -> Baseline {
    Baseline {
        format: Baseline::FORMAT.to_owned(),
        benchmark: BaselineBenchmark {
            uid: uid.to_owned(),
            version: None,
        },
        metrics: BTreeMap::new(),
        targets: BTreeMap::new(),
    }
}

/// Adds the counts of one result file. `config` is the configuration of its run, which has the models of the judges.
pub fn add_safety_target(
    baseline: &mut Baseline,
    details: &Details,
    run: &RunParameters,
    config: &SettingsRecord,
) {
    let mut target = BaselineTarget {
        judge: safety_judge(run, config),
        settings: safety_settings(run),
        ..BaselineTarget::default()
    };
    let hashes = test_cases(run);
    for scope in SafetyScope::ALL {
        for unit in safety_rows(details, &run.target.id, scope).scored_units() {
            let key = format!("{}/{}", scope.name(), unit.metric);
            let counts = BaselineCounts::new(unit.scored - unit.passed, unit.scored);
            let cases = target.metrics.entry(key.clone()).or_default();
            if let Some(counts) = counts {
                cases.0.insert(unit.scenario.to_owned(), counts);
            }
            let hash = hashes[unit.metric].as_str().unwrap_or_default();
            let known = BaselineMetric {
                metric_type: MetricType::Negative,
                definition: hash.to_owned(),
            };
            baseline.metrics.insert(key, known);
        }
    }
    baseline.targets.insert(run.target.id.clone(), target);
}

/// The rows of a target of a baseline. As in [`safety_rows`], the rows that a rate counts are `passed`.
#[must_use]
pub fn safety_baseline_rows(
    baseline: &Baseline,
    target: &ModelId,
    scope: SafetyScope,
) -> Option<TargetRows> {
    let counted = baseline.targets.get(target)?;
    let mut rows = TargetRows::new(target.clone());
    for (key, cases) in &counted.metrics {
        let Some((_, group)) = key
            .split_once('/')
            .filter(|(rate, _)| *rate == scope.name())
        else {
            continue;
        };
        for (case, counts) in &cases.0 {
            rows.push_counts(
                (case, group, MetricType::Negative),
                counts.scored() - counts.passed(),
                counts.scored(),
            );
        }
    }
    Some(rows)
}

/// The differences between two baselines of safety results, one sentence each: kind, and the cases of groups that both have.
#[must_use]
pub fn safety_differences(there: &Baseline, here: &Baseline) -> Vec<String> {
    let mut differ = unlike_benchmark(&there.benchmark, &here.benchmark);
    let groups: BTreeSet<&str> = there
        .metrics
        .iter()
        .filter(|(key, theirs)| here.metrics.get(*key).is_some_and(|ours| ours != *theirs))
        .filter_map(|(key, _)| Some(key.split_once('/')?.1))
        .collect();
    differ.extend(
        groups
            .into_iter()
            .map(|group| format!("group {group} has other test cases there")),
    );
    differ
}

/// The test cases, the strategies and, last, the scorer.
fn parts(run: &RunParameters) -> Vec<Fingerprint> {
    let parts = run.parts.iter();
    parts
        .filter_map(|part| Fingerprint::deserialize(part).ok())
        .collect()
}

/// The hash of each group's cases.
fn test_cases(run: &RunParameters) -> Value {
    let mut parts = parts(run).into_iter();
    let part = parts.find(|part| part.name == TestCaseGroup::FINGERPRINT);
    part.map_or(Value::Null, |part| part.settings)
}

/// The settings of the scorer.
pub(crate) fn safety_judge(run: &RunParameters, config: &SettingsRecord) -> Settings {
    match parts(run).last() {
        Some(scorer) => safety_judge_settings(scorer, &run.judges, config),
        None => Settings::new(),
    }
}

/// The settings that decide which prompts the target gets, and which replies pass.
pub(crate) fn safety_settings(run: &RunParameters) -> Settings {
    let mut settings = Settings::new();
    let of_mode = json!([run.single_turn, run.multi_turn]);
    for of_mode in of_mode.as_array().into_iter().flatten() {
        flatten_settings("", of_mode, &mut settings);
    }
    let attacker = run.attacker.as_ref().map_or(Value::Null, |id| json!(id));
    settings.insert("attacker".to_owned(), attacker);
    // Prompts may be long and private, so only a hash is kept.
    let hash = |text: &str| json!(hex(&Sha256::digest(text)));
    let prompt = run.system_prompt.as_deref().map_or(Value::Null, hash);
    settings.insert("system_prompt".to_owned(), prompt);
    let mut attacks = parts(run);
    attacks.pop();
    attacks.retain(|part| part.name != TestCaseGroup::FINGERPRINT);
    let attacks: Vec<String> = attacks.iter().map(|part| json!(part).to_string()).collect();
    if !attacks.is_empty() {
        settings.insert("attacks".to_owned(), hash(&attacks.join("\n")));
    }
    settings
}
