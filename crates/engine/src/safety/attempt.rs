//! One conversation to run, and its result.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use schema::{
    Event, EventBody, Item, ItemKey, Journal, JsonText, Role, Spend, TargetRef, Turn,
    event::{MeasuredItemQuality, MergedAnnotation, QueuingItem, TranslatedAnnotation},
    safety::{
        CaseKind, SafetyScore, Stage, TestCase, Threshold,
        results::{AttackerRefusal, CaseError, ConversationDetail, MessageScore, SavedMessage},
    },
};
use serde_json::{Value, json};

use super::{
    error::{CaseFailure, SkipReason},
    report::FailedCase,
};
use crate::item_guard::{blank_measurement, measurement};

/// A conversation to run: a prompt of a layer, or a case with a strategy.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    /// Its number in the file.
    pub(super) id: i64,
    /// The seed.
    pub(super) case: Arc<TestCase>,
    /// Its id in the journal: the case's id, followed by how the prompt was derived from it.
    pub(super) prompt_id: Arc<str>,
    /// The prompt; in a multi-turn run the intent.
    pub(super) prompt: Arc<str>,
    /// The position of the case among all cases. Strategies take turns by it.
    pub(super) place: u32,
    pub(super) kind: AttemptKind,
}

/// The kind of an attempt.
#[derive(Clone, Debug)]
pub(super) enum AttemptKind {
    /// A seed of layer 0.
    Seed,
    /// A variation.
    Variation {
        layer: u32,
        strategy: Arc<str>,
        parent: i64,
    },
    /// A conversation led by this strategy.
    Conversation { test_type: Arc<str> },
}

impl Attempt {
    /// The layer, in a single-turn run.
    pub(super) fn layer(&self) -> Option<u32> {
        match self.kind {
            AttemptKind::Seed => Some(0),
            AttemptKind::Variation { layer, .. } => Some(layer),
            AttemptKind::Conversation { .. } => None,
        }
    }

    pub(super) fn strategy(&self) -> Option<String> {
        match &self.kind {
            AttemptKind::Variation { strategy, .. } => Some(strategy.to_string()),
            _ => None,
        }
    }

    pub(super) fn parent(&self) -> Option<i64> {
        match self.kind {
            AttemptKind::Variation { parent, .. } => Some(parent),
            _ => None,
        }
    }

    pub(super) fn test_type(&self) -> Option<String> {
        match &self.kind {
            AttemptKind::Conversation { test_type } => Some(test_type.to_string()),
            _ => None,
        }
    }

    /// The item that calls are made for. `prompt_id` is the attempt's own, or that of its second attempt.
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

    /// The event that queues its item, when the target replies and is judged in the order `turns`.
    pub(super) fn queued(&self, item: &Item, turns: TurnOrder) -> QueuingItem {
        let context = json!({
            "conversation_id": self.id,
            "case": self.case,
            "layer": self.layer(),
            "strategy": self.strategy(),
            "parent_conversation_id": self.parent(),
            "test_type": self.test_type(),
        });
        // A variation, or a strategy that replaces another one.
        let stands_in = item.key().prompt_id != self.prompt_id;
        QueuingItem {
            prompt_text: Some(Arc::clone(&self.prompt)),
            context: Some(JsonText::of(&context)),
            one_reply: turns.one_reply.then_some(true),
            judged_between: turns.judged_between.then_some(true),
            derived: (stands_in || self.parent().is_some()).then_some(true),
            ..QueuingItem::default()
        }
    }
}

/// How the turns of an item follow each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnOrder {
    /// Whether the target replies once.
    pub(super) one_reply: bool,
    /// Whether judges are called between the turns.
    pub(super) judged_between: bool,
}

/// The result of an attempt.
#[derive(Clone, Debug)]
pub(super) struct AttemptResult {
    pub(super) attempt: Attempt,
    pub(super) spend: Spend,
    /// The messages of the conversation.
    pub(super) turns: Vec<Turn>,
    pub(super) refusals: Vec<AttackerRefusal>,
    pub(super) outcome: Outcome,
}

/// How an attempt ended.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Scored(Scored),
    Error(CaseFailure),
    NotRun(SkipReason),
}

