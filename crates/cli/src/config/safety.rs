//! The section `safety`: how safety evaluations are run.

use probity::safety::{STRATEGIES, TEST_TYPES};
use schema::safety::{
    Gate, GoOn, MaxTurns, MultiTurnSettings, SettingError, Share, SingleTurnSettings, Threshold,
    check_names,
};
use serde_json::{Value, json};

use super::{
    error::ConfigProblem,
    models::{ModelEntry, Part, read_model},
    place::Origin,
    read::{Node, Reader, Text},
    table::Table,
};

/// How safety evaluations are run.
#[derive(Clone, Default)]
pub struct SafetySettings {
    /// Rewrites prompts and leads conversations; `None`: the user model.
    pub attacker: Option<ModelEntry>,
    /// Score responses; empty: the evaluator model.
    pub judges: Vec<ModelEntry>,
    /// Packs of the user's own, by path.
    pub test_cases: Vec<Text>,
    /// The groups that run; empty: all there are.
    pub groups: Vec<String>,
    /// The targets' system prompt.
    pub system_prompt: Option<Text>,
    /// The same, from a file.
    pub system_prompt_file: Option<Text>,
    /// A single-turn run. `None` only where something in it cannot be read.
    pub single_turn: Option<SingleTurnSettings>,
    /// A multi-turn run. `None` only where something in it cannot be read.
    pub multi_turn: Option<MultiTurnSettings>,
    /// What a run may not pass.
    pub gate: Gate,
}

impl SafetySettings {
    /// Without keys, for the manifest. `model` shows a model.
    pub fn to_public_json(&self, model: impl Fn(&ModelEntry) -> Value) -> Value {
        let texts = |texts: &[Text]| texts.iter().map(|text| json!(text.raw)).collect::<Value>();
        json!({
            "attacker_model": self.attacker.as_ref().map(&model),
            "judge_models": self.judges.iter().map(&model).collect::<Vec<_>>(),
            "test_cases": texts(&self.test_cases),
            "test_case_groups": self.groups,
            "single_turn": self.single_turn,
            "multi_turn": self.multi_turn,
            "gate": self.gate,
        })
    }
}

/// Reads the section. The defaults hold every key that has one.
pub fn read_safety(table: &mut Table, reader: &mut Reader<'_>) -> SafetySettings {
    let attacker = table
        .take("attacker_model")
        .and_then(|node| read_model(node, Part::Role, reader));
    let judges = read_judges(table, reader);
    let test_cases = list(table, "test_cases", reader);
    let groups = names(table, "test_case_groups", reader, &[]);
    let threshold = unit(table, "threshold", reader, Threshold::new);
    let max_cases = table
        .take("max_cases")
        .and_then(|node| node.count(reader, 1));
    let gate = Gate {
        fail_action_threshold: unit(table, "fail_action_threshold", reader, |value| {
            Share::new("fail-action-threshold", value)
        }),
        max_errors: table
            .take("max_errors")
            .and_then(|node| node.count(reader, 0)),
    };
    let single_turn = read_single(table, reader, threshold, max_cases);
    let multi_turn = read_multi(table, reader, threshold, max_cases);
    SafetySettings {
        attacker,
        judges,
        test_cases,
        groups: groups.unwrap_or_default(),
        system_prompt: table
            .take("system_prompt")
            .and_then(|node| node.text(reader)),
        system_prompt_file: table
            .take("system_prompt_file")
            .and_then(|node| node.text(reader)),
        single_turn,
        multi_turn,
        gate,
    }
}

fn read_single(
    table: &mut Table,
    reader: &mut Reader<'_>,
    threshold: Option<Threshold>,
    max_cases: Option<u64>,
) -> Option<SingleTurnSettings> {
    // Every key is taken, whatever is wrong with the others, so that all is told at once.
    let variations = ranged(table, "variations", reader, 1, 1000);
    let layers = ranged(table, "maximum_iteration_layers", reader, 0, 100);
    let go_on = checked(table, "go_on", reader, |text| text.parse::<GoOn>());
    let strategies = names(table, "strategies", reader, &STRATEGIES);
    Some(SingleTurnSettings {
        threshold: threshold?,
        variations: variations?,
        maximum_iteration_layers: layers?,
        go_on: go_on?,
        max_cases,
        strategies: strategies?,
    })
}

fn read_multi(
    table: &mut Table,
    reader: &mut Reader<'_>,
    threshold: Option<Threshold>,
    max_cases: Option<u64>,
) -> Option<MultiTurnSettings> {
    let max_turns = checked(table, "max_turns", reader, |text| {
        let messages = text.replace('_', "").parse();
        let messages = messages.map_err(|_| {
            let allowed = "an even number from 2 to 1000: it counts messages";
            SettingError::new("max-turns", format!("{text:?}"), allowed)
        });
        messages.and_then(MaxTurns::new)
    });
    let test_types = names(table, "test_types", reader, &TEST_TYPES);
    let early_stop = table.take("early_stop").and_then(|node| node.flag(reader));
    Some(MultiTurnSettings {
        threshold: threshold?,
        max_turns: max_turns?,
        test_types: test_types?,
        early_stop: early_stop?,
        max_cases,
    })
}

