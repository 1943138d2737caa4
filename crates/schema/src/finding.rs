//! What limits a conclusion from results: what, where, how bad, and what to do.
//!
//! Findings are computed in one place (`store::findings`), and every output shows the same list: the terminal, the report, the gate,
//! exports, and safety evaluations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ModelId, Notice, ProgramCommand, ProgramName, notice};

/// Something that limits what the results of targets show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// How bad it is.
    pub severity: FindingSeverity,
    /// The benchmark's folder, or the kind of a safety evaluation.
    pub benchmark: String,
    /// The targets that it is about; empty: all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<ModelId>,
    /// The fact, without a final full stop.
    pub text: String,
    /// What to do about it; absent where nothing can be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<FindingAdvice>,
}

/// The kind of a [`Finding`], in the order in which they are shown.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// Models in any role are scripted, so nothing was measured.
    ScriptedModels,
    /// The results are of a trial: of some scenarios of the benchmark.
    Trial,
    /// The results are of one part of a run that is split, or of a merged tree that lacks some.
    Shard,
    /// Scenarios were simulated in an order until rules or differences were decided.
    StoppedWhenDecided,
    /// A target judged its own replies.
    OwnJudge,
    /// Targets had different judges: models, settings, prompts, or panels.
    DifferentJudge,
    /// Targets were judged by different definitions of a metric.
    DifferentMetrics,
    /// Conversations have different numbers of turns.
    DifferentTurns,
    /// Targets talked to different simulated users.
    DifferentUser,
    /// Targets had different scenarios.
    DifferentScenarios,
    /// Targets differ in another setting of the simulation.
    DifferentSimulation,
    /// It is not on record how a target was measured.
    UnknownSettings,
    /// The scores are older than the conversations beside them.
    OutdatedScores,
    /// The scores were edited after judging.
    EditedScores,
    /// The references of grades were simulated differently.
    DifferentReferences,
    /// Rows record another type than their metric has.
    RowTypes,
    /// Replies of a target are empty or cut off.
    IncompleteReplies,
    /// The simulated user fell out of its role.
    SimulatorFaults,
    /// A judge gave no usable verdict on rows.
    UnusableVerdicts,
    /// A judge always gave the same verdict.
    UnvaryingJudge,
    /// Scorers of another program gave the verdicts.
    ImportedVerdicts,
    /// Labels are of conversations that an earlier run simulated.
    EarlierLabels,
    /// Labels cannot be used, or were not drawn at random.
    Labels,
    /// No person checked the judge.
    UncheckedJudge,
    /// The version of the target, and how old the replies are that the results rest on.
    TargetReplies,
    /// Models whose calls are assumed to be free.
    AssumedFree,
}

/// How bad a [`Finding`] is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// The numbers may not mean what they seem to.
    Warning,
    /// Good to know when the numbers are quoted.
    Note,
}

/// What to do about a [`Finding`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum FindingAdvice {
    /// Simulate all targets again with the same settings.
    RunAlike,
    /// Judge all targets again with the same judge.
    JudgeAlike,
    /// Evaluate the safety of all targets again, in one command.
    SafetyAlike {
        /// Whether conversations of several turns are evaluated.
        multi_turn: bool,
    },
    /// Judge one target again.
    Judge {
        /// The target.
        target: ModelId,
    },
    /// Let the target write longer replies.
    RaiseMaxTokens {
        /// The target.
        target: ModelId,
        /// Whether only thinking can have used up the tokens.
        if_it_thinks: bool,
    },
    /// Take a judge that is another model than the target.
    OtherJudge,
    /// Merge the trees of all shards.
    MergeShards,
    /// Play what a merged tree lacks.
    PlayMissing,
    /// Configure real models.
    RealModels,
    /// Generate with a real model what scripted models wrote.
    GenerateAgain {
        /// The metrics.
        metrics: bool,
        /// The scenarios.
        scenarios: bool,
    },
    /// Let people label rows.
    Label,
    /// Label the rows of the present conversations, or remove the labels.
    LabelAgain,
    /// Read some justifications of the judge.
    ReadJustifications,
    /// Simulate the references like the targets, and calibrate again.
    Calibrate,
}

