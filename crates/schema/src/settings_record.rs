//! The configuration of a run as its files have it: `config` of `manifest.json`, whole, and from it the settings that provenance and
//! baselines keep, one by one.
//!
//! The names of the keys are the fields here, not those of the configuration's reader: a key of the configuration can be renamed, and a
//! record still has its old name, so that earlier files can be compared. Values are kept as they were written.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Extra, ModelId, TargetRef};

/// The configuration of a run, without secrets. The default: nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SettingsRecord {
    /// The file that was read; `None`: only defaults, environment and flags.
    pub file: Option<String>,
    /// How the command ran.
    pub run: Value,
    /// Simulates the user.
    pub user_model: Option<ModelRecord>,
    /// Invents the answers of simulated tools.
    pub tool_model: Option<ModelRecord>,
    /// Writes metrics and scenarios.
    pub generator_model: Option<ModelRecord>,
    /// The judge, or the judges of a panel.
    pub evaluator_model: JudgeRecords,
    /// The systems under test.
    pub targets: Vec<ModelRecord>,
    /// How much is generated and simulated.
    pub generation: GenerationRecord,
    /// All other sections.
    #[serde(flatten)]
    pub other: Extra,
    /// The settings of safety evaluations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safety: Option<SafetyRecord>,
}

/// One judge, or a panel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum JudgeRecords {
    /// The judges of a panel.
    Panel(Vec<ModelRecord>),
    /// The only judge.
    One(Box<ModelRecord>),
    /// No judge is configured.
    #[default]
    None,
}

/// The models that measured a target, each with what decides its replies, without its address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoleRecords {
    /// Simulates the user.
    pub user_model: Option<ModelRecord>,
    /// Invents the answers of simulated tools.
    pub tool_model: Option<ModelRecord>,
    /// The judge, or the judges of a panel.
    pub evaluator_model: JudgeRecords,
}

/// How much is generated and simulated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GenerationRecord {
    /// How many metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Value>,
    /// Scenarios for each metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenarios_per_metric: Option<u32>,
    /// The most exchanges in a conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Conversations for each scenario and target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_samples: Option<u32>,
    /// The most rounds of tool calls in one turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_steps: Option<u32>,
    /// Keys of other versions.
    #[serde(flatten)]
    pub other: Extra,
}

/// The settings of safety evaluations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SafetyRecord {
    /// The model that rewrites prompts and attacks, where it is not the simulated user's.
    pub attacker_model: Option<ModelRecord>,
    /// The judges, where they are not those of benchmarks.
    pub judge_models: Vec<ModelRecord>,
    /// All other keys.
    #[serde(flatten)]
    pub other: Extra,
}

/// A model of the configuration, without its key. Absent: not set, so the endpoint or the source decides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelRecord {
    /// The user's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The name in the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider's name, or `scripted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The address, without credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The interface there, where it is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<Value>,
    /// The version of what answers there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether the address is a gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<Value>,
    /// The variable of its key, or `***`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apikey: Option<Value>,
    /// The longest reply, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<Value>,
    /// The sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Value>,
    /// Nucleus sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<Value>,
    /// The beginning of each reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefill: Option<Value>,
    /// The endpoint's sampling seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<Value>,
    /// How much a reasoning model thinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<Value>,
    /// What writes the opening tag of a reasoning block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_opened_by: Option<Value>,
    /// When the reasoning of earlier replies is sent back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_sent_back: Option<Value>,
    /// Whether requests ask the provider to cache their beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_caching: Option<Value>,
    /// The name under which `max_tokens` is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_limit: Option<Value>,
    /// The strongest reply format to request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// The most time for one call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Value>,
    /// More headers, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_headers: Option<Value>,
    /// Further fields of the request, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_body: Option<Value>,
    /// Limits of its endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Value>,
    /// How a program is started, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<Value>,
    /// How an application is called, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<Value>,
    /// Keys of other versions.
    #[serde(flatten)]
    pub other: Extra,
}

impl SettingsRecord {
    /// The name of [`user_model`](Self::user_model).
    pub const USER_MODEL: &str = "user_model";
    /// The name of [`tool_model`](Self::tool_model).
    pub const TOOL_MODEL: &str = "tool_model";
    /// The name of [`evaluator_model`](Self::evaluator_model).
    pub const EVALUATOR_MODEL: &str = "evaluator_model";

    /// The target with this id.
    #[must_use]
    pub fn target(&self, id: &str) -> Option<&ModelRecord> {
        self.targets.iter().find(|target| target.is(id))
    }

    /// The model with this id, in any role of a safety evaluation: its own attacker and judges come before those of benchmarks.
    #[must_use]
    pub fn model(&self, id: &str) -> Option<&ModelRecord> {
        let roles = [&self.user_model, &self.tool_model, &self.generator_model];
        let safety = self
            .safety
            .iter()
            .flat_map(|safety| safety.judge_models.iter().chain(&safety.attacker_model));
        let mut models = safety
            .chain(roles.into_iter().flatten())
            .chain(self.evaluator_model.as_slice())
            .chain(&self.targets);
        models.find(|model| model.is(id) && model.model.is_some())
    }
}

impl SafetyRecord {
    /// The name of [`judge_models`](Self::judge_models).
    pub const JUDGE_MODELS: &str = "judge_models";
}

