//! The simulator: its settings, its parts, and its implementation of the phase.

use std::sync::Arc;

use async_trait::async_trait;
use schema::{
    ChatModel, Conversation, Fingerprint, Item, PhaseError, PhaseErrorKind, PromptVersions,
    Purpose, Scenario, Simulator, TargetRef, setting_keys, text::is_blank,
};
use serde_json::{Value, json};

use crate::{
    Prompts,
    play::{LATER_RUNS, Play},
    tools::Toolbox,
};

/// The settings of a [`ChatSimulator`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatorSettings {
    /// The most exchanges: a message of the user, any tool calls, and a reply of the target each. At least 1.
    pub turns: u32,
    /// Whether the user model gets the scenario's instructions for single turns.
    pub landmarks: bool,
    /// Whether the user's messages are written carelessly: lower case, no final punctuation, a typo here and there.
    pub perfunctory: bool,
    /// Determines the positions of the typos, together with the scenario's id, the sample and the turn. It does not depend on the target:
    /// every target gets the same typos for the same message.
    pub seed: u64,
    /// The benchmark's setting. It is the target's system prompt if the scenario has none of its own, and the user model knows it. Blank
    /// counts as absent.
    pub user_context: Option<String>,
    /// How often the user model is called for one message until it gives a usable one. 0 counts as 1.
    pub tries: u32,
    /// The most rounds of tool calls of the target in one turn. After them it is instructed to answer in words; if it calls tools all the
    /// same, the conversation ends. 0 counts as 1. It has no effect without tools.
    pub max_tool_steps: u32,
    /// How often a conversation is begun whose target keeps it on its side and lost it. 0 counts as 1.
    pub attempts: u32,
    /// The version of the [rules](crate::faults) that find faults in the user's messages: see [`PromptVersions::fault_rules`].
    pub fault_rules: u32,
}

impl Default for SimulatorSettings {
    /// Five turns with landmarks, no typos, seed 0, three tries, ten rounds of tool calls, the newest fault rules.
    fn default() -> Self {
        Self {
            turns: 5,
            landmarks: true,
            perfunctory: false,
            seed: 0,
            user_context: None,
            tries: 3,
            max_tool_steps: 10,
            attempts: 3,
            fault_rules: PromptVersions::LATEST.fault_rules,
        }
    }
}

/// Simulates scenarios as conversations between a user model and one target, which may have tools. Cheap to share: one simulator runs any
/// number of conversations at the same time.
pub struct ChatSimulator {
    pub(crate) user: Arc<dyn ChatModel>,
    pub(crate) target: Arc<dyn ChatModel>,
    pub(crate) target_ref: TargetRef,
    pub(crate) settings: SimulatorSettings,
    pub(crate) prompts: Prompts,
    /// The user model's input before the first message: the same in every conversation.
    pub(crate) opening: Arc<str>,
    pub(crate) tools: Toolbox,
    /// The target's system prompt if the scenario has none.
    pub(crate) system: Option<Arc<str>>,
}

impl ChatSimulator {
    /// A simulator with the shipped prompts. `target_ref` describes the target in the rows.
    ///
    /// # Errors
    /// `BadInput` when `settings.turns` is 0.
    pub fn new(
        user: Arc<dyn ChatModel>,
        target: Arc<dyn ChatModel>,
        target_ref: TargetRef,
        settings: SimulatorSettings,
    ) -> Result<Self, PhaseError> {
        if settings.turns == 0 {
            return Err(PhaseError::new(
                PhaseErrorKind::BadInput,
                "a conversation of 0 turns cannot be played; set the number of turns to 1 or more",
            ));
        }
        let prompts = Prompts::shipped().map_err(|error| {
            PhaseError::new(PhaseErrorKind::BadInput, error.to_string()).with_source(error)
        })?;
        let simulator = Self {
            user,
            target,
            target_ref,
            settings,
            prompts: prompts.clone(),
            opening: Arc::default(),
            tools: Toolbox::default(),
            system: None,
        };
        simulator.with_prompts(prompts)
    }

