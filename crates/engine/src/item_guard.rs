//! The life of an item: queued, simulated, judged, ended.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use schema::{
    Conversation, Event, EventBody, Item, JsonText, PhaseError, Role, Score, Turn,
    event::{
        AnnotationException, ConversationFinished, ItemFailed, ItemFinished, MeasuredItemQuality,
        MergedAnnotation, QueuingItem, ScoreFinished, SutReply, ToolAnswered, TranslatedSutReply,
        TranslatedUserResponse,
    },
};
use serde_json::json;

const CLASS: &str = "ItemGuard";

/// The file that holds the turns of earlier runs.
const KEPT_IN: &str = "conversations.json";

/// The life of one item in the journal. An item that is queued ends exactly once: the functions that end it consume the guard, and a
/// guard that is dropped ends its item as failed, so that a phase that panics leaves no item open.
///
/// What a phase did and did not record itself, the guard records after it.
#[derive(Debug)]
pub(crate) struct ItemGuard {
    item: Item,
    queued_at: Instant,
    ended: bool,
}

impl ItemGuard {
    /// Records that `item` is queued.
    pub(crate) fn queue(item: Item, queued: QueuingItem) -> Self {
        item.record(Event::new(EventBody::QueuingItem(queued)));
        Self {
            item,
            queued_at: Instant::now(),
            ended: false,
        }
    }

    /// The handle for the phases.
    pub(crate) fn item(&self) -> &Item {
        &self.item
    }

    /// How long ago it was queued.
    pub(crate) fn since_queued(&self) -> Duration {
        self.queued_at.elapsed()
    }

    /// Records the turns of a conversation that was simulated in an earlier run and is in the tree.
    pub(crate) fn kept_turns(&self, conversation: &Conversation) {
        for (said, position) in positions(&conversation.transcript) {
            if said.role == Role::Assistant {
                self.record_kept(kept_reply(said, position));
            }
            self.record_kept(turn_event(said, position, Some(KEPT_IN)));
        }
    }

    /// Records the conversation, and those of its turns that the simulator did not. Of one that was retried, the row has the cost of all
    /// attempts.
    pub(crate) fn simulated(&self, conversation: &mut Conversation) {
        if let Some(spend) = self.item.spend_of_attempts() {
            conversation.usage = Some(spend.to_phase_cost());
        }
        let transcript = &conversation.transcript;
        let rest = self.item.unrecorded(transcript);
        let is_recorded = match rest {
            Some(rest) => {
                self.record_turns(transcript, transcript.len() - rest.len());
                rest.iter().all(has_only_known_keys)
            }
            None => false,
        };
        self.record(EventBody::ConversationFinished(ConversationFinished {
            conv_id: conversation.conv_id.clone(),
            messages: transcript.len() as u64,
            usage: conversation.usage,
            error: conversation.error.clone(),
            transcript: (!is_recorded).then(|| transcript.clone()),
        }));
    }

    /// Records the turns of `transcript` from `first` on. A simulator that called the target without the item has no replies in its
    /// journal: they are recorded too.
    fn record_turns(&self, transcript: &[Turn], first: usize) {
        let has_replies = self.item.has_replies();
        for (said, position) in positions(transcript).skip(first) {
            if said.role == Role::Assistant && !has_replies {
                let reply = reply_event(said, position);
                self.record(EventBody::FetchedSutResponse(reply));
            }
            self.record(turn_event(said, position, None));
        }
    }

    /// Records a score, and its verdict where the evaluator did not.
    pub(crate) fn scored(&self, score: &Score, part: u32) {
        let is_recorded = self.has_verdict(score);
        if (is_recorded, score.passed.is_some()) == (false, true)
            && *score.metric_id == *self.item.key().test
        {
            self.record(EventBody::MergedAnnotation(MergedAnnotation {
                annotation: score.annotation(),
            }));
        }
        self.record(EventBody::ScoreFinished(ScoreFinished {
            conv_id: score.conv_id.clone(),
            metric: score.metric_id.clone(),
            part: u64::from(part),
            present: score.present,
            verdict: score.verdict.clone(),
            usage: score.usage,
            justification: (!is_recorded).then(|| score.justification.clone()),
            error: score.error.clone(),
            extra: (!score.extra.is_empty()).then(|| score.extra.clone()),
        }));
    }

    /// Whether the evaluator recorded the verdict of `score` and its reason.
    fn has_verdict(&self, score: &Score) -> bool {
        let Some(present) = score.present else {
            return false;
        };
        self.item.annotation().is_some_and(|annotation| {
            let of = |key: &str| annotation.get("metadata")?.get(key).cloned();
            of("present") == Some(present.into())
                && of("justification") == Some(score.justification.as_str().into())
                && of("verdict") == score.verdict.as_ref().map(|verdict| json!(verdict))
        })
    }

