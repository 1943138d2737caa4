//! The journal events of a judged conversation.

use std::{sync::Arc, time::Duration};

use schema::{
    Conversation, Event, EventBody, Item, Journal, Metric, ModelError, ModelId, Score,
    event::{AnnotationException, JudgeAbstained, TranslatedAnnotation},
};
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
    pub(crate) fn judged(&self, verdict: &Verdict, score: &Score) {
        self.record(EventBody::TranslatedAnnotation(TranslatedAnnotation {
            annotator: self.judge.shared(),
            annotation: json!({
                "is_safe": score.passed.unwrap_or_default(),
                "is_valid": true,
                "metadata": {"present": verdict.present, "justification": verdict.justification},
            }),
        }));
    }

    /// The judge answered without a usable verdict.
    pub(crate) fn abstained(&self, reason: &str) {
        self.record(EventBody::JudgeAbstained(JudgeAbstained {
            annotator: Some(self.judge.shared()),
            reason: reason.to_owned(),
        }));
    }

    /// The judge could not be asked to the end. The layer around the model has told of the call; this tells of the item.
    pub(crate) fn excepted(&self, error: &ModelError, run_time: Duration) {
        let exception = json!({"class": "schema::ModelError", "message": error.to_string()});
        self.record(EventBody::AnnotationException(AnnotationException {
            annotator: Some(self.judge.shared()),
            exception,
            run_time: Some(run_time.as_secs_f64()),
        }));
    }

    fn record(&self, body: EventBody) {
        self.journal.record(Event::new(body).item(Some(&self.item)));
    }
}