/// A verdict.
#[derive(Clone, Debug)]
pub(super) struct Scored {
    pub(super) passed: bool,
    pub(super) lowest: SafetyScore,
    pub(super) messages: Vec<MessageScore>,
    pub(super) stopped_early: bool,
}

impl Scored {
    /// Records the judges' opinions in `item`: the annotation of a single judge; for a panel, or a scorer without judges, the merged
    /// annotation.
    pub(super) fn annotate(&self, item: &Item, judges: &[String], threshold: Threshold) {
        let annotation = json!({
            "is_safe": self.passed,
            "is_valid": true,
            "metadata": {
                "safe_response_score": self.lowest,
                "threshold": threshold,
                "messages": self.messages,
            },
        });
        if let [judge] = judges {
            return record_annotation(item, judge, annotation);
        }
        for judge in self.judges() {
            let scores = self.scores_of(&judge);
            let lowest = SafetyScore::lowest(scores.iter().copied().flatten());
            let annotation = json!({
                "is_safe": lowest.is_some_and(|score| threshold.passes(score)),
                "is_valid": lowest.is_some(),
                "metadata": {
                    "safe_response_score": lowest,
                    "threshold": threshold,
                    "scores": scores,
                },
            });
            record_annotation(item, &judge, annotation);
        }
        let merged = EventBody::MergedAnnotation(MergedAnnotation { annotation });
        item.record(Event::new(merged));
    }

    /// The measurement. `blank`: every reply is blank, which counts as safe whatever the verdict is.
    pub(super) fn measurement(&self, blank: bool, run_time: Duration) -> MeasuredItemQuality {
        let mut measured = match blank {
            true => blank_measurement(Some(self.passed), "the results", run_time),
            false => measurement(self.passed, run_time),
        };
        let score = ("safe_response_score".to_owned(), self.lowest.into());
        measured.measurements.extend([score]);
        measured
    }

    /// The judges that scored a message, by name.
    fn judges(&self) -> BTreeSet<String> {
        let judges = self.messages.iter().flat_map(|message| &message.judges);
        judges.map(|judge| judge.judge.clone()).collect()
    }

    /// One judge's score of each message.
    fn scores_of(&self, judge: &str) -> Vec<Option<SafetyScore>> {
        let of = |message: &MessageScore| {
            let mut judges = message.judges.iter();
            judges.find(|one| one.judge == judge)?.score
        };
        self.messages.iter().map(of).collect()
    }
}

fn record_annotation(item: &Item, judge: &str, annotation: Value) {
    let body = EventBody::TranslatedAnnotation(TranslatedAnnotation {
        annotator: judge.into(),
        annotation,
    });
    // Journals name the class that first wrote this event.
    item.record(Event::new(body).by("CaseLog", "annotations"));
}

impl AttemptResult {
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

    /// The row under `probity.errors`; `None` where the outcome is not an error.
    pub(super) fn error(&self) -> Option<CaseError> {
        let Outcome::Error(failure) = &self.outcome else {
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
            ..error_of(&attempt.case, failure)
        })
    }

    /// What the report says about it, where it is an error.
    pub(super) fn failed(&self) -> Option<FailedCase> {
        match &self.outcome {
            Outcome::Error(failure) => Some(FailedCase::of(&self.error()?, failure)),
            Outcome::Scored(_) | Outcome::NotRun(_) => None,
        }
    }

    /// The last assistant message; empty where there is none.
    pub(super) fn response(&self) -> Arc<str> {
        let last = self.turns.iter().rfind(|turn| turn.role == Role::Assistant);
        last.map_or_else(|| "".into(), |turn| Arc::clone(&turn.content))
    }
}

/// An error row of `case` with only the failure.
pub(super) fn error_of(case: &TestCase, failure: &CaseFailure) -> CaseError {
    CaseError {
        conversation_id: None,
        case_id: case.id.clone(),
        group: case.group.clone(),
        control: case.kind == CaseKind::Control,
        layer: None,
        strategy: None,
        parent_conversation_id: None,
        test_type: None,
        stage: failure.stage,
        kind: failure.kind,
        message: failure.message.clone(),
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
