//! The settings that a file was created with, one by one, and their names in messages.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use schema::{
    Extra, Fingerprint, JudgeRecords, ModelRecord, SafetyRecord, SettingsRecord,
    safety::results::RunParameters,
    setting_keys::{
        CHECKS, EVALUATOR, FAULT_RULES, JUDGE, JUDGES, METRICS, PROMPT_VERSION, PROMPTS, QUOTES,
        REALISM, SAMPLES, SCENARIOS, SCORER, SIMULATOR, TARGET, TOOLS, USER,
    },
    text::hex,
};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::TargetProvenance;
use crate::findings::{ModelRole, RoleModel};

/// The settings that determine the content of a file, by name. Prompts, definitions and scenarios are represented by hashes.
pub type Settings = BTreeMap<String, Value>;

/// The part of a setting's name before the first dot: `metrics` of `metrics.m01`.
pub(crate) fn group(key: &str) -> &str {
    key.split('.').next().unwrap_or(key)
}

/// The settings of the simulation. `scenarios` has a hash for each metric.
pub fn simulator_settings(
    fingerprint: &Value,
    config: &SettingsRecord,
    samples: Option<u64>,
    scenarios: &BTreeMap<String, String>,
) -> Settings {
    let mut settings = of_fingerprint(SIMULATOR, &recorded(fingerprint));
    // The realism ratings of judges have no effect on the messages of a conversation.
    settings.retain(|key, _| ![TARGET, REALISM].contains(&group(key)));
    if let Some(samples) = samples {
        settings.insert(SAMPLES.to_owned(), samples.into());
    }
    for (metric, hash) in scenarios {
        settings.insert(format!("{SCENARIOS}.{metric}"), hash.as_str().into());
    }
    add_model(
        SettingsRecord::USER_MODEL,
        config.user_model.as_ref(),
        &mut settings,
    );
    let has_tools = settings
        .keys()
        .any(|key| key != TOOLS && group(key) == TOOLS);
    if has_tools {
        add_model(
            SettingsRecord::TOOL_MODEL,
            config.tool_model.as_ref(),
            &mut settings,
        );
    }
    let tools = if has_tools {
        json!("offered")
    } else {
        Value::Null
    };
    settings.insert(TOOLS.to_owned(), tools);
    settings
}

/// The settings of the judging.
pub fn evaluator_settings(fingerprint: &Value, config: &SettingsRecord) -> Settings {
    let mut settings = of_fingerprint(EVALUATOR, &recorded(fingerprint));
    let place = SettingsRecord::EVALUATOR_MODEL;
    match &config.evaluator_model {
        // The judges of a panel, by id.
        JudgeRecords::Panel(judges) => {
            for judge in judges {
                let id = judge.id.as_deref().unwrap_or_default();
                add_model(&format!("{place}.{id}"), Some(judge), &mut settings);
            }
        }
        JudgeRecords::One(judge) => add_model(place, Some(judge), &mut settings),
        JudgeRecords::None => {}
    }
    settings
}

/// The judging settings that decide the verdicts, apart from the metrics. Definitions, addresses and checks of the judge are left out,
/// except quotes, which the judge gives with its verdict. All prompts become one hash.
#[must_use]
pub fn judge_settings(settings: &Settings) -> Settings {
    let is_prompt = |key: &str| key.split('.').any(|part| part == PROMPTS);
    let mut prompts = Sha256::new();
    let mut has_prompts = false;
    let mut judge = Settings::new();
    for (key, value) in settings {
        if is_prompt(key) {
            has_prompts = true;
            prompts.update(format!("{key} {value}\n"));
        } else if key.split_once('.') == Some((CHECKS, QUOTES)) {
            // `false` is the same as no configured check.
            if *value == Value::Bool(true) {
                judge.insert(key.clone(), value.clone());
            }
        } else if ![METRICS, CHECKS].contains(&group(key)) && !key.ends_with(".base_url") {
            judge.insert(key.clone(), value.clone());
        }
    }
    if has_prompts {
        let hash = hex(&prompts.finalize());
        judge.insert(PROMPTS.to_owned(), hash.into());
    }
    judge
}