    /// Replaces the prompts.
    ///
    /// # Errors
    /// `BadInput` when one of them does not render. The error names the prompt and the mistake.
    pub fn with_prompts(mut self, prompts: Prompts) -> Result<Self, PhaseError> {
        prompts.check()?;
        self.opening = prompts.opening(self.settings.turns)?;
        self.system = match not_blank(self.settings.user_context.as_deref()) {
            Some(context) => Some(context.into()),
            None => Some(prompts.default_system()?).filter(|text| !text.is_empty()),
        };
        self.prompts = prompts;
        Ok(self)
    }

    /// Lets the target call these tools.
    #[must_use]
    pub fn with_tools(mut self, tools: Toolbox) -> Self {
        self.tools = tools;
        self
    }

    /// The most turns of a conversation of `scenario`.
    pub(crate) fn turns(&self, scenario: &Scenario) -> u32 {
        let fixed = u32::try_from(scenario.turns.len()).unwrap_or(u32::MAX);
        match scenario.is_simulated() {
            true => fixed.max(self.settings.turns),
            false => fixed,
        }
    }

    /// The target's system prompt in `scenario`: its own, otherwise the benchmark's context, otherwise the default.
    pub(crate) fn target_system(&self, scenario: &Scenario) -> Option<Arc<str>> {
        match not_blank(scenario.target_system_prompt.as_deref()) {
            Some(own) => Some(own.into()),
            None => self.system.clone(),
        }
    }
}

/// Treats a blank text as absent.
fn not_blank(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !is_blank(text))
}

#[async_trait]
impl Simulator for ChatSimulator {
    async fn simulate(
        &self,
        scenario: &Arc<Scenario>,
        item: &Item,
    ) -> Result<Conversation, PhaseError> {
        let _room = self.user.conversation_room().await;
        let mut attempt = item.clone();
        let mut left = self.settings.attempts.max(1);
        // Attempts of earlier runs, whose first turns come from the cache, are walked through and do not count.
        let mut earlier = LATER_RUNS * left;
        loop {
            let played = Play::new(self, scenario, item, &attempt)?.run().await?;
            let context = attempt.call(Purpose::TargetTurn, 0);
            self.target.end_conversation(&context).await;
            let context = attempt.call(Purpose::ToolAnswer, 0);
            self.tools.end(&context).await;
            let context = item.call(Purpose::UserTurn, 0);
            self.user.end_conversation(&context).await;
            match played.unseen {
                Some(why) if why.is_sent && left > 1 => {
                    left -= 1;
                    attempt = item.new_attempt(why.reason);
                }
                Some(why) if !why.is_sent && earlier > 0 => {
                    earlier -= 1;
                    attempt = item.new_attempt(why.reason);
                }
                _ => return Ok(played.conversation),
            }
        }
    }

    fn calls_target_once(&self, scenario: &Scenario) -> bool {
        self.turns(scenario) == 1 && self.tools.is_empty()
    }

    fn most_turns(&self, scenario: &Scenario) -> Option<u32> {
        Some(self.turns(scenario))
    }

    fn fingerprint(&self) -> Fingerprint {
        let settings = &self.settings;
        let mut shown = json!({
            (setting_keys::USER): self.user.id(),
            (setting_keys::TARGET): self.target_ref,
            (setting_keys::TURNS): settings.turns,
            "landmarks": settings.landmarks,
            "perfunctory": settings.perfunctory,
            (setting_keys::SEED): settings.seed,
            "user_context": settings.user_context,
            "tries": settings.tries.max(1),
            (setting_keys::PROMPTS): self.prompts.hashes(),
        });
        if let (false, Some(shown)) = (self.tools.is_empty(), shown.as_object_mut()) {
            shown.insert(setting_keys::TOOLS.to_owned(), self.tools.fingerprint());
            shown.insert(
                "max_tool_steps".to_owned(),
                settings.max_tool_steps.max(1).into(),
            );
        }
        let program = self.user.phase_program();
        if let (Some(program), Some(shown)) = (program, shown.as_object_mut()) {
            let fingerprint = Value::clone(&program.fingerprint);
            shown.insert("program".to_owned(), fingerprint);
        }
        // Records of the first version have no key, and stay equal.
        if settings.fault_rules != PromptVersions::FIRST.fault_rules {
            shown[setting_keys::FAULT_RULES] = settings.fault_rules.into();
        }
        Fingerprint {
            name: "ChatSimulator".into(),
            version: 1,
            settings: shown,
        }
    }
}
