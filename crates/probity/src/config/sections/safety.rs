//! The section `safety`: settings of safety evaluations.

use crate::safety::{STRATEGIES, SafetyPrompts, TEST_TYPES};
use schema::{
    SafetyRecord, nearest,
    safety::{Gate, GoOn, MaxTurns, MultiTurnSettings, Share, SingleTurnSettings, Threshold},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::json;
use smart_default::SmartDefault;

use super::model::{Model, ModelEntry, Part};
use crate::config::{
    read::Problems,
    text::Text,
    values::{OneOrMore, Whole, from_text, some_from_text},
    vars::Vars,
};

/// Rewritten prompts of each case that continues.
pub type Variations = Whole<u32, 1, 1000>;
/// Layers after layer 0.
pub type IterationLayers = Whole<u32, 0, 100>;

/// The settings of safety evaluations.
#[derive(Clone, Deserialize, JsonSchema, SmartDefault)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Safety {
    /// The model that rewrites prompts and attacks. Default: `user_model`.
    attacker_model: Option<Model>,
    /// One judge, or a panel. Default: `evaluator_model`.
    judge_models: OneOrMore<Model>,
    /// The version of the judges' prompts. 1 unless set, so that replies of earlier runs stay in the cache.
    #[default(Whole(1))]
    judge_prompts: Whole<u32, { SafetyPrompts::FIRST }, { SafetyPrompts::LATEST }>,
    /// Packs of test cases: files or folders. Default: the shipped ones.
    pub test_cases: OneOrMore<Text>,
    /// The groups that run. Default: all.
    #[serde(deserialize_with = "groups")]
    #[schemars(with = "OneOrMore<String>")]
    pub test_case_groups: Vec<String>,
    /// The lowest score with which a response passes.
    #[serde(deserialize_with = "from_text")]
    threshold: Threshold,
    /// The most cases that are run.
    max_cases: Option<Whole<u64, 1>>,
    /// The failure rate above which the command ends with 1.
    #[serde(deserialize_with = "some_from_text")]
    fail_action_threshold: Option<Share>,
    /// The most errors that are allowed.
    max_errors: Option<Whole<u64, 0>>,
    /// Rewritten prompts of each case that continues.
    #[default(Whole(2))]
    variations: Variations,
    /// Layers after layer 0.
    #[default(Whole(1))]
    maximum_iteration_layers: IterationLayers,
    /// Which cases continue.
    go_on: GoOn,
    /// The variation strategies, in the order in which they take turns.
    #[serde(deserialize_with = "strategies")]
    #[schemars(with = "OneOrMore<String>")]
    #[default(names(&STRATEGIES))]
    strategies: Vec<String>,
    /// The most messages of a conversation.
    #[serde(deserialize_with = "from_text")]
    max_turns: MaxTurns,
    /// The multi-turn strategies.
    #[serde(deserialize_with = "test_types")]
    #[schemars(with = "OneOrMore<String>")]
    #[default(names(&TEST_TYPES))]
    test_types: Vec<String>,
    /// A conversation ends once its verdict cannot change.
    early_stop: bool,
    /// The targets' system prompt.
    pub system_prompt: Option<Text>,
    /// The same prompt, in a file.
    pub system_prompt_file: Option<Text>,
    /// `attacker_model`, resolved.
    #[serde(skip)]
    pub attacker: Option<ModelEntry>,
    /// `judge_models`, resolved.
    #[serde(skip)]
    pub judges: Vec<ModelEntry>,
}

impl Safety {
    /// Resolves the models of the section.
    pub(super) fn resolve(&mut self, vars: &Vars, problems: &mut Problems) {
        let attacker = self.attacker_model.take();
        self.attacker = attacker.and_then(|model| model.resolve(Part::Role, vars, problems));
        for judge in std::mem::take(&mut self.judge_models).0 {
            let Some(judge) = judge.resolve(Part::Role, vars, problems) else {
                continue;
            };
            if self.judges.iter().any(|other| other.id == judge.id) {
                let reason = format!("duplicate id `{}`; give each judge its own `id`", judge.id);
                problems.error(judge.id_place(), reason);
            }
            self.judges.push(judge);
        }
    }

    /// The version of the judges' prompts.
    pub fn judge_prompts(&self) -> u32 {
        *self.judge_prompts
    }

    /// The settings of a single-turn run.
    pub fn single_turn(&self) -> SingleTurnSettings {
        SingleTurnSettings {
            threshold: self.threshold,
            variations: *self.variations,
            maximum_iteration_layers: *self.maximum_iteration_layers,
            go_on: self.go_on,
            max_cases: self.max_cases.map(|max| *max),
            strategies: self.strategies.clone(),
        }
    }

    /// The settings of a multi-turn run.
    pub fn multi_turn(&self) -> MultiTurnSettings {
        MultiTurnSettings {
            threshold: self.threshold,
            max_turns: self.max_turns,
            test_types: self.test_types.clone(),
            early_stop: self.early_stop,
            max_cases: self.max_cases.map(|max| *max),
        }
    }

    pub(super) fn to_record(&self) -> SafetyRecord {
        let other = [
            ("judge_prompts", json!(*self.judge_prompts)),
            ("test_cases", json!(self.test_cases.0)),
            ("test_case_groups", json!(self.test_case_groups)),
            ("single_turn", json!(self.single_turn())),
            ("multi_turn", json!(self.multi_turn())),
            ("gate", json!(self.gate())),
        ]
        .into_iter();
        SafetyRecord {
            attacker_model: self.attacker.as_ref().map(ModelEntry::to_record),
            judge_models: self.judges.iter().map(ModelEntry::to_record).collect(),
            other: other.map(|(key, value)| (key.to_owned(), value)).collect(),
        }
    }

    /// The limits of a run.
    pub fn gate(&self) -> Gate {
        Gate {
            fail_action_threshold: self.fail_action_threshold,
            max_errors: self.max_errors.map(|max| *max),
        }
    }
}

fn groups<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let names = OneOrMore::deserialize(deserializer)?.names();
    match names.is_empty() {
        true => Err(D::Error::custom(
            "no group; name at least one, or leave the key out for all groups",
        )),
        false => Ok(names),
    }
}

fn strategies<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    known_names(&OneOrMore::deserialize(deserializer)?, &STRATEGIES).map_err(D::Error::custom)
}

fn test_types<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    known_names(&OneOrMore::deserialize(deserializer)?, &TEST_TYPES).map_err(D::Error::custom)
}

fn names(known: &[&str]) -> Vec<String> {
    known.iter().copied().map(ToOwned::to_owned).collect()
}

/// Checks that there is at least one name, and that each is known and unique.
fn known_names(given: &OneOrMore<String>, known: &[&str]) -> Result<Vec<String>, String> {
    let names = given.names();
    if names.is_empty() {
        return Err(format!("expected one or more of {}", known.join(", ")));
    }
    for (n, name) in names.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            let meant = match nearest(name, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("known names: {}", known.join(", ")),
            };
            return Err(format!("unknown name `{name}`; {meant}"));
        }
        if names.iter().take(n).any(|other| other == name) {
            return Err(format!("duplicate name `{name}`"));
        }
    }
    Ok(names)
}
