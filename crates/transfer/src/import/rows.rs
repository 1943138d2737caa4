//! Converts records of other programs to rows of the tree.

use interop::import::{Recorded, SourceFile};
use schema::{Conversation, Extra, Metric, ROW_KEYS, Role, Scenario, TargetRef};
use serde_json::{Value, json};

/// Keys of rows in an export. Metadata with these names are put under `imported`, as those with names of [`ROW_KEYS`] are.
const OF_EXPORTS: [&str; 7] = [
    "benchmark",
    "calls",
    "ended",
    "started",
    "system_prompt",
    "target_id",
    "usage",
];

/// The key of a scenario that names its base scenario.
const BASE_SCENARIO: &str = "base_scenario_id";

/// One conversation in the form of the tree, before its metric is determined.
pub(super) struct Draft {
    scenario: Scenario,
    imported: Value,
    recorded: Recorded,
}

impl Draft {
    /// `from`: the format's name in records. `base`: the id of the base scenario, if it is not that of the scenario's id.
    pub(super) fn new(
        from: &str,
        source: &SourceFile,
        mut recorded: Recorded,
        base: Option<String>,
    ) -> Self {
        let mut apart = Extra::new();
        let mut scenario = recorded.scenario.take().unwrap_or_default();
        for (key, value) in std::mem::take(&mut recorded.metadata) {
            if ROW_KEYS.contains(&&*key) || OF_EXPORTS.contains(&&*key) {
                apart.insert(key, value);
            } else {
                scenario.extra.insert(key, value);
            }
        }
        if let Some(base) = base {
            scenario
                .extra
                .entry(BASE_SCENARIO)
                .or_insert_with(|| base.into());
        }
        // Tools that the benchmark does not have are removed.
        let known = |name: &String| source.tools.iter().any(|tool| tool.name == *name);
        match &mut scenario.tools {
            Some(_) if source.tools.is_empty() => scenario.tools = None,
            Some(names) => names.retain(known),
            None => {}
        }
        if scenario.target_system_prompt.is_none() {
            scenario.target_system_prompt = recorded.system_prompt.as_deref().map(str::to_owned);
        }
        if scenario.user_goal.is_empty() {
            let mut turns = recorded.transcript.iter();
            let first = turns.find(|turn| turn.role == Role::User);
            scenario.user_goal = first
                .map(|turn| turn.content.to_string())
                .unwrap_or_default();
        }
        let mut imported = json!({
            "from": from,
            "file": source.file,
            "evaluation": source.id,
            "task": source.task,
            "sample_id": recorded.sample_id,
            "scores": std::mem::take(&mut recorded.scores),
            "reference": std::mem::take(&mut recorded.reference),
            "metadata": apart,
        });
        if let Some(object) = imported.as_object_mut() {
            let empty = |value: &Value| match value {
                Value::Null => true,
                Value::String(text) => text.is_empty(),
                Value::Array(list) => list.is_empty(),
                Value::Object(map) => map.is_empty(),
                _ => false,
            };
            object.retain(|_, value| !empty(value));
        }
        Self {
            scenario,
            imported,
            recorded,
        }
    }

    /// The scenario's row, under the id `id`.
    pub(super) fn scenario(&self, id: &str, metric: &Metric) -> Scenario {
        Scenario {
            id: id.to_owned(),
            metric_id: metric.id.clone(),
            metric_name: Some(metric.name.clone()),
            metric_type: Some(metric.metric_type),
            ..self.scenario.clone()
        }
    }

    /// The conversation's row.
    pub(super) fn conversation(
        &self,
        mut scenario: Scenario,
        target: &TargetRef,
        sample: u32,
    ) -> Conversation {
        scenario
            .extra
            .insert("imported".to_owned(), self.imported.clone());
        let transcript = self.recorded.transcript.clone();
        Conversation {
            error: self.recorded.error.clone(),
            usage: self.recorded.usage,
            ..Conversation::new(scenario, target.clone(), sample, transcript)
        }
    }
}