impl FindingAdvice {
    /// The advice as a sentence without a final full stop. Its commands are on `benchmark`.
    #[must_use]
    pub fn notice(&self, benchmark: &str) -> Notice {
        let on_it = |verb: &'static str| ProgramCommand::new(verb).on(benchmark);
        match self {
            Self::RunAlike => notice![
                on_it("run"),
                " measures the configured targets with the same settings"
            ],
            Self::JudgeAlike => notice![
                on_it("evaluate"),
                " judges the configured targets with the same judge"
            ],
            Self::SafetyAlike { multi_turn } => {
                let verb = match multi_turn {
                    true => "safety multi-turn",
                    false => "safety single-turn",
                };
                notice![
                    ProgramCommand::new(verb),
                    " with the same settings and judges for all targets measures them alike"
                ]
            }
            Self::Judge { target } => notice![
                on_it("evaluate").with("target", target),
                " judges the present conversations"
            ],
            Self::RaiseMaxTokens {
                target,
                if_it_thinks: false,
            } => format!("raise `max_tokens` of the target {target} in the config").into(),
            Self::RaiseMaxTokens {
                target,
                if_it_thinks: true,
            } => format!(
                "if {target} thinks before it answers, thinking may use up its tokens: raise `max_tokens` of the target in the config"
            )
            .into(),
            Self::OtherJudge => {
                "configure a judge that is another model, or a panel without the target".into()
            }
            Self::MergeShards => {
                "when all shards have run, `merge` joins their trees".into()
            }
            Self::PlayMissing => notice![
                "merge again with the missing shards, or ",
                on_it("run"),
                " plays what is missing"
            ],
            Self::RealModels => notice![
                ProgramCommand::new("init").on("NAME"),
                " writes a config for real models"
            ],
            Self::GenerateAgain { metrics, scenarios } => {
                let again = |verb| Notice::from(on_it(verb).flag("force"));
                let commands = match (metrics, scenarios) {
                    (true, false) => again("gen-metrics"),
                    (false, true) => again("gen-scenarios"),
                    _ => notice![again("gen-metrics"), ", then ", again("gen-scenarios")],
                };
                notice![
                    commands,
                    " generates them again; files that were edited are kept under another name"
                ]
            }
            Self::LabelAgain => notice![
                "label their rows again (",
                on_it("label"),
                "), or remove the labels"
            ],
            Self::Label => notice![
                on_it("label"),
                " shows rows to a person and compares the verdicts"
            ],
            Self::ReadJustifications => {
                "read some of its justifications before relying on it".into()
            }
            Self::Calibrate => {
                "simulate all with the same turns, and calibrate again if the references change"
                    .into()
            }
        }
    }
}

impl Finding {
    /// The fact, followed by the advice: one line for people, with commands of `program`.
    #[must_use]
    pub fn line(&self, program: &ProgramName) -> String {
        match &self.advice {
            Some(advice) => {
                let advice = advice.notice(&self.benchmark).text(program);
                format!("{}; {advice}.", self.text)
            }
            None => format!("{}.", self.text),
        }
    }

    /// Whether it is about the target with this id.
    #[must_use]
    pub fn is_about(&self, target: &str) -> bool {
        self.targets.is_empty() || self.targets.iter().any(|id| id.as_str() == target)
    }
}

impl FindingKind {
    /// The name in files: `own_judge`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ScriptedModels => "scripted_models",
            Self::Trial => "trial",
            Self::Shard => "shard",
            Self::StoppedWhenDecided => "stopped_when_decided",
            Self::OwnJudge => "own_judge",
            Self::DifferentJudge => "different_judge",
            Self::DifferentMetrics => "different_metrics",
            Self::DifferentTurns => "different_turns",
            Self::DifferentUser => "different_user",
            Self::DifferentScenarios => "different_scenarios",
            Self::DifferentSimulation => "different_simulation",
            Self::UnknownSettings => "unknown_settings",
            Self::OutdatedScores => "outdated_scores",
            Self::EditedScores => "edited_scores",
            Self::DifferentReferences => "different_references",
            Self::RowTypes => "row_types",
            Self::IncompleteReplies => "incomplete_replies",
            Self::SimulatorFaults => "simulator_faults",
            Self::UnusableVerdicts => "unusable_verdicts",
            Self::UnvaryingJudge => "unvarying_judge",
            Self::ImportedVerdicts => "imported_verdicts",
            Self::EarlierLabels => "earlier_labels",
            Self::Labels => "labels",
            Self::UncheckedJudge => "unchecked_judge",
            Self::TargetReplies => "target_replies",
            Self::AssumedFree => "assumed_free",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_the_command_that_the_caller_knows() {
        let id = ModelId::new("a").unwrap();
        let finding = Finding {
            kind: FindingKind::OutdatedScores,
            severity: FindingSeverity::Warning,
            benchmark: "honesty".to_owned(),
            targets: vec![id.clone()],
            text: "the scores of a are old".to_owned(),
            advice: Some(FindingAdvice::Judge { target: id }),
        };
        assert_eq!(
            finding.line(&ProgramName::default()),
            "the scores of a are old; `probity evaluate honesty --target a` judges the present conversations."
        );
        let json = serde_json::to_value(&finding).unwrap();
        assert_eq!(json["kind"], finding.kind.as_str());
        assert_eq!(json["advice"]["action"], "judge");
        assert_eq!(serde_json::from_value::<Finding>(json).unwrap(), finding);
    }
}
