//! What the journal is told of a judged conversation.

use std::{sync::Arc, time::Duration};

use schema::{Conversation, Event, Field, Item, Journal, Metric, ModelError, ModelId, Score};
use serde::Serialize;
use serde_json::json;

use crate::verdict::Verdict;

/// A verdict in the journal's words.
#[derive(Serialize)]
struct Annotation<'a> {
    is_safe: bool,
    is_valid: bool,
    metadata: Metadata<'a>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    present: bool,
    justification: &'a str,
}

/// The journal, for one item and one judge.
pub(crate) struct ItemLog<'a> {
    journal: &'a dyn Journal,
    judge: &'a ModelId,
    pub(crate) item: Arc<Item>,
}

impl<'a> ItemLog<'a> {
    pub(crate) fn new(
        journal: &'a dyn Journal,
        judge: &'a ModelId,
        conversation: &Conversation,
        metric: &Metric,
    ) -> Self {
        let prompt_id = Conversation::prompt_id(&conversation.scenario.id, conversation.sample);
        let item = Item {
            test: metric.id.as_str().into(),
            prompt_id: prompt_id.into(),
            sut: conversation.target.id.clone(),
        };
        Self {
            journal,
            judge,
            item: Arc::new(item),
        }
    }

    /// The judge decided. `score` is the row that came of it.
    pub(crate) fn judged(&self, verdict: &Verdict, score: &Score) {
        let annotation = Annotation {
            is_safe: score.passed.unwrap_or_default(),
            is_valid: true,
            metadata: Metadata {
                present: verdict.present,
                justification: &verdict.justification,
            },
        };
        self.record(
            Event::new("translated annotation", "ItemLog", "judged")
                .with("annotator", self.judge)
                .with("annotation", Field::json(&annotation)),
        );
    }

    /// The judge answered without a usable verdict.
    pub(crate) fn abstained(&self, reason: &str) {
        self.record(
            Event::new("judge abstained", "ItemLog", "abstained")
                .with("annotator", self.judge)
                .with("reason", reason.to_owned()),
        );
    }

    /// The judge could not be asked to the end. The layer around the model has told of the call; this tells of the item.
    pub(crate) fn excepted(&self, error: &ModelError, run_time: Duration) {
        let exception = json!({"class": "schema::ModelError", "message": error.to_string()});
        self.record(
            Event::new("annotation exception", "ItemLog", "excepted")
                .with("annotator", self.judge)
                .with("exception", exception)
                .with("run_time", run_time.as_secs_f64()),
        );
    }

    fn record(&self, event: Event) {
        self.journal.record(event.item(Some(&self.item)));
    }
}