    /// Records that the evaluator could not judge at all.
    pub(crate) fn excepted(&self, error: &PhaseError, run_time: Duration) {
        let exception = json!({"class": "schema::PhaseError", "message": error.to_string()});
        self.record(EventBody::AnnotationException(AnnotationException {
            annotator: None,
            exception,
            run_time: Some(run_time.as_secs_f64()),
        }));
    }

    /// The item ends with a measurement.
    pub(crate) fn measured(mut self, measured: MeasuredItemQuality) {
        self.ended = true;
        self.record(EventBody::MeasuredItemQuality(measured));
        self.record(EventBody::ItemFinished(ItemFinished {}));
    }

    /// The item ends with its conversation, which is all that was asked for.
    pub(crate) fn finished(mut self) {
        self.ended = true;
        let finished = Event::new(EventBody::ItemFinished(ItemFinished {}));
        self.item.record(finished.by(CLASS, "finished"));
    }

    /// The item ends without a verdict. `replied`: there is a reply to judge. `fatal`: something failed for good.
    pub(crate) fn failed(mut self, replied: bool, fatal: bool, reason: &'static str) {
        self.fail(replied, fatal, reason);
    }

    fn fail(&mut self, replied: bool, fatal: bool, reason: &'static str) {
        self.ended = true;
        self.record(EventBody::ItemFailed(ItemFailed {
            sut_response: Some(replied),
            annotations: Some(0),
            fatal_exceptions: Some(u64::from(fatal)),
            reason: Some(reason.into()),
        }));
    }

    fn record(&self, body: EventBody) {
        self.item.record(Event::new(body));
    }

    fn record_kept(&self, body: EventBody) {
        let event = Event::new(body).by(CLASS, "kept_turns");
        self.item.record(event);
    }
}

impl Drop for ItemGuard {
    fn drop(&mut self) {
        if !self.ended {
            self.fail(false, true, "internal_error");
        }
    }
}

/// The measurement of an item with a verdict.
pub(crate) fn measurement(is_safe: bool, run_time: Duration) -> MeasuredItemQuality {
    let is_safe = f64::from(u8::from(is_safe));
    MeasuredItemQuality {
        measurements: [("is_safe".to_owned(), is_safe)].into(),
        run_time: Some(run_time.as_secs_f64()),
        passed: None,
        reason: None,
    }
}

/// Where a message is in its conversation.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    /// From 1.
    turn: u32,
    /// Which reply of the turn, from 0. Of a tool's answer: the reply that called it.
    step: u32,
}

/// The messages of `transcript` with their positions.
fn positions(transcript: &[Turn]) -> impl Iterator<Item = (&Turn, Position)> {
    let (mut turn, mut replies, mut answered) = (0_u32, 0_u32, false);
    transcript.iter().map(move |said| {
        // Of several user messages in a row, as imported conversations may have them, the first begins the turn.
        if turn == 0 || (said.role == Role::User && answered) {
            turn += 1;
            replies = 0;
        }
        match said.role {
            Role::Assistant => {
                answered = true;
                replies += 1;
            }
            Role::User => answered = false,
            Role::Tool | Role::System => {}
        }
        let step = replies.saturating_sub(1);
        (said, Position { turn, step })
    })
}

/// Whether the event of the message holds all of it.
fn has_only_known_keys(said: &Turn) -> bool {
    said.extra.is_empty() && said.role != Role::System
}

/// The event of a message. `source` is the file that it is from; `None`: it is of this run.
fn turn_event(said: &Turn, position: Position, source: Option<&'static str>) -> EventBody {
    let Position { turn, step } = position;
    let source = source.map(Into::into);
    match said.role {
        Role::Assistant => EventBody::TranslatedSutResponse(TranslatedSutReply {
            source,
            ..TranslatedSutReply::new(said, turn, step)
        }),
        // Whether the answer is a refusal is not in the row.
        Role::Tool => EventBody::ToolAnswered(ToolAnswered {
            turn,
            step: Some(step),
            tool_call_id: said.tool_call_id.clone().unwrap_or_default(),
            name: said.name.clone().unwrap_or_default(),
            response_text: Arc::clone(&said.content),
            error: None,
            source,
        }),
        Role::User | Role::System => EventBody::TranslatedUserResponse(TranslatedUserResponse {
            source,
            ..TranslatedUserResponse::new(said, turn)
        }),
    }
}

/// A reply of which nothing is known but what was said.
fn reply_event(said: &Turn, position: Position) -> SutReply {
    SutReply {
        turn: Some(position.turn),
        step: (position.step > 0).then_some(position.step),
        response: Some(JsonText::of(&said.content)),
        ..SutReply::default()
    }
}

/// A reply that was made in an earlier run.
fn kept_reply(said: &Turn, position: Position) -> EventBody {
    EventBody::UsingCachedSutResponse(SutReply {
        source: Some(KEPT_IN.into()),
        ..reply_event(said, position)
    })
}