impl RoleRecords {
    /// The models of a run by `simulated`, whose conversations the run by `judged` judged.
    #[must_use]
    pub fn new(simulated: &SettingsRecord, judged: &SettingsRecord) -> Self {
        let shown = |model: &ModelRecord| ModelRecord {
            id: model.id.clone(),
            base_url: None,
            ..model.deciding()
        };
        let judges = judged.evaluator_model.as_slice();
        Self {
            user_model: simulated.user_model.as_ref().map(shown),
            tool_model: simulated.tool_model.as_ref().map(shown),
            evaluator_model: JudgeRecords::new(judges.iter().map(shown).collect()),
        }
    }
}

impl From<RoleRecords> for SettingsRecord {
    fn from(roles: RoleRecords) -> Self {
        Self {
            user_model: roles.user_model,
            tool_model: roles.tool_model,
            evaluator_model: roles.evaluator_model,
            ..Self::default()
        }
    }
}

impl JudgeRecords {
    /// The record of these judges.
    #[must_use]
    pub fn new(mut judges: Vec<ModelRecord>) -> Self {
        match judges.len() {
            0 => Self::None,
            1 => Self::One(Box::new(judges.remove(0))),
            _ => Self::Panel(judges),
        }
    }

    /// All judges.
    #[must_use]
    pub fn as_slice(&self) -> &[ModelRecord] {
        match self {
            Self::None => &[],
            Self::One(judge) => std::slice::from_ref(judge),
            Self::Panel(judges) => judges,
        }
    }
}

impl ModelRecord {
    /// A key that models had before prices had a section of their own. It does not decide what they say.
    const OLD_PRICE: &str = "price";

    /// Whether it has this id.
    #[must_use]
    pub fn is(&self, id: &str) -> bool {
        self.id.as_deref() == Some(id)
    }

    /// Its id and name; `None` without an id that can be used.
    #[must_use]
    pub fn target_ref(&self) -> Option<TargetRef> {
        Some(TargetRef {
            id: ModelId::new(self.id.as_ref()?).ok()?,
            model: self.model.clone().unwrap_or_default(),
        })
    }

    /// What decides its replies: without what the user calls it, and without how and how fast it is reached.
    #[must_use]
    pub fn deciding(&self) -> Self {
        let mut other = self.other.clone();
        other.shift_remove(Self::OLD_PRICE);
        Self {
            id: None,
            apikey: None,
            gateway: None,
            prompt_caching: None,
            token_limit: None,
            timeout: None,
            extra_headers: None,
            limits: None,
            other,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every key of a model, in the order of the files. Provenance and baselines have these names.
    const MODEL: &str = r#"{"id":"a","model":"m","source":"s","base_url":"http://h/v1","version":"v","gateway":true,"apikey":"${K}","max_tokens":5,"temperature":0.0,"top_p":1.0,"seed":4,"reasoning_effort":"low","reasoning_opened_by":"template","reasoning_sent_back":"never","prompt_caching":true,"token_limit":"auto","structured":"text","timeout":"20s","extra_headers":{"X":"y"},"extra_body":{"k":1.10},"limits":{"max_concurrency":3},"price":7}"#;

    #[test]
    fn the_names_of_a_record_are_those_of_earlier_files() {
        let model: ModelRecord = serde_json::from_str(MODEL).unwrap();
        let again = serde_json::to_string(&model).unwrap();
        assert_eq!(again, MODEL.replace("1.10", "1.1"));
        assert_eq!(
            Extra::from_iter([("price".to_owned(), 7.into())]),
            model.other
        );
        let deciding = serde_json::to_string(&model.deciding()).unwrap();
        assert_eq!(
            deciding,
            r#"{"model":"m","source":"s","base_url":"http://h/v1","version":"v","max_tokens":5,"temperature":0.0,"top_p":1.0,"seed":4,"reasoning_effort":"low","reasoning_opened_by":"template","reasoning_sent_back":"never","structured":"text","extra_body":{"k":1.1}}"#
        );

        let text = r#"{"file":null,"run":{"force":false},"user_model":{"id":"u","model":"x"},"tool_model":null,"generator_model":null,"evaluator_model":[{"id":"j","model":"y"},{"id":"k","model":"z"}],"targets":[{"id":"t","model":"w"}],"generation":{"metrics":{"min":2,"max":2},"scenarios_per_metric":1,"turns":2,"num_samples":1,"max_tool_steps":10},"seed":3,"safety":{"attacker_model":null,"judge_models":[{"id":"s","model":"v"}],"judge_prompts":1}}"#;
        let record: SettingsRecord = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), text);
        for (id, model) in [("u", "x"), ("k", "z"), ("t", "w"), ("s", "v")] {
            assert_eq!(record.model(id).unwrap().model.as_deref(), Some(model));
        }
        let value = serde_json::to_value(&record).unwrap();
        for name in [
            SettingsRecord::USER_MODEL,
            SettingsRecord::TOOL_MODEL,
            SettingsRecord::EVALUATOR_MODEL,
        ] {
            assert!(value.get(name).is_some(), "{name}");
        }
        assert!(value["safety"].get(SafetyRecord::JUDGE_MODELS).is_some());
    }

    #[test]
    fn one_judge_is_no_list_and_none_is_null() {
        let judges = |text: &str| -> JudgeRecords { serde_json::from_str(text).unwrap() };
        assert_eq!(judges("null"), JudgeRecords::None);
        let one = judges(r#"{"id":"j"}"#);
        assert!(matches!(&one, JudgeRecords::One(judge) if judge.is("j")));
        assert_eq!(one, JudgeRecords::new(one.as_slice().to_vec()));
        assert_eq!(serde_json::to_string(&JudgeRecords::None).unwrap(), "null");
    }
}
