//! The evaluator: what it is made of, and its place among the phases.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use schema::{
    ChatModel, ChatReply, ChatRequest, Conversation, Evaluator, Event, EventBody, Fingerprint,
    FinishReason, Item, Metric, ModelError,
    ModelErrorKind::{Cancelled, OverBudget},
    NoVerdict, PhaseError, PhaseErrorKind, Purpose, Score,
    event::{AnnotationException, JudgeAbstained, TranslatedAnnotation},
    reply::{AskFailed, Asked, Unusable, advice, ask},
    text::hex,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    Prompts,
    prompts::bad_prompt,
    transcript::has_reply,
    verdict::{self, JudgeReply},
};

/// Asks one judge about each conversation: is the behaviour of the item's metric present, or which value or category of its `verdict` fits?
pub struct JudgeEvaluator {
    judge: Arc<dyn ChatModel>,
    metrics: Vec<Metric>,
    prompts: Prompts,
    tries: u32,
}

/// A judge's verdict, or why it gave none and would give none if asked again.
type Answer = Result<JudgeReply, (NoVerdict, String)>;

impl JudgeEvaluator {
    /// How often a judge is called for one verdict.
    pub const DEFAULT_TRIES: u32 = 3;

    /// An evaluator with the shipped prompts and three tries. It judges scenarios of these metrics.
    ///
    /// # Errors
    /// `BadInput` when two metrics share an id.
    pub fn new(judge: Arc<dyn ChatModel>, metrics: Vec<Metric>) -> Result<Self, PhaseError> {
        for (at, metric) in metrics.iter().enumerate() {
            if metrics.iter().take(at).any(|other| other.id == metric.id) {
                return Err(bad_input(format!("duplicate metric id {:?}", metric.id)));
            }
        }
        Ok(Self {
            judge,
            metrics,
            prompts: Prompts::shipped().map_err(bad_prompt)?,
            tries: Self::DEFAULT_TRIES,
        })
    }

    /// Uses these prompts.
    ///
    /// # Errors
    /// `BadInput` when one of them does not render for one of the metrics, with its name and what is wrong with it.
    pub fn with_prompts(mut self, prompts: Prompts) -> Result<Self, PhaseError> {
        for metric in &self.metrics {
            prompts.messages(metric, &[])?;
        }
        self.prompts = prompts;
        Ok(self)
    }

    /// Asks up to `tries` times for a usable verdict; 0 counts as 1.
    #[must_use]
    pub fn with_tries(mut self, tries: u32) -> Self {
        self.tries = tries.max(1);
        self
    }

    fn metric_of(&self, conversation: &Conversation, item: &Item) -> Result<&Metric, PhaseError> {
        let id = &*item.key().test;
        self.metrics
            .iter()
            .find(|metric| metric.id == id)
            .ok_or_else(|| {
                bad_input(format!(
                    "conversation {}: its metric {id:?} is not one of the benchmark's ({}); \
                     add it to benchmark.yaml, or run the scenarios of this benchmark again",
                    conversation.conv_id,
                    self.metrics
                        .iter()
                        .map(|metric| metric.id.as_str())
                        .collect::<Vec<_>>()
                        .join(", ")
                ))
            })
    }

    async fn judge(
        &self,
        conversation: &Conversation,
        metric: &Metric,
        item: &Item,
    ) -> Result<Score, PhaseError> {
        let request = self.request(conversation, metric, item)?;
        let started = Instant::now();
        let read = |reply: &ChatReply| read(reply, metric);
        let (mut score, spend) = match ask(&*self.judge, request, self.tries, read).await {
            Ok(Asked { answer, spend }) => {
                let answer = answer.unwrap_or_else(|unusable| Err(no_verdict(&unusable)));
                let score = answer.and_then(
                    |JudgeReply {
                         verdict,
                         justification,
                     }| {
                        Score::of_verdict(conversation, metric, verdict, justification).map_err(
                            |error| {
                                let words = format!("judge gave no usable verdict: {error}");
                                (NoVerdict::JudgeUnusable, words)
                            },
                        )
                    },
                );
                let score = match score {
                    Ok(score) => {
                        item.record(self.judged(&score));
                        score
                    }
                    Err((reason, words)) => {
                        tracing::debug!(
                            conversation = conversation.conv_id,
                            reason = words,
                            "judge abstained"
                        );
                        item.record(self.abstained(&words));
                        Score::abstained(conversation, metric, reason, words)
                    }
                };
                (score, spend)
            }
            Err(AskFailed { error, spend }) => {
                if matches!(error.kind(), Cancelled | OverBudget) {
                    let what = format!("judge {} on {}", self.judge.id(), conversation.conv_id);
                    return Err(PhaseError::from_model(what, error));
                }
                item.record(self.excepted(&error, started.elapsed()));
                let message = format!("judge {}: {error}", self.judge.id());
                let reason = error.no_verdict();
                (Score::failed(conversation, metric, reason, message), spend)
            }
        };
        score.usage = Some(spend.to_phase_cost());
        Ok(score)
    }

