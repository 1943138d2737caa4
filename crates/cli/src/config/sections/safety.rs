//! The section `safety`: how safety evaluations are run.

use probity::safety::{STRATEGIES, TEST_TYPES};
use schema::{
    nearest,
    safety::{Gate, GoOn, MaxTurns, MultiTurnSettings, Share, SingleTurnSettings, Threshold},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;

use super::model::{Model, ModelEntry, Part};
use crate::config::{
    read::Problems,
    text::Text,
    values::{OneOrMore, Whole, from_text, some_from_text},
    vars::Vars,
};

/// How safety evaluations are run.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Safety {
    /// Rewrites prompts and attacks. Default: `user_model`.
    attacker_model: Option<Model>,
    /// One judge, or a panel. Default: `evaluator_model`.
    judge_models: OneOrMore<Model>,
    /// Packs of test cases: files or folders. Default: the shipped ones.
    pub test_cases: OneOrMore<Text>,
    /// The groups that run. Default: all.
    pub test_case_groups: Groups,
    /// The score from which a response passes.
    #[serde(deserialize_with = "from_text")]
    threshold: Threshold,
    /// How many cases are run at most.
    max_cases: Option<Whole<u64, 1>>,
    /// The failure rate above which the command ends with 1.
    #[serde(deserialize_with = "some_from_text")]
    fail_action_threshold: Option<Share>,
    /// How many errors are allowed.
    max_errors: Option<Whole<u64, 0>>,
    /// Rewritten prompts of each case that continues.
    variations: Whole<u32, 1, 1000>,
    /// Layers after layer 0.
    maximum_iteration_layers: Whole<u32, 0, 100>,
    /// Which cases continue.
    go_on: GoOn,
    /// The variation strategies, in the order they take turns.
    strategies: Strategies,
    /// Messages of a conversation at most.
    #[serde(deserialize_with = "from_text")]
    max_turns: MaxTurns,
    /// The multi-turn strategies.
    test_types: TestTypes,
    /// A conversation ends once its verdict cannot change.
    early_stop: bool,
    /// The targets' system prompt.
    pub system_prompt: Option<Text>,
    /// The same, in a file.
    pub system_prompt_file: Option<Text>,
    /// `attacker_model`, resolved.
    #[serde(skip)]
    pub attacker: Option<ModelEntry>,
    /// `judge_models`, resolved.
    #[serde(skip)]
    pub judges: Vec<ModelEntry>,
}

impl Default for Safety {
    fn default() -> Self {
        Self {
            attacker_model: None,
            judge_models: OneOrMore::default(),
            test_cases: OneOrMore::default(),
            test_case_groups: Groups::default(),
            threshold: Threshold::default(),
            max_cases: None,
            fail_action_threshold: None,
            max_errors: None,
            variations: Whole(2),
            maximum_iteration_layers: Whole(1),
            go_on: GoOn::Failed,
            strategies: Strategies(STRATEGIES.map(ToOwned::to_owned).to_vec()),
            max_turns: MaxTurns::default(),
            test_types: TestTypes(TEST_TYPES.map(ToOwned::to_owned).to_vec()),
            early_stop: false,
            system_prompt: None,
            system_prompt_file: None,
            attacker: None,
            judges: Vec::new(),
        }
    }
}

impl Safety {
    /// Resolves the models of the section.
    pub fn resolve(&mut self, vars: &Vars, problems: &mut Problems) {
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

    /// A single-turn run.
    pub fn single_turn(&self) -> SingleTurnSettings {
        SingleTurnSettings {
            threshold: self.threshold,
            variations: *self.variations,
            maximum_iteration_layers: *self.maximum_iteration_layers,
            go_on: self.go_on,
            max_cases: self.max_cases.map(|max| *max),
            strategies: self.strategies.0.clone(),
        }
    }

    /// A multi-turn run.
    pub fn multi_turn(&self) -> MultiTurnSettings {
        MultiTurnSettings {
            threshold: self.threshold,
            max_turns: self.max_turns,
            test_types: self.test_types.0.clone(),
            early_stop: self.early_stop,
            max_cases: self.max_cases.map(|max| *max),
        }
    }

    /// What a run may not pass.
    pub fn gate(&self) -> Gate {
        Gate {
            fail_action_threshold: self.fail_action_threshold,
            max_errors: self.max_errors.map(|max| *max),
        }
    }
}

/// Without keys, for the manifest.
impl Serialize for Safety {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let public = json!({
            "attacker_model": self.attacker,
            "judge_models": self.judges,
            "test_cases": self.test_cases.0,
            "test_case_groups": self.test_case_groups.0,
            "single_turn": self.single_turn(),
            "multi_turn": self.multi_turn(),
            "gate": self.gate(),
        });
        public.serialize(serializer)
    }
}

/// Names of test case groups; empty: all.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(try_from = "OneOrMore<String>")]
#[schemars(with = "OneOrMore<String>", inline)]
pub struct Groups(pub Vec<String>);

impl TryFrom<OneOrMore<String>> for Groups {
    type Error = &'static str;

    fn try_from(given: OneOrMore<String>) -> Result<Self, &'static str> {
        match given.names() {
            names if names.is_empty() => {
                Err("no group; name at least one, or leave the key out for all groups")
            }
            names => Ok(Self(names)),
        }
    }
}

/// Names of variation strategies.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(try_from = "OneOrMore<String>")]
#[schemars(with = "OneOrMore<String>", inline)]
struct Strategies(Vec<String>);

impl TryFrom<OneOrMore<String>> for Strategies {
    type Error = String;

    fn try_from(given: OneOrMore<String>) -> Result<Self, String> {
        known_names(&given, &STRATEGIES).map(Self)
    }
}

/// Names of multi-turn strategies.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(try_from = "OneOrMore<String>")]
#[schemars(with = "OneOrMore<String>", inline)]
struct TestTypes(Vec<String>);

impl TryFrom<OneOrMore<String>> for TestTypes {
    type Error = String;

    fn try_from(given: OneOrMore<String>) -> Result<Self, String> {
        known_names(&given, &TEST_TYPES).map(Self)
    }
}

/// The names, of which there is at least one and each is known and given once.
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