/// The same for the scorer of a safety run: its fingerprint, and the models in `config` of the judges with these ids.
#[must_use]
pub fn safety_judge_settings(
    fingerprint: &Fingerprint,
    judges: &[String],
    config: &SettingsRecord,
) -> Settings {
    let mut settings = of_fingerprint(SCORER, fingerprint);
    // A panel is a list in the fingerprint; its prompts and tries are those of each judge.
    if let Some(Value::Array(panel)) = settings.remove(JUDGES) {
        for of_judge in &panel {
            let id = of_judge[JUDGE].as_str().unwrap_or_default();
            flatten(&format!("{JUDGES}.{id}"), of_judge, &mut settings);
        }
    }
    for id in judges {
        let place = format!("{}.{id}", SafetyRecord::JUDGE_MODELS);
        add_model(&place, config.model(id), &mut settings);
    }
    judge_settings(&settings)
}

/// The settings of the target `id` itself.
pub fn target_settings(config: &SettingsRecord, id: &str) -> Settings {
    let mut settings = Settings::new();
    add_model(TARGET, config.target(id), &mut settings);
    settings
}

/// The models on record for a target: its own, the simulated user's, the tools' and the judges'.
#[must_use]
pub fn recorded_models(record: &TargetProvenance) -> Vec<RoleModel> {
    let mut models = Vec::new();
    if let Some(played) = record.judged().or(record.conversations.as_ref()) {
        models.extend(model_at(&played.target, TARGET, ModelRole::Target));
        let (user, tools) = (SettingsRecord::USER_MODEL, SettingsRecord::TOOL_MODEL);
        models.extend(model_at(&played.settings, user, ModelRole::User));
        models.extend(model_at(&played.settings, tools, ModelRole::Tools));
        models.extend(called(&played.settings, ModelRole::User));
    }
    let Some(scores) = &record.scores else {
        return models;
    };
    let place = SettingsRecord::EVALUATOR_MODEL;
    match model_at(&scores.settings, place, ModelRole::Judge) {
        Some(judge) => models.push(judge),
        None => models.extend(panel(&scores.settings)),
    }
    models.extend(called(&scores.settings, ModelRole::CalledByJudge));
    models
}

/// The models that programs called through the run, by their names at their endpoints: `programs.votes.calls.judge.name`.
fn called(settings: &Settings, role: ModelRole) -> impl Iterator<Item = RoleModel> {
    settings.iter().filter_map(move |(key, value)| {
        let place = key.strip_suffix(".name")?;
        let is_program = place.starts_with("program.") || place.starts_with("programs.");
        let is_call = is_program && place.contains(".calls.");
        let model = value.as_str().filter(|_| is_call)?;
        Some(RoleModel {
            role,
            model: model.to_owned(),
            source: None,
            base_url: None,
        })
    })
}

/// The version of the target itself, where its configuration had one.
pub(super) fn target_version(target: &Settings) -> Option<String> {
    record_at(target, TARGET).version
}

/// The judges of a panel, whose ids are part of the names of their settings.
fn panel(settings: &Settings) -> impl Iterator<Item = RoleModel> {
    let prefix = format!("{}.", SettingsRecord::EVALUATOR_MODEL);
    let keys = settings.keys().filter(move |key| key.starts_with(&prefix));
    // Ids may have dots, names of keys have none.
    let places: BTreeSet<&str> = keys
        .filter_map(|key| Some(key.rsplit_once('.')?.0))
        .collect();
    let judges = places.into_iter();
    judges.filter_map(|place| model_at(settings, place, ModelRole::Judge))
}

/// The model whose settings are at `place`, if it has a name.
fn model_at(settings: &Settings, place: &str, role: ModelRole) -> Option<RoleModel> {
    let record = record_at(settings, place);
    record.model.is_some().then(|| role_model(role, &record))
}

/// The settings at `place` as the record of a model.
fn record_at(settings: &Settings, place: &str) -> ModelRecord {
    let below = settings.iter().filter_map(|(key, value)| {
        let name = key.strip_prefix(place)?.strip_prefix('.')?;
        Some((name.to_owned(), value.clone()))
    });
    let own: Extra = below.collect();
    serde_json::from_value(Value::Object(own)).unwrap_or_default()
}