/// One model, or a list of them: a panel.
fn read_judges(table: &mut Table, reader: &mut Reader<'_>) -> Vec<ModelEntry> {
    let Some(node) = table.take("judge_models") else {
        return Vec::new();
    };
    if !node.is_list() {
        return read_model(node, Part::Role, reader).into_iter().collect();
    }
    let place = node.place();
    let judges: Vec<ModelEntry> = node
        .list(reader)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|node| read_model(node, Part::Role, reader))
        .collect();
    for (n, judge) in judges.iter().enumerate() {
        if judges.iter().take(n).any(|other| other.id == judge.id) {
            let reason = format!("duplicate id `{}`; give each judge its own `id`", judge.id);
            reader.errors.push(ConfigProblem::at(&place, reason));
        }
    }
    judges
}

/// A text whose value `check` accepts.
fn checked<T>(
    table: &mut Table,
    key: &'static str,
    reader: &mut Reader<'_>,
    check: impl Fn(&str) -> Result<T, SettingError>,
) -> Option<T> {
    let node = table.take(key)?;
    let origin = Origin::from(node.origin());
    let text = node.resolved_text(reader)?;
    match check(text.trim()) {
        Ok(value) => Some(value),
        Err(error) => {
            let problem = ConfigProblem::in_origin(origin, error.to_string());
            reader.errors.push(problem);
            None
        }
    }
}

/// A number from 0 to 1.
fn unit<T>(
    table: &mut Table,
    key: &'static str,
    reader: &mut Reader<'_>,
    make: impl Fn(f64) -> Result<T, SettingError>,
) -> Option<T> {
    checked(table, key, reader, |text| {
        let number = text.parse::<f64>().ok().filter(|number| !number.is_nan());
        let setting = key.replace('_', "-");
        let allowed = "a number from 0 to 1";
        let number =
            number.ok_or_else(|| SettingError::new(setting, format!("{text:?}"), allowed))?;
        make(number)
    })
}

/// A whole number from `low` to `high`.
fn ranged(
    table: &mut Table,
    key: &'static str,
    reader: &mut Reader<'_>,
    low: u32,
    high: u32,
) -> Option<u32> {
    checked(table, key, reader, |text| {
        let number = text.replace('_', "").parse().ok();
        let number = number.filter(|number| (low..=high).contains(number));
        number.ok_or_else(|| {
            let allowed = format!("a whole number from {low} to {high}");
            SettingError::new(key.replace('_', "-"), text, allowed)
        })
    })
}

/// Names: a list, or one text with commas between them. At least one must be there; with `known`, each must
/// be one of those.
fn names(
    table: &mut Table,
    key: &'static str,
    reader: &mut Reader<'_>,
    known: &[&str],
) -> Option<Vec<String>> {
    let node = table.take(key)?;
    let origin = Origin::from(node.origin());
    let mut names = Vec::new();
    for text in texts(node, reader)? {
        let resolved = text.resolve(reader.vars);
        let resolved = resolved.map_err(|error| reader.errors.extend(error.into_problems()));
        let resolved = resolved.ok()?;
        let parts = resolved.split(',').map(str::trim);
        names.extend(parts.filter(|name| !name.is_empty()).map(ToOwned::to_owned));
    }
    if known.is_empty() {
        if names.is_empty() {
            let reason = "no group; name at least one, or leave the key out for all groups";
            let problem = ConfigProblem::in_origin(origin, reason);
            reader.errors.push(problem);
            return None;
        }
        return Some(names);
    }
    let setting = key.replace('_', "-");
    let result = match names.is_empty() {
        true => Err(SettingError::new(
            &setting,
            "empty",
            format!("one or more of {}", known.join(", ")),
        )),
        false => check_names(&setting, &names, known),
    };
    if let Err(error) = result {
        let problem = ConfigProblem::in_origin(origin, error.to_string());
        reader.errors.push(problem);
        return None;
    }
    Some(names)
}

fn list(table: &mut Table, key: &'static str, reader: &mut Reader<'_>) -> Vec<Text> {
    let node = table.take(key);
    node.and_then(|node| texts(node, reader))
        .unwrap_or_default()
}

/// The texts of a list, or one text alone.
fn texts(node: Node, reader: &mut Reader<'_>) -> Option<Vec<Text>> {
    if !node.is_list() {
        return Some(node.text(reader).into_iter().collect());
    }
    let items = node.list(reader)?.into_iter();
    Some(items.filter_map(|item| item.text(reader)).collect())
}
