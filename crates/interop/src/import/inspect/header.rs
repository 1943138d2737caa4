//! The header of a log: the facts about the whole evaluation.

use schema::{Extra, Metric, MetricType, Tool};
use serde::Deserialize;
use serde_json::Value;

use super::roles::{Speaker, TARGET};

use crate::import::{ImportError, SourceFile};

/// The supported version of the log format.
const VERSION: u64 = 2;

/// The name of no model, in logs of evaluations whose models all have roles.
const NO_MODEL: &str = "none/none";

/// The fields of a header that the import needs: from `header.json` of a zip, from `_journal/start.json` of an unfinished one, or
/// from a JSON log without its samples.
#[derive(Debug, Deserialize)]
pub(super) struct Header {
    version: Option<Value>,
    #[serde(default)]
    pub(super) status: Option<String>,
    eval: Option<Eval>,
    #[serde(default)]
    pub(super) results: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Eval {
    #[serde(default)]
    eval_id: Option<String>,
    #[serde(default)]
    run_id: Option<String>,
    #[serde(default)]
    task: Option<String>,
    #[serde(default)]
    task_id: Option<String>,
    #[serde(default)]
    task_description: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    model_roles: Option<Extra>,
    #[serde(default)]
    dataset: Option<Dataset>,
    #[serde(default)]
    scorers: Option<Vec<Scorer>>,
    #[serde(default)]
    metadata: Option<Value>,
    #[serde(default)]
    packages: Option<Value>,
    #[serde(default)]
    config: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Dataset {
    #[serde(default)]
    sample_ids: Option<Vec<Value>>,
}

#[derive(Debug, Deserialize)]
struct Scorer {
    #[serde(default)]
    name: String,
    #[serde(default)]
    metadata: Option<Value>,
}

/// A sample's id as text: Inspect uses numbers and texts.
pub(super) fn id_text(id: &Value) -> Option<String> {
    match id {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

impl Eval {
    /// Whether Probity wrote the log.
    fn is_ours(&self) -> bool {
        let packages = self.packages.as_ref();
        packages.is_some_and(|packages| packages.get("probity").is_some())
            || self.scorers.iter().flatten().any(|of| metric(of).is_some())
    }

    /// The log's models by role.
    fn roles(&self) -> impl Iterator<Item = (&str, &Value)> {
        let roles = self.model_roles.iter().flatten();
        roles.map(|(role, model)| (role.as_str(), model))
    }

    fn speaker(&self) -> Speaker {
        let mut roles = self.roles().map(|(role, _)| role);
        match roles.next() {
            _ if self.is_ours() => Speaker::Model,
            None => Speaker::Model,
            Some(first) if first == TARGET || roles.any(|role| role == TARGET) => Speaker::Target,
            Some(_) => Speaker::ModelAmongRoles,
        }
    }

    /// The model under test.
    fn model(&self) -> Result<String, String> {
        let own = self
            .model
            .as_deref()
            .filter(|model| !model.trim().is_empty());
        let named: Vec<&str> = self.roles().map(|(role, _)| role).collect();
        match (self.speaker(), own) {
            (Speaker::Target, _) => {
                let mut roles = self.roles();
                let model = roles
                    .find(|(role, _)| *role == TARGET)
                    .and_then(|(_, model)| model.get("model")?.as_str())
                    .map(str::to_owned);
                model.ok_or_else(|| {
                    format!("the role `{TARGET}` is not one model (eval.model_roles.{TARGET})")
                })
            }
            (_, None) => Err("no model (eval.model)".to_owned()),
            (Speaker::ModelAmongRoles, Some(NO_MODEL)) => Err(format!(
                "its roles are {}, and none is called `{TARGET}`: which model is under test is unclear",
                named.join(", ")
            )),
            (_, Some(model)) => Ok(model.to_owned()),
        }
    }
}

impl Header {
    /// Where the conversations of the log are.
    pub(super) fn speaker(&self) -> Speaker {
        self.eval.as_ref().map_or(Speaker::Model, Eval::speaker)
    }

    /// How the epochs of a sample become one value, if the log says so.
    pub(super) fn reducer(&self) -> Option<String> {
        let reducers = &self.eval.as_ref()?.config.as_ref()?["epochs_reducer"];
        let first = reducers.as_array().and_then(|all| all.first());
        Some(first.unwrap_or(reducers).as_str()?.to_owned())
    }

    /// The facts about the log at `place` as a whole.
    pub(super) fn source(self, place: &str, file: &str) -> Result<SourceFile, ImportError> {
        self.check_version(place)?;
        let eval = self
            .eval
            .ok_or_else(|| ImportError::unusable(place, "no `eval`: not an Inspect log"))?;
        let model = eval
            .model()
            .map_err(|what| ImportError::unusable(place, what))?;
        let ours = eval.is_ours();
        let speaker = eval.speaker();
        let target = eval
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.get("target_id")?.as_str())
            .filter(|_| ours)
            .map(str::to_owned);
        let own = eval.metadata.as_ref().filter(|_| ours);
        let stated = |key: &str| own.and_then(|metadata| metadata.get(key));
        // The provider before the name is the one of Inspect.
        let wire = stated("target_model").and_then(Value::as_str);
        let model = match wire.filter(|wire| !wire.trim().is_empty()) {
            Some(wire) => wire.to_owned(),
            None => model,
        };
        let world_state = stated("world_state")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let sample_ids = eval.dataset.and_then(|dataset| dataset.sample_ids);
        let mut notes = Vec::new();
        if speaker == Speaker::Target {
            notes.push(format!(
                "{file}: the conversations are those of its role `{TARGET}` ({model}), from the calls in its events"
            ));
        } else if model == NO_MODEL {
            notes.push(format!("{file}: the log names no model ({NO_MODEL})"));
        }
        let tools = stated("tools").map(|tools| read_tools(tools, file, &mut notes));
        match self.status.as_deref() {
            Some("success") => {}
            Some(status) => notes.push(format!(
                "{file}: the evaluation ended with status {status}; its samples are imported"
            )),
            None => notes.push(format!(
                "{file}: the evaluation did not end; its samples are imported"
            )),
        }
        Ok(SourceFile {
            file: file.to_owned(),
            id: eval
                .eval_id
                .or(eval
                    .run_id
                    .zip(eval.task_id)
                    .map(|(run, task)| format!("{run} {task}")))
                .unwrap_or_default(),
            task: eval.task.unwrap_or_default(),
            description: eval.task_description.unwrap_or_default(),
            model,
            target,
            metrics: eval.scorers.iter().flatten().filter_map(metric).collect(),
            tools: tools.unwrap_or_default(),
            world_state,
            sample_ids: sample_ids.iter().flatten().filter_map(id_text).collect(),
            notes,
        })
    }

    pub(super) fn check_version(&self, place: &str) -> Result<(), ImportError> {
        let what = match &self.version {
            Some(version) if version.as_u64() == Some(VERSION) => return Ok(()),
            Some(version) if version.as_u64().is_some_and(|version| version < VERSION) => format!(
                "Inspect log of version {version}; supported: version {VERSION}. Convert it with `inspect log convert --to eval \
                 --output-dir DIR LOG` of a current Inspect"
            ),
            Some(version) => format!(
                "Inspect log of the unknown version {version}; supported: version {VERSION}"
            ),
            None => "no `version`: not an Inspect log".to_owned(),
        };
        Err(ImportError::unusable(place, what))
    }
}

/// The benchmark's tools, as Probity wrote them. A tool that cannot be read is left out, with a note.
fn read_tools(tools: &Value, file: &str, notes: &mut Vec<String>) -> Vec<Tool> {
    let mut read = Vec::new();
    for (tool, number) in tools.as_array().into_iter().flatten().zip(1..) {
        match serde_json::from_value(tool.clone()) {
            Ok(tool) => read.push(tool),
            Err(error) => notes.push(format!(
                "{file}: tool {number} in its metadata was left out: {error}"
            )),
        }
    }
    read
}

/// The metric of a scorer, if its metadata define one.
fn metric(scorer: &Scorer) -> Option<Metric> {
    let metadata = scorer.metadata.as_ref()?;
    let text = |key: &str| metadata.get(key).and_then(Value::as_str);
    let metric_type: MetricType = serde_json::from_value(metadata.get("type")?.clone()).ok()?;
    let definition = text("definition").filter(|definition| !definition.trim().is_empty())?;
    let name = text("name").unwrap_or(&scorer.name);
    Some(Metric {
        examples: metadata
            .get("examples")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default(),
        counterexamples: metadata
            .get("counterexamples")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default(),
        ..Metric::new(&scorer.name, name, metric_type, definition)
    })
}