fn role_model(role: ModelRole, record: &ModelRecord) -> RoleModel {
    RoleModel {
        role,
        model: record.model.clone().unwrap_or_default(),
        source: record.source.clone(),
        base_url: record.base_url.clone(),
    }
}

/// The models of a safety run, according to its public configuration. A model that it does not have is known by its id alone.
#[must_use]
pub fn configured_models(run: &RunParameters, config: &SettingsRecord) -> Vec<RoleModel> {
    let of = |id: &str, role| match config.model(id) {
        Some(own) => role_model(role, own),
        None => RoleModel {
            role,
            model: id.to_owned(),
            source: None,
            base_url: None,
        },
    };
    let id = run.target.id.as_str();
    let target = match config.target(id) {
        Some(own) => role_model(ModelRole::Target, own),
        None => of(id, ModelRole::Target),
    };
    let target = RoleModel {
        model: run.target.model.clone(),
        ..target
    };
    // Without variations, no prompt of a single-turn run is rewritten.
    let attacks = run
        .single_turn
        .as_ref()
        .is_none_or(|settings| settings.maximum_iteration_layers > 0);
    let attacker = run
        .attacker
        .iter()
        .filter(|_| attacks)
        .map(|id| of(id, ModelRole::Attacker));
    let judges = run.judges.iter().map(|id| of(id, ModelRole::Judge));
    [target].into_iter().chain(attacker).chain(judges).collect()
}

/// A fingerprint on record. One that is missing or unreadable has no name.
fn recorded(fingerprint: &Value) -> Fingerprint {
    Fingerprint::deserialize(fingerprint).unwrap_or(Fingerprint {
        name: "".into(),
        version: 0,
        settings: Value::Null,
    })
}

fn of_fingerprint(phase: &str, fingerprint: &Fingerprint) -> Settings {
    let mut settings = Settings::new();
    let (name, version) = (&fingerprint.name, fingerprint.version);
    settings.insert(phase.to_owned(), json!(format!("{name} {version}")));
    flatten("", &fingerprint.settings, &mut settings);
    settings
}

/// Adds what decides the replies of `model`, one by one, at `place`.
fn add_model(place: &str, model: Option<&ModelRecord>, settings: &mut Settings) {
    if let Some(model) = model {
        flatten(place, &json!(model.deciding()), settings);
    }
}

/// Adds a value under `key`: an object becomes several settings, any other value one.
pub fn flatten(key: &str, value: &Value, settings: &mut Settings) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let key = match key.is_empty() {
                    true => name.clone(),
                    false => format!("{key}.{name}"),
                };
                flatten(&key, value, settings);
            }
        }
        value if !key.is_empty() => {
            settings.insert(key.to_owned(), value.clone());
        }
        _ => {}
    }
}

/// The settings that differ between an earlier file and now. A setting that the record of an older version does not contain at all does not
/// count as different.
#[must_use]
pub fn changes(before: &Settings, now: &Settings) -> Vec<String> {
    let keys: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let differs = |key: &&String| match (value(before, key), value(now, key)) {
        (Some(before), Some(now)) => before != now,
        _ => false,
    };
    let changed = keys.into_iter().filter(differs).cloned();
    without_repetition(changed.collect())
}

/// The value of a setting. A missing one is null if others of its group exist, such as `metrics.m02` beside `metrics.m01`.
pub(super) fn value<'s>(settings: &'s Settings, key: &str) -> Option<&'s Value> {
    if let Some(value) = settings.get(key) {
        return Some(value);
    }
    if [PROMPT_VERSION, FAULT_RULES].contains(&key) && !settings.is_empty() {
        return Some(first_version());
    }
    let group = key
        .split_inclusive('.')
        .next()
        .filter(|group| group.ends_with('.'))?;
    let others = settings.keys().any(|other| other.starts_with(group));
    others.then_some(&Value::Null)
}

fn first_version() -> &'static Value {
    static FIRST: LazyLock<Value> = LazyLock::new(|| json!(1));
    &FIRST
}

/// A version of prompts says which prompts differ. A model is identified by its configured name and by its id; if both differ, only one is reported.
pub(super) fn without_repetition(mut keys: Vec<String>) -> Vec<String> {
    for (id, name) in [
        (USER, SettingsRecord::USER_MODEL),
        (JUDGE, SettingsRecord::EVALUATOR_MODEL),
    ] {
        let is_name = |key: &String| key.split_once('.') == Some((name, "model"));
        if keys.iter().any(is_name) {
            keys.retain(|key| key != id);
        }
    }
    if keys.iter().any(|key| key == PROMPT_VERSION) {
        keys.retain(|key| group(key) != PROMPTS);
    }
    keys
}

