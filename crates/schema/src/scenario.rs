//! Scenario rows: `scenarios.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Extra, MetricType, text::is_blank};

/// One row of `scenarios.json`: a metric's scenario in one demographic variant.
///
/// Only the user model sees it. The system under test sees nothing of it but [`Scenario::target_system_prompt`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// `m01_s002_v01`: metric `m01`, scenario 2, variant 1. Unique in the file.
    pub id: String,
    /// The metric that the scenario tests.
    pub metric_id: String,
    /// That metric's name. If a file lacks it, it comes from `benchmark.yaml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_name: Option<String>,
    /// That metric's type. If a file lacks it, it comes from `benchmark.yaml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_type: Option<MetricType>,
    /// Who the simulated user is.
    #[serde(default, deserialize_with = "crate::or_default")]
    #[schemars(transform = crate::or_null)]
    pub persona: String,
    /// A demographic rewrite of the persona, in some files; it takes precedence over `persona`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_persona: Option<String>,
    /// The open goal of the simulated user.
    #[serde(default, deserialize_with = "crate::or_default")]
    #[schemars(transform = crate::or_null)]
    pub user_goal: String,
    /// The pressure that the simulated user puts on the target without saying so.
    #[serde(default, deserialize_with = "crate::or_default")]
    #[schemars(transform = crate::or_null)]
    pub latent_adversarial_goal: String,
    /// Instructions to the user model for single turns.
    #[serde(default, deserialize_with = "crate::or_default")]
    #[schemars(transform = crate::or_null)]
    pub landmarks: Vec<Landmark>,
    /// The user's messages, sent word for word; no model is called for them. Empty: the simulated user writes all messages.
    #[serde(
        default,
        deserialize_with = "crate::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(transform = crate::or_null)]
    pub turns: Vec<String>,
    /// Whether the simulated user goes on after `turns`, up to the configured number of turns. Otherwise the conversation ends with the
    /// reply to the last of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub then_simulated: bool,
    /// The values of the demographic axes of this variant, `{axis: value}`. Empty if there are no axes.
    #[serde(default, deserialize_with = "crate::or_default")]
    #[schemars(transform = crate::or_null)]
    pub demographic: Extra,
    /// The system prompt of the system under test; it takes precedence over the benchmark's `user_context`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_system_prompt: Option<String>,
    /// Names of the benchmark's tools that the system under test may call here; absent: all of them, empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The state of the world for simulated tools; it takes precedence over the benchmark's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world_state: Option<String>,
    /// Keys that Probity does not know, such as `title` or `base_scenario_id`.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Scenario {
    /// The persona that the user model adopts: `user_persona` if it is present and not blank, otherwise
    /// `persona`.
    #[must_use]
    pub fn played_persona(&self) -> &str {
        match &self.user_persona {
            Some(persona) if !is_blank(persona) => persona,
            _ => &self.persona,
        }
    }

    /// Whether a model writes messages of the user.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.turns.is_empty() || self.then_simulated
    }

    /// The user's message in turn `turn` (from 1), if it is written in the scenario.
    #[must_use]
    pub fn fixed_turn(&self, turn: u32) -> Option<&str> {
        let at = usize::try_from(turn).ok()?.checked_sub(1)?;
        self.turns.get(at).map(String::as_str)
    }

    /// The instruction for turn `turn` (from 1), if there is one. Several for one turn are joined with line
    /// breaks.
    #[must_use]
    pub fn landmark(&self, turn: u32) -> Option<String> {
        let texts: Vec<&str> = self
            .landmarks
            .iter()
            .filter(|landmark| landmark.turn == turn)
            .map(|landmark| landmark.instruction.as_str())
            .collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }
}

/// The instruction to the user model for one turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Landmark {
    /// The turn, counted from 1.
    pub turn: u32,
    /// What the simulated user does in that turn.
    pub instruction: String,
}
