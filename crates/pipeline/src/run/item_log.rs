//! The journal events of one item: one sample of one scenario against one system under test.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use schema::{
    Conversation, Event, EventBody, Item, Journal, JsonText, PhaseError, Role, Scenario, Score,
    TargetRef, Turn,
    event::{
        AnnotationException, ConversationFinished, ItemFailed, ItemFinished, MeasuredItemQuality,
        QueuingItem, ScoreFinished, SutReply, ToolAnswered, TranslatedSutReply,
        TranslatedUserResponse,
    },
};
use serde_json::{Value, json};

use crate::tree::Place;

const CLASS: &str = "ItemLog";

/// Why a measurement differs from the verdict.
const BLANK_IS_SAFE: &str = "every reply of the target is blank: ModelBench counts that as safe, and `passed` is the verdict in scores.json";

/// Where the turns of earlier runs stand.
const KEPT_IN: &str = "conversations.json";

/// The journal, for one item. An item that is queued ends exactly once: finished or failed. Dropping the log ends it as failed,
/// so that a phase that panics leaves no item open.
pub(super) struct ItemLog {
    journal: Arc<dyn Journal>,
    item: Arc<Item>,
    ended: AtomicBool,
}

impl ItemLog {
    pub(super) fn new(
        journal: &Arc<dyn Journal>,
        target: &TargetRef,
        scenario: &Scenario,
        sample: u32,
    ) -> Self {
        Self {
            journal: Arc::clone(journal),
            item: Arc::new(Item {
                test: scenario.metric_id.as_str().into(),
                prompt_id: Conversation::prompt_id(&scenario.id, sample).into(),
                sut: target.id.clone(),
            }),
            ended: AtomicBool::new(false),
        }
    }

    /// The sample is about to be played, or its conversation of an earlier run judged. `place` is where its rows are in the
    /// tree's files. `one_reply`: the target replies once.
    pub(super) fn queue(&self, scenario: &Scenario, sample: u32, place: Place, one_reply: bool) {
        let place = [place.metric, place.scenario, place.sample];
        self.record(EventBody::QueuingItem(QueuingItem {
            prompt_text: Some(scenario.user_goal.as_str().into()),
            context: Some(JsonText::of(scenario)),
            sample: Some(sample),
            place: Some(place.map(u64::from).to_vec()),
            one_reply: one_reply.then_some(true),
            derived: None,
        }));
    }

    /// The turns of a conversation that was simulated in an earlier run and is in the tree.
    pub(super) fn kept_turns(&self, conversation: &Conversation) {
        let (mut turn, mut step, mut answered) = (0_u32, 0_u32, false);
        for said in &conversation.transcript {
            // Of several user messages in a row, as imported conversations may have them, the first begins the turn.
            if turn == 0 || (said.role == Role::User && answered) {
                turn += 1;
                step = 0;
            }
            answered = match said.role {
                Role::Assistant => true,
                Role::User => false,
                Role::Tool | Role::System => answered,
            };
            let body = match said.role {
                Role::Assistant => {
                    self.record_kept(kept_reply(said, turn, step));
                    step += 1;
                    EventBody::TranslatedSutResponse(TranslatedSutReply {
                        source: Some(KEPT_IN.into()),
                        ..TranslatedSutReply::new(said, turn, step - 1)
                    })
                }
                // The answer belongs to the reply before it.
                Role::Tool => kept_answer(said, turn, step.saturating_sub(1)),
                Role::User | Role::System => {
                    EventBody::TranslatedUserResponse(TranslatedUserResponse {
                        source: Some(KEPT_IN.into()),
                        ..TranslatedUserResponse::new(said, turn)
                    })
                }
            };
            self.record_kept(body);
        }
    }

    /// The conversation's row is written. `told`: the simulator has told the turns already.
    pub(super) fn conversation(&self, conversation: &Conversation, told: bool) {
        self.record(EventBody::ConversationFinished(ConversationFinished {
            conv_id: conversation.conv_id.clone(),
            messages: conversation.transcript.len() as u64,
            usage: conversation.usage,
            error: conversation.error.clone(),
            transcript: (!told).then(|| conversation.transcript.clone()),
        }));
    }

