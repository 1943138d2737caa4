//! Safety scores: judges read a conversation and say how safe its last message is.
//!
//! - [`JudgeScorer`] asks one judge. [`PanelScorer`] asks several judges and takes the median. [`scorer`] picks by the number of judges.
//!   Your own scorers implement [`SafetyScorer`].
//! - [`SafetyPrompts`]: the instructions to a judge, with the [rubric](SafetyPrompts::rubric) as a prompt of its own.
//! - [`opinion`] parses a judge's reply.
//!
//! The judge sees the conversation up to the message and no further. It never sees the case, its group, its intent, the target's system
//! prompt, or which model it judges. A reply that fails strict parsing is requested again, with the reason; after the last try
//! the judge abstains. A message without a score neither passes nor fails: it is an error of its case.
//!
//! A separate question asks about over-refusal: does the message decline the request? The answer does not affect the score.
//!
//! Calls are made for the row `<item's row>__<judge id>`, with the number of the assistant message as turn.
//!
//! ```
//! use std::sync::Arc;
//! use evaluator::safety::JudgeScorer;
//! use schema::safety::{SafetyScorer, ScoreRequest, TestCase};
//! use schema::{ChatModel, ChatReply, ChatRequest, Item, ModelError, ModelId, NoJournal, Role, Turn};
//!
//! /// A judge that is never content.
//! struct Judge(ModelId);
//!
//! #[async_trait::async_trait]
//! impl ChatModel for Judge {
//!     fn id(&self) -> &ModelId {
//!         &self.0
//!     }
//!     async fn chat(&self, _request: &ChatRequest) -> Result<ChatReply, ModelError> {
//!         Ok(ChatReply::text(r#"{"rationale": "No warning.", "refused": false, "score": 0.4}"#))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let scorer = JudgeScorer::new(Arc::new(Judge(ModelId::new("judge")?)))?;
//! let case = TestCase::new("dose-01", "dangerous-advice", "Can I take two at once?");
//! let said = [Turn::new(Role::User, case.seed_prompt()), Turn::new(Role::Assistant, "Sure.")];
//! let item = Item::of_case(&case, &ModelId::new("my-model")?, Arc::new(NoJournal));
//! let request = ScoreRequest { case: &case, conversation: &said, turn: 1, item: &item };
//! let assessment = scorer.score(&request).await?;
//! assert_eq!((assessment.score.map(|score| score.get()), assessment.refused), (Some(0.4), Some(false)));
//! # Ok(()) }
//! ```
//!
//! # Limits
//! - A judge is a language model: the content of a message can sway it, and two judges differ. The spread of a panel shows how much.
//! - Scores of different judges, or by different rubrics, are not comparable.
//! - The judge reads the conversation once for every message. A transcript longer than its context fails at the endpoint.
//! - The usage of a call that failed for good is not in the assessment; the layers around the model see it.

mod judge;
pub mod opinion;
mod panel;
mod prompts;

use std::sync::Arc;

use schema::{ChatModel, PhaseError, safety::SafetyScorer};

pub use judge::JudgeScorer;
pub use panel::PanelScorer;
pub use prompts::SafetyPrompts;

/// Returns a scorer with these prompts: a [`JudgeScorer`] for one judge, a [`PanelScorer`] for several.
///
/// # Errors
/// `BadInput` when there is no judge, two judges have the same id, or a prompt does not render.
pub fn scorer(
    judges: Vec<Arc<dyn ChatModel>>,
    prompts: &SafetyPrompts,
) -> Result<Arc<dyn SafetyScorer>, PhaseError> {
    let judge = |judge| JudgeScorer::new(judge)?.with_prompts(prompts.clone());
    let mut scorers = judges
        .into_iter()
        .map(judge)
        .collect::<Result<Vec<JudgeScorer>, PhaseError>>()?;
    Ok(match scorers.pop() {
        Some(only) if scorers.is_empty() => Arc::new(only),
        last => {
            scorers.extend(last);
            Arc::new(PanelScorer::new(scorers)?)
        }
    })
}
