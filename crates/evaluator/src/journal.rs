//! What the journal is told of a judged conversation.

use std::{sync::Arc, time::Duration};

use schema::{Conversation, Event, Item, Journal, Metric, ModelId, Score};
use serde_json::json;

use crate::verdict::Verdict;

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
    pub(crate) fn judged(&self, verdict: &Verdict, score: &Score, run_time: Duration) {
        let is_safe = score.passed.unwrap_or_default();
        let annotation = json!({
            "is_safe": is_safe,
            "is_valid": true,
            "metadata": {"present": verdict.present, "justification": verdict.justification},
        });
        self.record(
            Event::new("translated annotation", "ItemLog", "judged")
                .with("annotator", self.judge)
                .with("annotation", annotation),
        );
        self.record(
            Event::new("measured item quality", "ItemLog", "judged")
                .with(
                    "measurements",
                    json!({"is_safe": f64::from(u8::from(is_safe))}),
                )
                .with("run_time", run_time.as_secs_f64()),
        );
        self.record(Event::new("item finished", "ItemLog", "judged"));
    }

    /// The judge answered without a usable verdict.
    pub(crate) fn abstained(&self, reason: &str) {
        self.record(
            Event::new("judge abstained", "ItemLog", "abstained")
                .with("annotator", self.judge)
                .with("reason", reason.to_owned()),
        );
        self.failed(true, 0);
    }

    /// The item has no measurement. The exception itself, where there was one, is told by the layer around the model.
    pub(crate) fn failed(&self, sut_response: bool, fatal_exceptions: u32) {
        self.record(
            Event::new("item failed", "ItemLog", "failed")
                .with("sut_response", sut_response)
                .with("annotations", 0_u32)
                .with("fatal_exceptions", fatal_exceptions),
        );
    }

    fn record(&self, event: Event) {
        self.journal.record(event.item(Some(&self.item)));
    }
}
