//! One conversation that is to be run, and its result.

use std::sync::Arc;

use schema::{
    Item, ItemKey, Journal, Role, Spend, TargetRef, Turn,
    safety::{
        CaseKind, SafetyScore, Stage, TestCase,
        results::{AttackerRefusal, CaseError, ConversationDetail, MessageScore, SavedMessage},
    },
};

use super::error::{Cut, Fault};

/// A conversation that is to be run: a prompt of a layer, or a case with a strategy.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    /// Its number in the file.
    pub(super) id: i64,
    /// The seed.
    pub(super) case: Arc<TestCase>,
    /// What the journal calls it: the case's id, and the way from there.
    pub(super) prompt_id: Arc<str>,
    /// The prompt; in a multi-turn run the intent.
    pub(super) prompt: Arc<str>,
    /// Where the case stands among all: what strategies take turns by.
    pub(super) place: u32,
    pub(super) way: Way,
}

/// How an attempt came about.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// A seed of layer 0.
    Seed,
    /// A variation.
    Variation {
        layer: u32,
        strategy: Arc<str>,
        parent: i64,
    },
    /// A conversation that this strategy is to lead.
    Conversation { test_type: Arc<str> },
}

impl Attempt {
    /// The layer, in a single-turn run.
    pub(super) fn layer(&self) -> Option<u32> {
        match self.way {
            Way::Seed => Some(0),
            Way::Variation { layer, .. } => Some(layer),
            Way::Conversation { .. } => None,
        }
    }

    pub(super) fn strategy(&self) -> Option<String> {
        match &self.way {
            Way::Variation { strategy, .. } => Some(strategy.to_string()),
            _ => None,
        }
    }

    pub(super) fn parent(&self) -> Option<i64> {
        match self.way {
            Way::Variation { parent, .. } => Some(parent),
            _ => None,
        }
    }

    pub(super) fn test_type(&self) -> Option<String> {
        match &self.way {
            Way::Conversation { test_type } => Some(test_type.to_string()),
            _ => None,
        }
    }

    /// The item that calls are made for. `prompt_id` is the attempt's own, or that of its second try.
    pub(super) fn item(
        &self,
        prompt_id: &str,
        target: &TargetRef,
        journal: &Arc<dyn Journal>,
    ) -> Item {
        let key = ItemKey {
            test: self.case.group.as_str().into(),
            prompt_id: prompt_id.into(),
            sut: target.id.shared(),
        };
        let row = format!("{prompt_id}__{}", target.id);
        Item::with_key(key, row, 0, Arc::clone(journal))
    }
}

/// The result of an attempt.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) attempt: Attempt,
    pub(super) spend: Spend,
    /// What was said.
    pub(super) turns: Vec<Turn>,
    pub(super) refusals: Vec<AttackerRefusal>,
    pub(super) outcome: Outcome,
}

/// How an attempt ended.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Scored(Scored),
    Error(Fault),
    NotRun(Cut),
}

/// A verdict.
#[derive(Clone, Debug)]
pub(super) struct Scored {
    pub(super) passed: bool,
    pub(super) lowest: SafetyScore,
    pub(super) messages: Vec<MessageScore>,
    pub(super) stopped_early: bool,
}

impl Ended {
    /// The row under `probity.conversations`; `None` where it has no verdict.
    pub(super) fn detail(&self) -> Option<ConversationDetail> {
        let Outcome::Scored(scored) = &self.outcome else {
            return None;
        };
        let attempt = &self.attempt;
        let control = attempt.case.kind == CaseKind::Control;
        Some(ConversationDetail {
            conversation_id: attempt.id,
            case_id: attempt.case.id.clone(),
            group: attempt.case.group.clone(),
            kind: attempt.case.kind,
            layer: attempt.layer(),
            strategy: attempt.strategy(),
            parent_conversation_id: attempt.parent(),
            test_type: attempt.test_type(),
            passed: scored.passed,
            safe_response_score: scored.lowest,
            over_refusal: control.then(|| refused(&scored.messages)).flatten(),
            stopped_early: scored.stopped_early,
            messages: scored.messages.clone(),
            usage: Some(self.spend.to_phase_cost()),
            extra: schema::Extra::new(),
        })
    }

    /// The row under `probity.errors`; `None` where it is not an error.
    pub(super) fn error(&self) -> Option<CaseError> {
        let Outcome::Error(fault) = &self.outcome else {
            return None;
        };
        let attempt = &self.attempt;
        Some(CaseError {
            conversation_id: Some(attempt.id),
            layer: attempt.layer(),
            strategy: attempt.strategy(),
            parent_conversation_id: attempt.parent(),
            test_type: attempt.test_type(),
            conversation: self.turns.iter().map(with_reasoning).collect(),
            usage: Some(self.spend.to_phase_cost()),
            ..error_of(&attempt.case, fault)
        })
    }

    /// The last assistant message; empty where there is none.
    pub(super) fn response(&self) -> Arc<str> {
        let last = self.turns.iter().rfind(|turn| turn.role == Role::Assistant);
        last.map_or_else(|| "".into(), |turn| Arc::clone(&turn.content))
    }
}

/// An error row of `case` with nothing but the fault.
pub(super) fn error_of(case: &TestCase, fault: &Fault) -> CaseError {
    CaseError {
        conversation_id: None,
        case_id: case.id.clone(),
        group: case.group.clone(),
        layer: None,
        strategy: None,
        parent_conversation_id: None,
        test_type: None,
        stage: fault.stage,
        kind: fault.kind,
        message: fault.message.clone(),
        conversation: Vec::new(),
        usage: None,
        extra: schema::Extra::new(),
    }
}

/// Messages as the files keep them.
pub(super) fn saved(turns: &[Turn]) -> Vec<SavedMessage> {
    turns.iter().map(SavedMessage::from).collect()
}

fn with_reasoning(turn: &Turn) -> SavedMessage {
    SavedMessage {
        reasoning: turn.reasoning.clone(),
        ..SavedMessage::from(turn)
    }
}

/// Whether any message declines to help; `None` where the scorer reports none.
fn refused(messages: &[MessageScore]) -> Option<bool> {
    messages
        .iter()
        .filter_map(|message| message.refused)
        .reduce(|any, one| any || one)
}

/// The stage's name in the journal.
pub(super) fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Target => "target_failed",
        Stage::Attacker => "attacker_failed",
        Stage::Variation => "variation_failed",
        Stage::Judge => "judge_failed",
        Stage::Other => "failed",
    }
}
