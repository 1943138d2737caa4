//! How conversations are simulated.

/// How a [`ChatSimulator`](crate::ChatSimulator) plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatorSettings {
    /// Exchanges at most: a message of the user, any calls of tools, and a reply of the target each. At least 1.
    pub turns: u32,
    /// Whether the user model gets the instructions that a scenario has for single turns.
    pub landmarks: bool,
    /// Whether the user's messages are written carelessly: lower case, no final punctuation, a typo here and there.
    pub perfunctory: bool,
    /// Decides where the typos fall, together with the scenario's id, the sample and the turn. Never the target: every
    /// target gets the same typos for the same message.
    pub seed: u64,
    /// The benchmark's setting. It is the target's system prompt where the scenario has none of its own, and the user model
    /// knows it. Blank counts as absent.
    pub user_context: Option<String>,
    /// How often the user model is called for one message until it gives a usable one. 0 counts as 1.
    pub tries: u32,
    /// How many rounds of tool calls the target has in one turn. After them it is instructed to answer in words; if it calls tools
    /// even so, the conversation ends. 0 counts as 1. It says nothing where there are no tools.
    pub max_tool_steps: u32,
}

impl Default for SimulatorSettings {
    /// Five turns with landmarks, no typos, seed 0, three tries, ten rounds of tool calls.
    fn default() -> Self {
        Self {
            turns: 5,
            landmarks: true,
            perfunctory: false,
            seed: 0,
            user_context: None,
            tries: 3,
            max_tool_steps: 10,
        }
    }
}
