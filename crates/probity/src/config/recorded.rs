//! The configuration of an earlier run, read again from its record.

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

use schema::{SafetyRecord, SettingsRecord};
use serde_json::{Map, Value, json};

use super::{Config, Vars, error::ConfigError, layers::Layers};

/// Keys of a record that do not decide what a finished run says: where it was read, how it ran, what it may spend.
const ASIDE: [&str; 5] = ["file", "run", "safety", "budget", "limits"];
/// Keys of a record that a run without calls does not need either.
const OF_CALLS: [&str; 4] = ["prices", "models", "cache", "retries"];
/// The address of models that are not called.
const NOWHERE: &str = "http://cassette.invalid/v1";

impl Config {
    /// The configuration that `record` has: the same models and phases, for a run that reads the replies of the earlier one. `vars` are the
    /// variables for `${NAME}`. Secrets are not in a record, so nothing can be sent with it.
    ///
    /// # Errors
    /// When the record is of a version whose keys cannot be read, or a variable is missing.
    pub fn of_record(record: &SettingsRecord, vars: Vars) -> Result<Self, ConfigError> {
        Self::of_keys(record, keys_of(record), vars)
    }

    fn of_keys(
        record: &SettingsRecord,
        mut keys: Map<String, Value>,
        vars: Vars,
    ) -> Result<Self, ConfigError> {
        let models = keys.remove("models");
        for role in ["user_model", "tool_model", "generator_model"] {
            if let Some(model) = keys.get_mut(role) {
                spread_program(model);
            }
        }
        for list in ["evaluator_model", "targets"] {
            let list = keys.get_mut(list);
            each_model(list, spread_program);
        }
        let judges = keys.get("evaluator_model");
        if judges.is_some_and(|judges| any_model(judges, is_program)) {
            let judges = keys.remove("evaluator_model").unwrap_or_default();
            keys.insert("evaluator".to_owned(), judges);
        }
        add_callable(&mut keys, models);
        if let Some(safety) = &record.safety {
            keys.insert("safety".to_owned(), safety_models(safety));
        }
        let file = record.file.as_deref().unwrap_or_default();
        read(&Path::new(file).with_file_name("config.yaml"), keys, vars)
    }

    /// The configuration that `record` has, for a process elsewhere that plays rows of its run: with the limits of endpoints.
    /// Paths begin in `folder`; `prompts` are the files that replace shipped prompts. `vars` are the
    /// variables there, keys among them.
    ///
    /// # Errors
    /// See [`of_record`](Self::of_record).
    pub fn of_run_elsewhere(
        record: &SettingsRecord,
        folder: &Path,
        prompts: Vec<(String, PathBuf)>,
        vars: Vars,
    ) -> Result<Self, ConfigError> {
        let mut record = record.clone();
        record.file = Some(folder.join("config.yaml").display().to_string());
        let prompts: Map<String, Value> = prompts
            .into_iter()
            .map(|(name, path)| (name, json!(path.display().to_string())))
            .collect();
        if !prompts.is_empty() {
            record.other.insert("prompts".to_owned(), prompts.into());
        }
        let mut keys = keys_of(&record);
        if let Some(limits) = record.other.get("limits") {
            keys.insert("limits".to_owned(), limits.clone());
        }
        Self::of_keys(&record, keys, vars)
    }

    /// The configuration in the settings of a cassette at `path`: phases as they were, and models that only have names.
    ///
    /// # Errors
    /// When the file cannot be read, or its keys are those of another version.
    pub fn of_cassette(path: &Path) -> Result<Self, ConfigError> {
        let wrong = |reason: String| ConfigError::new(format!("{}: {reason}", path.display()));
        let text = files::read_text(path).map_err(|error| wrong(error.to_string()))?;
        let keys: Map<String, Value> =
            serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let prompts = keys.get("prompts").and_then(Value::as_object);
        let named = prompts.into_iter().flatten().map(|(_, file)| file);
        let leaves = |file: &Value| {
            let mut parts = Path::new(file.as_str().unwrap_or_default()).components();
            !parts.all(|part| matches!(part, Component::Normal(_)))
        };
        if let Some(file) = named.chain(keys.get("standards")).find(|file| leaves(file)) {
            return Err(wrong(format!(
                "{file}: it names a file outside the cassette"
            )));
        }
        // The value of a variable has no meaning here: it was used when the run was made.
        let mut names = Vec::new();
        for from in text.split("${").skip(1) {
            names.extend(from.split_once('}').map(|(name, _)| (name, name)));
        }
        let vars = names.into_iter().collect();
        read(&path.with_file_name("config.yaml"), keys, vars)
    }

