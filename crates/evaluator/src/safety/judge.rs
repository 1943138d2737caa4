//! One judge.

use std::sync::Arc;

use async_trait::async_trait;
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, Fingerprint, FinishReason, ModelId, NoVerdict,
    PhaseError, Purpose, Role, Turn,
    reply::{Asked, advice, ask},
    safety::{Assessment, SafetyScorer, ScoreRequest},
    setting_keys,
    text::is_blank,
};
use serde_json::json;

use super::{
    SafetyPrompts,
    opinion::{self, Opinion},
};
use crate::prompts::bad_prompt;

/// Asks one judge how safe a message is. See the [module](super) for an example.
pub struct JudgeScorer {
    judge: Arc<dyn ChatModel>,
    prompts: SafetyPrompts,
    tries: u32,
}

impl JudgeScorer {
    /// How often a judge is called for one score, at most.
    pub const DEFAULT_TRIES: u32 = 3;

    /// Creates a scorer with the newest shipped prompts and three tries.
    ///
    /// # Errors
    /// Never for a released version: the shipped templates are tested.
    pub fn new(judge: Arc<dyn ChatModel>) -> Result<Self, PhaseError> {
        Ok(Self {
            judge,
            prompts: SafetyPrompts::shipped().map_err(bad_prompt)?,
            tries: Self::DEFAULT_TRIES,
        })
    }

    /// Replaces the prompts.
    ///
    /// # Errors
    /// `BadInput` when a prompt does not render. The error names the prompt and the reason.
    pub fn with_prompts(mut self, prompts: SafetyPrompts) -> Result<Self, PhaseError> {
        prompts.messages(&[Turn::new(Role::Assistant, "x")])?;
        self.prompts = prompts;
        Ok(self)
    }

    /// Asks up to `tries` times for a usable score; 0 counts as 1.
    #[must_use]
    pub fn with_tries(mut self, tries: u32) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// The judge's id.
    #[must_use]
    pub fn id(&self) -> &ModelId {
        self.judge.id()
    }

    fn request(&self, request: &ScoreRequest<'_>) -> Result<ChatRequest, PhaseError> {
        let row = format!("{}__{}", request.item.row(), self.id());
        let context = CallContext {
            row: row.into(),
            ..request.item.call(Purpose::Judge, request.turn)
        };
        Ok(ChatRequest {
            response_format: opinion::response_format(self.prompts.may_not_tell),
            ..ChatRequest::new(self.prompts.messages(request.conversation)?, context)
        })
    }
}

/// A judge's opinion, or why it gave none and would give none if asked again.
type Answer = Result<Opinion, (NoVerdict, String)>;

/// Parses a judge's reply. A reply that a filter stopped is not requested again, because the filter would stop it again.
fn read(reply: &ChatReply, may_not_tell: bool) -> Result<Answer, String> {
    match opinion::parse(&reply.content, may_not_tell) {
        Ok(opinion) => Ok(Ok(opinion)),
        Err(_) if reply.finish == FinishReason::ContentFilter => Ok(Err((
            NoVerdict::ProviderRefused,
            "judge gave no score: the provider's filter stopped its reply".to_owned(),
        ))),
        Err(reason) if reply.finish == FinishReason::Length => {
            Err(format!("{reason} (the token limit cut the reply off)"))
        }
        Err(reason) => Err(reason),
    }
}

/// The reason if the conversation has no message to judge.
fn no_message(request: &ScoreRequest<'_>) -> Option<&'static str> {
    match request.conversation.last() {
        Some(last) if last.role != Role::Assistant => {
            Some("the conversation does not end on a message of the target")
        }
        Some(last) if !is_blank(&last.content) => None,
        _ => Some("the target said nothing"),
    }
}

#[async_trait]
impl SafetyScorer for JudgeScorer {
    async fn score(&self, request: &ScoreRequest<'_>) -> Result<Assessment, PhaseError> {
        if let Some(reason) = no_message(request) {
            return Ok(Assessment::abstained(reason));
        }
        let read = |reply: &ChatReply| read(reply, self.prompts.may_not_tell);
        let asked = ask(&*self.judge, self.request(request)?, self.tries, read).await;
        let Asked { answer, spend } = asked.map_err(|failed| {
            let row = Arc::clone(request.item.row());
            PhaseError::from(failed.error).on_row(format!("judge {}", self.id()), row)
        })?;
        let answer = answer.unwrap_or_else(|unusable| {
            let reason = format!(
                "judge gave no usable score in {} tries; the last one: {}{}",
                unusable.asked,
                unusable.reason,
                advice(unusable.cut_off)
            );
            Err((NoVerdict::JudgeUnusable, reason))
        });
        let assessment = match answer {
            Ok(Opinion {
                score,
                refused,
                rationale,
            }) => {
                let assessment = match score {
                    Some(score) => Assessment::scored(score, rationale),
                    None => Assessment {
                        no_score: Some(NoVerdict::JudgeCannotTell),
                        ..Assessment::abstained(format!("the judge cannot tell: {rationale}"))
                    },
                };
                Assessment {
                    refused: score.map(|_| refused),
                    ..assessment
                }
            }
            Err((why, reason)) => {
                tracing::debug!(row = %request.item.row(), turn = request.turn, reason, "judge abstained");
                Assessment {
                    no_score: Some(why),
                    ..Assessment::abstained(reason)
                }
            }
        };
        Ok(Assessment {
            spend,
            ..assessment
        })
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint {
            name: "JudgeScorer".into(),
            version: match self.prompts.may_not_tell {
                false => SafetyPrompts::FIRST,
                true => SafetyPrompts::LATEST,
            },
            settings: json!({
                (setting_keys::JUDGE): self.id(),
                "tries": self.tries,
                (setting_keys::PROMPTS): self.prompts.hashes(),
            }),
        }
    }
}
