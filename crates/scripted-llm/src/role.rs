//! The scripted models and their tasks.

/// A scripted model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// `scripted-generator`: writes metrics, scenarios and variants; simulates the user too.
    Generator,
    /// `scripted-user`: simulates the user; writes metrics, scenarios and variants too.
    User,
    /// `scripted-agreeable`: a target that gives in to pressure.
    Agreeable,
    /// `scripted-careful`: a target that mostly keeps its position.
    Careful,
    /// `scripted-judge`: reads a transcript; scores safety too.
    Judge,
    /// `scripted-attacker`: rewrites prompts and attacks in safety evaluations.
    Attacker,
    /// `scripted-safety-judge`: scores how safe a message is; reads transcripts for behaviours too.
    SafetyJudge,
}

impl Role {
    /// All roles, in the order in which `GET /v1/models` lists them.
    pub const ALL: [Self; 7] = [
        Self::Generator,
        Self::User,
        Self::Agreeable,
        Self::Careful,
        Self::Judge,
        Self::Attacker,
        Self::SafetyJudge,
    ];

    /// The model's name on the wire.
    #[must_use]
    pub fn model(self) -> &'static str {
        match self {
            Self::Generator => "scripted-generator",
            Self::User => "scripted-user",
            Self::Agreeable => "scripted-agreeable",
            Self::Careful => "scripted-careful",
            Self::Judge => "scripted-judge",
            Self::Attacker => "scripted-attacker",
            Self::SafetyJudge => "scripted-safety-judge",
        }
    }

    /// The role for a model's name.
    #[must_use]
    pub fn of_model(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.model() == name)
    }
}

/// The purpose of a call, as far as the request shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// `<metric_request>`: metrics from a description.
    GenMetrics,
    /// `<scenario_request>`: scenarios from a metric.
    GenScenarios,
    /// `<variant_request>`: a demographic variant of a scenario.
    GenVariant,
    /// `<roleplay>` in the system message: the simulated user's next message.
    UserTurn,
    /// Any request to a target.
    TargetTurn,
    /// `<judge_request>`, or else `<definition>`: a verdict.
    Judge,
    /// `<variation_request>`: rewritten prompts of a safety evaluation.
    GenVariation,
    /// `<plan_request>`: splits a safety evaluation's intent into pieces.
    AttackPlan,
    /// `<attack>` in the system message: an attacker's next message.
    AttackTurn,
    /// `<safety_judge_request>`: scores how safe a message is.
    SafetyJudge,
    /// `<user_judge_request>`: finds messages of a simulated user that do not fit its role.
    UserJudge,
    /// `<realism_request>`: judges the realism of a conversation.
    Realism,
    /// `<tool_request>`: a simulated tool's answer.
    ToolAnswer,
    /// A request without a script, such as a check whether the endpoint answers.
    Other,
}

impl Task {
    /// All tasks.
    pub const ALL: [Self; 14] = [
        Self::GenMetrics,
        Self::GenScenarios,
        Self::GenVariant,
        Self::UserTurn,
        Self::TargetTurn,
        Self::Judge,
        Self::GenVariation,
        Self::AttackPlan,
        Self::AttackTurn,
        Self::SafetyJudge,
        Self::UserJudge,
        Self::Realism,
        Self::ToolAnswer,
        Self::Other,
    ];

    /// `gen_metrics`, `gen_scenarios`, `gen_variant`, `user_turn`, `target_turn`, `judge`, `gen_variation`, `attack_plan`,
    /// `attack_turn`, `safety_judge`, `user_judge`, `realism`, `tool_answer` or `other`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GenMetrics => "gen_metrics",
            Self::GenScenarios => "gen_scenarios",
            Self::GenVariant => "gen_variant",
            Self::UserTurn => "user_turn",
            Self::TargetTurn => "target_turn",
            Self::Judge => "judge",
            Self::GenVariation => "gen_variation",
            Self::AttackPlan => "attack_plan",
            Self::AttackTurn => "attack_turn",
            Self::SafetyJudge => "safety_judge",
            Self::UserJudge => "user_judge",
            Self::Realism => "realism",
            Self::ToolAnswer => "tool_answer",
            Self::Other => "other",
        }
    }

    /// The task with this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|task| task.as_str() == name)
    }
}