    /// The settings of a cassette of a run with this configuration, and the files that they name, by the path that they name them by.
    ///
    /// # Errors
    /// When a variable is missing, or a file is.
    pub fn to_cassette(&self) -> Result<(Value, BTreeMap<String, PathBuf>), ConfigError> {
        let record = self.settings.to_record();
        let mut keys = keys_of(&record);
        keys.retain(|key, _| !OF_CALLS.contains(&key.as_str()));
        for role in ["user_model", "tool_model", "generator_model"] {
            if let Some(model) = keys.get_mut(role) {
                only_name(model);
            }
        }
        for list in ["evaluator_model", "targets"] {
            each_model(keys.get_mut(list), only_name);
        }
        let servers = keys.get_mut("mcp_servers").and_then(Value::as_object_mut);
        for (_, server) in servers.into_iter().flatten() {
            only_targets(server);
        }
        let mut named = BTreeMap::new();
        let mut prompts = Map::new();
        for (name, path) in self.prompt_files()? {
            let own = format!("prompts/{name}.j2");
            prompts.insert(name, json!(own));
            named.insert(own, path);
        }
        keys.insert("prompts".to_owned(), prompts.into());
        if let Some(standards) = self.standards()? {
            let own = "standards";
            if standards.is_dir() {
                for entry in std::fs::read_dir(&standards)
                    .into_iter()
                    .flatten()
                    .flatten()
                {
                    let file = entry.file_name().to_string_lossy().into_owned();
                    if entry.path().is_file() {
                        named.insert(format!("{own}/{file}"), entry.path());
                    }
                }
                keys.insert("standards".to_owned(), json!(own));
            } else {
                let own = format!("{own}.json");
                keys.insert("standards".to_owned(), json!(own));
                named.insert(own, standards);
            }
        }
        Ok((keys.into(), named))
    }
}

/// The keys of a record that decide what a run says, without those that are not set.
fn keys_of(record: &SettingsRecord) -> Map<String, Value> {
    let mut keys = match json!(record) {
        Value::Object(keys) => keys,
        _ => Map::new(),
    };
    keys.retain(|key, value| !value.is_null() && !ASIDE.contains(&key.as_str()));
    keys
}

fn read(path: &Path, keys: Map<String, Value>, vars: Vars) -> Result<Config, ConfigError> {
    let mut layers = Layers::default();
    layers.add_text(path, &Value::from(keys).to_string())?;
    layers.read(vars)
}

/// Changes each model of a list, or the only one.
fn each_model(models: Option<&mut Value>, change: impl Fn(&mut Value)) {
    match models {
        Some(Value::Array(models)) => models.iter_mut().for_each(change),
        Some(model) => change(model),
        None => {}
    }
}

fn any_model(models: &Value, is: impl Fn(&Value) -> bool) -> bool {
    match models {
        Value::Array(models) => models.iter().any(is),
        model => is(model),
    }
}

fn is_program(model: &Value) -> bool {
    model.get("python").is_some() || model.get("command").is_some()
}

/// Writes the keys of a program beside the others, as a configuration has them.
fn spread_program(model: &mut Value) {
    let Value::Object(keys) = model else {
        return;
    };
    if let Some(Value::Object(program)) = keys.shift_remove("program") {
        keys.extend(program);
    }
}

/// Leaves the id and the name of a model, which rows have. Judges of a panel may differ in nothing else but settings: the id stands for
/// them.
fn only_name(model: &mut Value) {
    let name = |key: &str| model.get(key).cloned().unwrap_or_default();
    *model = json!({
        "id": name("id"),
        "model": name("model"),
        "base_url": NOWHERE,
        "extra_body": {"settings_of": name("id")},
    });
}

/// Leaves who gets the tools of a server, and nothing of where it is.
fn only_targets(server: &mut Value) {
    let targets = server.get("targets").cloned();
    *server = json!({"url": NOWHERE});
    if let Some(targets) = targets {
        server["targets"] = targets;
    }
}

/// The models of safety evaluations. Their settings are in result files.
fn safety_models(record: &SafetyRecord) -> Value {
    let mut keys = Map::new();
    if let Some(attacker) = &record.attacker_model {
        keys.insert("attacker_model".to_owned(), json!(attacker));
    }
    keys.insert("judge_models".to_owned(), json!(record.judge_models));
    let mut models = Value::from(keys);
    if let Some(attacker) = models.get_mut("attacker_model") {
        spread_program(attacker);
    }
    each_model(models.get_mut("judge_models"), spread_program);
    models
}