/// The name of a setting in messages: `the definition of m01`.
#[must_use]
pub fn label(key: &str) -> String {
    match key.split_once('.') {
        Some((METRICS, metric)) => format!("the definition of {metric}"),
        Some((SCENARIOS, metric)) => format!("the scenarios of {metric}"),
        Some((PROMPTS, prompt)) => format!("the prompt {prompt}"),
        Some((SettingsRecord::USER_MODEL, "model")) => "the user model".to_owned(),
        Some((SettingsRecord::EVALUATOR_MODEL, "model")) => "the judge".to_owned(),
        Some((SettingsRecord::TOOL_MODEL, "model")) => "the tool model".to_owned(),
        Some((TARGET, "model")) => "the model of the target".to_owned(),
        Some((TOOLS, "world_state")) => "the world state".to_owned(),
        Some((TOOLS, _)) => "the tools".to_owned(),
        _ => match key {
            USER => "the user model".to_owned(),
            JUDGE => "the judge".to_owned(),
            JUDGES => "the judges".to_owned(),
            TOOLS => "the tools".to_owned(),
            PROMPTS => "the prompts".to_owned(),
            PROMPT_VERSION => "the version of the judge prompts".to_owned(),
            FAULT_RULES => "the version of the fault rules".to_owned(),
            other => other.to_owned(),
        },
    }
}

/// Describes a change: `turns changed from 3 to 2`, `the definition of m01 changed`.
pub fn change_in_words(key: &str, before: &Settings, now: &Settings) -> String {
    let shown = |settings| value(settings, key).and_then(shown_value);
    match (shown(before), shown(now)) {
        (Some(before), Some(now)) => format!("{} changed from {before} to {now}", label(key)),
        _ => format!("{} changed", label(key)),
    }
}

/// A value as a message shows it; hashes and long texts are of no use to a reader.
pub(super) fn shown_value(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("none".to_owned()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::String(text) => {
            let is_hash = text.len() == 64 && text.chars().all(|c| c.is_ascii_hexdigit());
            let is_short = text.chars().count() <= 60 && !text.chars().any(char::is_control);
            (is_short && !is_hash).then(|| text.clone())
        }
        Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_reported_one_by_one() {
        let fingerprint = json!({"name": "JudgeEvaluator", "version": 1, "settings": {
            "judge": "j", "prompts": {"judge_user": "a"}, "metrics": {"m01": "b"},
        }});
        let judge = json!({"id": "j", "model": "big", "temperature": 0, "timeout": "5s", "extra_body": {"a": 1}});
        let config = SettingsRecord {
            evaluator_model: JudgeRecords::One(serde_json::from_value(judge).unwrap()),
            ..SettingsRecord::default()
        };
        let settings = evaluator_settings(&fingerprint, &config);
        let keys: Vec<&str> = settings.keys().map(String::as_str).collect();
        assert_eq!(
            keys,
            [
                "evaluator",
                "evaluator_model.extra_body.a",
                "evaluator_model.model",
                "evaluator_model.temperature",
                "judge",
                "metrics.m01",
                "prompts.judge_user"
            ]
        );
        let mut other = settings.clone();
        other.insert("judge".to_owned(), json!("k"));
        other.insert("evaluator_model.model".to_owned(), json!("small"));
        other.insert("metrics.m01".to_owned(), json!("c"));
        other.insert("metrics.m02".to_owned(), json!("d"));
        let changed = changes(&settings, &other);
        assert_eq!(
            changed,
            ["evaluator_model.model", "metrics.m01", "metrics.m02"]
        );
        let labels: Vec<String> = changed.iter().map(|key| label(key)).collect();
        assert_eq!(labels[..2], ["the judge", "the definition of m01"]);
        // A record that does not tell of definitions at all says nothing about them.
        other.retain(|key, _| !key.starts_with("metrics."));
        assert_eq!(changes(&other, &settings), ["evaluator_model.model"]);
    }
}
