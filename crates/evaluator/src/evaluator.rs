//! The evaluator: what it is made of, and its place among the phases.

use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, Conversation, Evaluator, Fingerprint,
    FinishReason, Journal, Metric,
    ModelErrorKind::{Cancelled, OverBudget},
    NoJournal, PhaseError, PhaseErrorKind, Purpose, Score,
    reply::{AskFailed, Asked, Unusable, advice, ask},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    Prompts,
    journal::ItemLog,
    prompts::bad_prompt,
    transcript::has_reply,
    verdict::{self, Verdict},
};

/// Asks one judge about each conversation: is the behaviour of the scenario's metric present?
pub struct JudgeEvaluator {
    judge: Arc<dyn ChatModel>,
    metrics: Vec<Metric>,
    prompts: Prompts,
    tries: u32,
    journal: Arc<dyn Journal>,
}

/// A judge's verdict, or why it gave none and would give none if asked again.
type Answer = Result<Verdict, String>;

impl JudgeEvaluator {
    /// How often a judge is asked for one verdict.
    pub const DEFAULT_TRIES: u32 = 3;

    /// An evaluator with the shipped prompts, three tries and no journal. It judges scenarios of these metrics.
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
            journal: Arc::new(NoJournal),
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

    /// Tells `journal` what was judged.
    #[must_use]
    pub fn with_journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = journal;
        self
    }

    fn metric_of(&self, conversation: &Conversation) -> Result<&Metric, PhaseError> {
        let id = &conversation.scenario.metric_id;
        self.metrics
            .iter()
            .find(|metric| metric.id == *id)
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
        log: &ItemLog<'_>,
    ) -> Result<Score, PhaseError> {
        let request = self.request(conversation, metric, log)?;
        let started = Instant::now();
        let (mut score, spend) = match ask(&*self.judge, request, self.tries, read).await {
            Ok(Asked { answer, spend }) => {
                let verdict = answer.unwrap_or_else(|unusable| Err(no_verdict(&unusable)));
                let score = match verdict {
                    Ok(verdict) => {
                        let present = verdict.present;
                        let score =
                            Score::judged(conversation, metric, present, &*verdict.justification);
                        log.judged(&verdict, &score);
                        score
                    }
                    Err(reason) => {
                        tracing::debug!(
                            conversation = conversation.conv_id,
                            reason,
                            "judge abstained"
                        );
                        log.abstained(&reason);
                        Score::abstained(conversation, metric, reason)
                    }
                };
                (score, spend)
            }
            Err(AskFailed { error, spend }) => {
                if matches!(error.kind(), Cancelled | OverBudget) {
                    let what = format!("judge {} on {}", self.judge.id(), conversation.conv_id);
                    return Err(PhaseError::from_model(what, error));
                }
                log.excepted(&error, started.elapsed());
                let message = format!("judge {}: {error}", self.judge.id());
                (Score::failed(conversation, metric, message), spend)
            }
        };
        score.usage = Some(spend.to_phase_cost());
        Ok(score)
    }

    fn request(
        &self,
        conversation: &Conversation,
        metric: &Metric,
        log: &ItemLog<'_>,
    ) -> Result<ChatRequest, PhaseError> {
        let target = &conversation.target.id;
        let conversation_row = Conversation::make_id(&conversation.scenario.id, target, 0);
        let row = format!("{conversation_row}__{}", metric.id);
        let messages = self.prompts.messages(metric, &conversation.transcript)?;
        let context = CallContext {
            sample: conversation.sample,
            item: Some(Arc::clone(&log.item)),
            ..CallContext::new(Purpose::Judge, row)
        };
        Ok(ChatRequest {
            response_format: verdict::response_format(),
            ..ChatRequest::new(messages, context)
        })
    }
}

/// Reads a judge's reply. One that a filter stopped would be stopped again, so it is not asked for again.
fn read(reply: &ChatReply) -> Result<Answer, String> {
    match verdict::parse(&reply.content) {
        Ok(verdict) => Ok(Ok(verdict)),
        Err(_) if reply.finish == FinishReason::ContentFilter => Ok(Err(
            "judge gave no verdict: the provider's filter stopped its reply".to_owned(),
        )),
        Err(reason) if reply.finish == FinishReason::Length => {
            Err(format!("{reason} (the token limit cut the reply off)"))
        }
        Err(reason) => Err(reason),
    }
}

fn no_verdict(unusable: &Unusable) -> String {
    format!(
        "judge gave no usable verdict in {} tries; the last one: {}{}",
        unusable.asked,
        unusable.reason,
        advice(unusable.cut_off)
    )
}

fn bad_input(message: String) -> PhaseError {
    PhaseError::new(PhaseErrorKind::BadInput, message)
}

#[async_trait]
impl Evaluator for JudgeEvaluator {
    async fn evaluate(&self, conversation: &Conversation) -> Result<Vec<Score>, PhaseError> {
        let metric = self.metric_of(conversation)?;
        let log = ItemLog::new(&*self.journal, self.judge.id(), conversation, metric);
        if let Some(error) = &conversation.error {
            let reason = format!("the conversation failed: {error}");
            return Ok(vec![Score::failed(conversation, metric, reason)]);
        }
        if !has_reply(&conversation.transcript) {
            let reason = "the conversation has no reply of the target".to_owned();
            return Ok(vec![Score::abstained(conversation, metric, reason)]);
        }
        Ok(vec![self.judge(conversation, metric, &log).await?])
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
                "prompts": self.prompts.hashes(),
                "metrics": metrics,
            }),
        }
    }
}

/// The SHA-256, in hexadecimal, of what of a metric decides its scores.
fn hash(metric: &Metric) -> String {
    let decides = json!([metric.metric_type, metric.definition, metric.examples]);
    Sha256::digest(decides.to_string())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