    fn request(
        &self,
        conversation: &Conversation,
        metric: &Metric,
        item: &Item,
    ) -> Result<ChatRequest, PhaseError> {
        let messages = self.prompts.messages(metric, &conversation.transcript)?;
        Ok(ChatRequest {
            response_format: verdict::response_format(metric.verdict.as_ref()),
            ..ChatRequest::new(messages, item.call(Purpose::Judge, 0))
        })
    }

    /// The judge decided. `score` is the row with its verdict.
    fn judged(&self, score: &Score) -> Event {
        Event::new(EventBody::TranslatedAnnotation(TranslatedAnnotation {
            annotator: self.judge.id().shared(),
            annotation: score.annotation(),
        }))
    }

    /// The judge answered without a usable verdict.
    fn abstained(&self, reason: &str) -> Event {
        Event::new(EventBody::JudgeAbstained(JudgeAbstained {
            annotator: Some(self.judge.id().shared()),
            reason: reason.to_owned(),
        }))
    }

    /// A call to the judge failed. The layer around the model has recorded the call; this is the end of the item's judging.
    fn excepted(&self, error: &ModelError, run_time: Duration) -> Event {
        let exception = json!({"class": "schema::ModelError", "message": error.to_string()});
        Event::new(EventBody::AnnotationException(AnnotationException {
            annotator: Some(self.judge.id().shared()),
            exception,
            run_time: Some(run_time.as_secs_f64()),
        }))
    }
}

/// Reads a judge's reply. One that a filter stopped would be stopped again, so it is not asked for again.
fn read(reply: &ChatReply, metric: &Metric) -> Result<Answer, String> {
    match verdict::parse(&reply.content, metric) {
        Ok(read) => Ok(Ok(read)),
        Err(_) if reply.finish == FinishReason::ContentFilter => Ok(Err((
            NoVerdict::ProviderRefused,
            "judge gave no verdict: the provider's filter stopped its reply".to_owned(),
        ))),
        Err(reason) if reply.finish == FinishReason::Length => {
            Err(format!("{reason} (the token limit cut the reply off)"))
        }
        Err(reason) => Err(reason),
    }
}

fn no_verdict(unusable: &Unusable) -> (NoVerdict, String) {
    let words = format!(
        "judge gave no usable verdict in {} tries; the last one: {}{}",
        unusable.asked,
        unusable.reason,
        advice(unusable.cut_off)
    );
    (NoVerdict::JudgeUnusable, words)
}

fn bad_input(message: String) -> PhaseError {
    PhaseError::new(PhaseErrorKind::BadInput, message)
}

#[async_trait]
impl Evaluator for JudgeEvaluator {
    async fn evaluate(
        &self,
        conversation: &Conversation,
        item: &Item,
    ) -> Result<Vec<Score>, PhaseError> {
        let metric = self.metric_of(conversation, item)?;
        if let Some(error) = &conversation.error {
            let reason = format!("the conversation failed: {error}");
            let row = Score::failed(conversation, metric, conversation.no_verdict, reason);
            return Ok(vec![row]);
        }
        if !has_reply(&conversation.transcript) {
            let words = "the conversation has no reply of the target";
            let row = Score::abstained(conversation, metric, NoVerdict::EmptyReply, words);
            return Ok(vec![row]);
        }
        Ok(vec![self.judge(conversation, metric, item).await?])
    }

    fn fingerprint(&self) -> Fingerprint {
        let metrics: serde_json::Map<String, Value> = self
            .metrics
            .iter()
            .map(|metric| (metric.id.clone(), hash(metric).into()))
            .collect();
        Fingerprint {
            name: "JudgeEvaluator",
            version: 1,
            settings: json!({
                "judge": self.judge.id(),
                "tries": self.tries,
                "prompts": self.prompts.hashes(&self.metrics),
                "metrics": metrics,
            }),
        }
    }
}

/// The SHA-256, in hexadecimal, of what of a metric decides its scores.
fn hash(metric: &Metric) -> String {
    let mut decides = json!([metric.metric_type, metric.definition, metric.examples]);
    if let (Some(verdict), Some(decides)) = (&metric.verdict, decides.as_array_mut()) {
        decides.push(json!(verdict));
    }
    hex(&Sha256::digest(decides.to_string()))
}
