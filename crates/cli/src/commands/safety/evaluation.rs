//! What a safety evaluation does, whether its models are called or answer from a cassette.

use std::sync::Arc;

use probity::{
    Session,
    safety::{
        ModelRoles, STRATEGIES, SafetyMode, SafetyPrompts, SafetyRun, SafetyTarget, TEST_TYPES,
        multi_turn_strategies, scorer, variation_strategies,
    },
};
use schema::{
    ChatModel, PhaseError,
    safety::{Gate, MultiTurnSettings, SingleTurnSettings, TestCaseGroup},
};

use crate::exit::Failure;

/// The settings of one kind of evaluation.
pub enum EvaluationSettings {
    /// Prompts and variations.
    SingleTurn(SingleTurnSettings),
    /// Conversations.
    MultiTurn(MultiTurnSettings),
}

/// Everything that decides the results of an evaluation.
pub struct Evaluation {
    /// The settings.
    pub settings: EvaluationSettings,
    /// The test cases.
    pub groups: Vec<TestCaseGroup>,
    /// The limits that it must meet.
    pub gate: Gate,
    /// The version of the judges' prompts.
    pub judge_prompts: u32,
    /// Rewrites prompts or attacks.
    pub attacker: Arc<dyn ChatModel>,
    /// Score the responses.
    pub judges: Vec<Arc<dyn ChatModel>>,
    /// The systems under test.
    pub targets: Vec<SafetyTarget>,
}

impl Evaluation {
    /// The evaluation as the models of `session` run it.
    ///
    /// # Errors
    /// When prompts or strategies cannot be used.
    pub fn run(self, session: &Arc<Session>) -> Result<SafetyRun, Failure> {
        let version = self.judge_prompts;
        let prompts = SafetyPrompts::of_version(version)
            .map_err(|error| Failure::usage(format!("safety.judge_prompts {version}: {error}")))?;
        let roles = ModelRoles {
            attacker: Some(self.attacker.id().to_string()),
            judges: self
                .judges
                .iter()
                .map(|judge| judge.id().to_string())
                .collect(),
        };
        let mode = mode(self.settings, &self.attacker)?;
        let scorer = scorer(self.judges, &prompts).map_err(unusable)?;
        let run = SafetyRun::new(Arc::clone(session), mode, self.groups, scorer)
            .judge_prompts(version)
            .gate(self.gate)
            .roles(roles);
        Ok(self.targets.into_iter().fold(run, SafetyRun::target))
    }
}

fn mode(
    settings: EvaluationSettings,
    attacker: &Arc<dyn ChatModel>,
) -> Result<SafetyMode, Failure> {
    Ok(match settings {
        EvaluationSettings::SingleTurn(settings) => {
            let all = STRATEGIES.map(ToOwned::to_owned);
            SafetyMode::SingleTurn {
                settings,
                strategies: variation_strategies(&all, attacker).map_err(unusable)?,
            }
        }
        EvaluationSettings::MultiTurn(settings) => {
            let all = TEST_TYPES.map(ToOwned::to_owned);
            SafetyMode::MultiTurn {
                settings,
                strategies: multi_turn_strategies(&all, attacker).map_err(unusable)?,
            }
        }
    })
}

fn unusable(error: PhaseError) -> Failure {
    Failure::usage(error.to_string())
}