    /// A score's row is written. `told`: the evaluator has told the verdict and its reason already.
    pub(super) fn score(&self, score: &Score, part: u32, told: bool) {
        let reason = score.present.is_none() || !told;
        self.record(EventBody::ScoreFinished(ScoreFinished {
            conv_id: score.conv_id.clone(),
            metric: score.metric_id.clone(),
            part: u64::from(part),
            present: score.present,
            usage: score.usage,
            justification: reason.then(|| score.justification.clone()),
            error: score.error.clone(),
            extra: (!score.extra.is_empty()).then(|| score.extra.clone()),
        }));
    }

    /// The evaluator could not judge at all.
    pub(super) fn excepted(&self, error: &PhaseError, run_time: Duration) {
        let exception = json!({"class": "schema::PhaseError", "message": error.to_string()});
        self.record(EventBody::AnnotationException(AnnotationException {
            annotator: None,
            exception,
            run_time: Some(run_time.as_secs_f64()),
        }));
    }

    /// The item has a verdict.
    pub(super) fn measured(&self, is_safe: bool, run_time: Duration) {
        self.record_measured(measurement(is_safe, run_time));
    }

    /// Every reply is blank, which counts as safe whatever the verdict is.
    pub(super) fn measured_blank(&self, passed: Option<bool>, run_time: Duration) {
        let differs = passed != Some(true);
        self.record_measured(MeasuredItemQuality {
            passed: differs.then(|| Value::from(passed)),
            reason: differs.then_some(BLANK_IS_SAFE.into()),
            ..measurement(true, run_time)
        });
    }

    fn record_measured(&self, measured: MeasuredItemQuality) {
        self.ended.store(true, Ordering::Relaxed);
        self.record(EventBody::MeasuredItemQuality(measured));
        self.record(EventBody::ItemFinished(ItemFinished {}));
    }

    /// The conversation is all that was asked for.
    pub(super) fn played(&self) {
        self.ended.store(true, Ordering::Relaxed);
        let finished = Event::new(EventBody::ItemFinished(ItemFinished {}));
        self.record_event(finished.by(CLASS, "played"));
    }

    /// The item ends without a verdict.
    pub(super) fn failed(&self, sut_response: bool, fatal: bool, reason: &'static str) {
        self.ended.store(true, Ordering::Relaxed);
        self.record(EventBody::ItemFailed(ItemFailed {
            sut_response: Some(sut_response),
            annotations: Some(0),
            fatal_exceptions: Some(u64::from(fatal)),
            reason: Some(reason.into()),
        }));
    }

    fn record(&self, body: EventBody) {
        self.record_event(Event::new(body));
    }

    fn record_kept(&self, body: EventBody) {
        self.record_event(Event::new(body).by(CLASS, "kept_turns"));
    }

    fn record_event(&self, event: Event) {
        self.journal.record(event.item(Some(&self.item)));
    }
}

impl Drop for ItemLog {
    fn drop(&mut self) {
        if !self.ended.load(Ordering::Relaxed) {
            self.failed(false, true, "internal_error");
        }
    }
}

fn measurement(is_safe: bool, run_time: Duration) -> MeasuredItemQuality {
    let is_safe = f64::from(u8::from(is_safe));
    MeasuredItemQuality {
        measurements: [("is_safe".to_owned(), is_safe)].into(),
        run_time: Some(run_time.as_secs_f64()),
        passed: None,
        reason: None,
    }
}

/// A reply that was made in an earlier run.
fn kept_reply(said: &Turn, turn: u32, step: u32) -> EventBody {
    EventBody::UsingCachedSutResponse(SutReply {
        turn: Some(turn),
        step: (step > 0).then_some(step),
        response: Some(JsonText::of(&said.content)),
        source: Some(KEPT_IN.into()),
        ..SutReply::default()
    })
}

/// What a tool answered in an earlier run. Whether that was a refusal is not in the row.
fn kept_answer(said: &Turn, turn: u32, step: u32) -> EventBody {
    EventBody::ToolAnswered(ToolAnswered {
        turn,
        step: Some(step),
        tool_call_id: said.tool_call_id.clone().unwrap_or_default(),
        name: said.name.clone().unwrap_or_default(),
        response_text: Arc::clone(&said.content),
        error: None,
        source: Some(KEPT_IN.into()),
    })
}