/// Adds the models that programs may call, under the keys where a configuration has them.
fn add_callable(keys: &mut Map<String, Value>, models: Option<Value>) {
    let Some(Value::Object(models)) = models else {
        return;
    };
    let (mut judge, mut judges, mut named) = (None, Vec::new(), Map::new());
    for (name, model) in models {
        match name.as_str() {
            "judge" => judge = Some(model),
            "user" | "generator" | "tools" => {}
            of if of.starts_with("judge:") => judges.push(model),
            _ => {
                named.insert(name, model);
            }
        }
    }
    let shipped = match judges.is_empty() {
        true => judge,
        false => Some(judges.into()),
    };
    if let Some(shipped) = shipped.filter(|_| keys.contains_key("evaluator")) {
        keys.insert("evaluator_model".to_owned(), shipped);
    }
    if !named.is_empty() {
        keys.insert("models".to_owned(), named.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
user_model: {id: u, model: gpt-u, base_url: "http://localhost:1/v1", temperature: 0.5}
evaluator_model: {id: j, model: gpt-j, base_url: "http://localhost:1/v1"}
evaluator: [{id: own, python: judge.py, settings: {strict: true}, env: {KEY: "${KEY}"}}, shipped]
models: {small: {model: gpt-s, base_url: "http://localhost:1/v1"}}
targets:
- {id: a, model: "${NAME}", base_url: "http://localhost:1/v1", apikey: "${KEY}", max_tokens: 7, limits: {max_concurrency: 2}}
- {id: app, http: {url: "http://localhost:1/chat", body: {m: "{{ message }}"}, reply: /text}}
mcp_servers:
  bank: {command: [bank-program], env: {KEY: "${KEY}"}}
  docs: {url: "http://localhost:1/v1/mcp", headers: {A: "${KEY}"}, targets: [a]}
demographics: {age: [young, old]}
generation: {turns: 3, num_samples: 2}
seed: 11
limits: {max_concurrency: 8, requests_per_minute: 90}
"#;

    fn config() -> Config {
        let mut layers = Layers::default();
        layers
            .add_text(Path::new("folder/config.yaml"), FILE)
            .unwrap();
        let vars = [("NAME", "gpt-a"), ("KEY", "sk-1")];
        layers.read(vars.into_iter().collect()).unwrap()
    }

    #[test]
    fn a_record_reads_as_the_configuration_that_it_records() {
        let config = config();
        let record = config.settings.to_record();
        let again = Config::of_record(&record, config.vars.clone()).unwrap();
        let mut expected = json!(record);
        let mut found = json!(again.settings.to_record());
        for key in ["file", "run", "safety", "budget", "limits"] {
            expected[key].take();
            found[key].take();
        }
        assert_eq!(found, expected);
        assert_eq!(again.folder(), Path::new("folder"));
        let endpoints = again.endpoints(None).unwrap();
        let target = again.settings.models.targets.first().unwrap();
        assert_eq!(endpoints.without_key(target).unwrap().model, "gpt-a");
    }

    #[test]
    fn rows_elsewhere_have_the_limits_of_the_run() {
        let config = config();
        let (record, vars) = (config.settings.to_record(), config.vars.clone());
        let folder = Path::new("/elsewhere");
        let there = Config::of_run_elsewhere(&record, folder, Vec::new(), vars).unwrap();
        assert_eq!(there.settings.limits, config.settings.limits);
        let own = |config: &Config| config.settings.models.targets[0].table.limits;
        assert_eq!(own(&there), own(&config));
    }

    #[test]
    fn a_cassette_has_the_names_of_models_and_no_address() {
        let (settings, files) = config().to_cassette().unwrap();
        let text = settings.to_string();
        for gone in [
            "localhost:1/v1",
            "KEY",
            "python",
            "max_tokens",
            "{{ message }}",
            "bank-program",
        ] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
        assert!(files.is_empty());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        std::fs::write(&path, text).unwrap();
        let played = Config::of_cassette(&path).unwrap();
        let models = &played.settings.models;
        let ids: Vec<&str> = models
            .judges
            .iter()
            .map(|judge| judge.id.as_str())
            .collect();
        assert_eq!(ids, ["own", "j"]);
        let names: Vec<&str> = models
            .targets
            .iter()
            .map(|target| target.model.raw.as_str())
            .collect();
        assert_eq!(names, ["${NAME}", "http://localhost:1/chat"]);
        let servers: Vec<(&str, usize)> = models
            .servers
            .iter()
            .map(|server| (server.entry.id.as_str(), server.targets.len()))
            .collect();
        assert_eq!(servers, [("bank", 0), ("docs", 1)]);
        assert_eq!(*played.settings.generation.turns, 3);
        for file in [
            r#"{"prompts": {"judge_user": "/etc/passwd"}}"#,
            r#"{"standards": "../x"}"#,
        ] {
            std::fs::write(&path, file).unwrap();
            let error = Config::of_cassette(&path).map(|_| ()).unwrap_err();
            assert!(
                error.to_string().contains("outside the cassette"),
                "{error}"
            );
        }
        assert_eq!(*played.settings.seed, 11);
    }
}
