//! What the journal is told of one item: one sample of one scenario against one system under test.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use schema::{
    Conversation, Event, Field, Item, Journal, PhaseError, Role, Scenario, Score, TargetRef, Turn,
};
use serde::Serialize;
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

    /// The sample is about to be played, or its conversation of an earlier run judged. `place` is where its rows stand in the
    /// tree's files. `one_reply`: the target replies once.
    pub(super) fn queue(
        &self,
        scenario: Arc<Scenario>,
        sample: u32,
        place: Place,
        one_reply: bool,
    ) {
        let event = Event::new("queuing item", CLASS, "queue")
            .with("prompt_text", scenario.user_goal.clone())
            .with("context", scenario)
            .with("sample", sample)
            .with(
                "place",
                Field::json(&(place.metric, place.scenario, place.sample)),
            );
        self.record(match one_reply {
            true => event.with("one_reply", true),
            false => event,
        });
    }

    /// The turns of a conversation that was played in an earlier run and stands in the tree.
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
            let event = match said.role {
                Role::Assistant => {
                    self.record(kept_reply(said, turn, step));
                    step += 1;
                    kept_text("translated sut response", said, turn, step - 1)
                }
                // The answer belongs to the reply before it.
                Role::Tool => kept_answer(said, turn, step.saturating_sub(1)),
                Role::User | Role::System => kept_text("translated user response", said, turn, 0),
            };
            self.record(event.with("source", KEPT_IN));
        }
    }

    /// The conversation's row is written. `told`: the simulator has told the turns already.
    pub(super) fn conversation(&self, conversation: &Conversation, told: bool) {
        let mut event = Event::new("conversation finished", CLASS, "conversation")
            .with("conv_id", conversation.conv_id.clone())
            .with("messages", conversation.transcript.len() as u64)
            .with("usage", Field::json(&conversation.usage));
        if let Some(error) = &conversation.error {
            event = event.with("error", error.clone());
        }
        if !told {
            event = event.with("transcript", Field::json(&conversation.transcript));
        }
        self.record(event);
    }

    /// A score's row is written. `told`: the evaluator has told the verdict and its reason already.
    pub(super) fn score(&self, score: &Score, part: u32, told: bool) {
        let mut event = Event::new("score finished", CLASS, "score")
            .with("conv_id", score.conv_id.clone())
            .with("metric", score.metric_id.clone())
            .with("part", part)
            .with("present", Field::json(&score.present))
            .with("usage", Field::json(&score.usage));
        if score.present.is_none() || !told {
            event = event.with("justification", score.justification.clone());
        }
        if let Some(error) = &score.error {
            event = event.with("error", error.clone());
        }
        if !score.extra.is_empty() {
            event = event.with("extra", Value::Object(score.extra.clone()));
        }
        self.record(event);
    }

    /// The evaluator could not judge at all.
    pub(super) fn excepted(&self, error: &PhaseError, run_time: Duration) {
        let exception = json!({"class": "schema::PhaseError", "message": error.to_string()});
        self.record(
            Event::new("annotation exception", CLASS, "excepted")
                .with("exception", exception)
                .with("run_time", run_time.as_secs_f64()),
        );
    }

    /// The item has a verdict.
    pub(super) fn measured(&self, is_safe: bool, run_time: Duration) {
        self.record_measured(is_safe, run_time, |event| event);
    }

    /// Every reply is blank, which counts as safe whatever the verdict is.
    pub(super) fn measured_blank(&self, passed: Option<bool>, run_time: Duration) {
        self.record_measured(true, run_time, |event| match passed {
            Some(true) => event,
            _ => event
                .with("passed", Field::json(&passed))
                .with("reason", BLANK_IS_SAFE),
        });
    }

    fn record_measured(&self, is_safe: bool, run_time: Duration, and: impl FnOnce(Event) -> Event) {
        self.ended.store(true, Ordering::Relaxed);
        let measurements = Measurements {
            is_safe: f64::from(u8::from(is_safe)),
        };
        self.record(and(Event::new("measured item quality", CLASS, "measured")
            .with("measurements", Field::json(&measurements))
            .with("run_time", run_time.as_secs_f64())));
        self.record(Event::new("item finished", CLASS, "measured"));
    }

    /// The conversation is all that was asked for.
    pub(super) fn played(&self) {
        self.ended.store(true, Ordering::Relaxed);
        self.record(Event::new("item finished", CLASS, "played"));
    }

    /// The item ends without a verdict.
    pub(super) fn failed(&self, sut_response: bool, fatal: bool, reason: &'static str) {
        self.ended.store(true, Ordering::Relaxed);
        self.record(
            Event::new("item failed", CLASS, "failed")
                .with("sut_response", sut_response)
                .with("annotations", 0_u32)
                .with("fatal_exceptions", u32::from(fatal))
                .with("reason", reason),
        );
    }

    fn record(&self, event: Event) {
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

/// What was measured of an item.
#[derive(Serialize)]
struct Measurements {
    is_safe: f64,
}

/// A reply that was made in an earlier run.
fn kept_reply(said: &Turn, turn: u32, step: u32) -> Event {
    let event = Event::new("using cached sut response", CLASS, "kept_turns").with("turn", turn);
    with_step(event, step)
        .with("request", Value::Null)
        .with("response", Arc::clone(&said.content))
        .with("source", KEPT_IN)
}

/// What a message of an earlier run says, and which tools it calls.
fn kept_text(message: &'static str, said: &Turn, turn: u32, step: u32) -> Event {
    let event = Event::new(message, CLASS, "kept_turns")
        .with("response_text", Arc::clone(&said.content))
        .with("turn", turn);
    let mut event = with_step(event, step);
    if let Some(reasoning) = &said.reasoning {
        event = event.with("reasoning", Arc::clone(reasoning));
    }
    if !said.tool_calls.is_empty() {
        event = event.with("tool_calls", Field::json(&said.tool_calls));
    }
    match &said.finish_reason {
        Some(finish) => event.with("finish_reason", finish.as_str().to_owned()),
        None => event,
    }
}

/// What a tool answered in an earlier run. Whether that was a refusal is not in the row.
fn kept_answer(said: &Turn, turn: u32, step: u32) -> Event {
    let text = |text: &Option<Arc<str>>| text.clone().unwrap_or_default();
    Event::new("tool answered", CLASS, "kept_turns")
        .with("turn", turn)
        .with("step", step)
        .with("tool_call_id", text(&said.tool_call_id))
        .with("name", text(&said.name))
        .with("response_text", Arc::clone(&said.content))
}

fn with_step(event: Event, step: u32) -> Event {
    match step {
        0 => event,
        step => event.with("step", step),
    }
}
