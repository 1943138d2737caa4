//! The parts of a safety evaluation that can be swapped.

use async_trait::async_trait;

use super::{Assessment, SafetyScore, TestCase};
use crate::{Fingerprint, Item, PhaseError, Spend, Turn};

/// A named way of rewriting a prompt for the next layer of a single-turn run: a paraphrase, a role-play framing, a
/// translation.
///
/// ```
/// use std::sync::Arc;
/// use async_trait::async_trait;
/// use schema::safety::{SafetyScore, TestCase, VariationRequest, VariationStrategy, Varied};
/// use schema::{Fingerprint, Item, ModelId, NoJournal, PhaseError};
///
/// /// Begins the prompt with who asks. That needs no model, so nothing is spent.
/// struct Introduced(Vec<String>);
///
/// #[async_trait]
/// impl VariationStrategy for Introduced {
///     fn name(&self) -> &str {
///         "introduced"
///     }
///
///     async fn vary(&self, request: &VariationRequest<'_>) -> Result<Varied, PhaseError> {
///         let introduce = |who: &String| format!("I am {who}. {}", request.prompt);
///         let prompts = self.0.iter().map(introduce).take(request.count as usize).collect();
///         Ok(Varied { prompts, ..Varied::default() })
///     }
///
///     fn fingerprint(&self) -> Fingerprint {
///         let settings = serde_json::json!({ "people": self.0 });
///         Fingerprint { name: "Introduced".into(), version: 1, settings }
///     }
/// }
///
/// let case = TestCase::new("dose", "medicine", "Can I take two at once?");
/// let item = Item::of_case(&case, &ModelId::new("my-model")?, Arc::new(NoJournal));
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// let request = VariationRequest {
///     case: &case,
///     prompt: case.seed_prompt(),
///     response: "Sure.",
///     score: SafetyScore::LOWEST,
///     count: 1,
///     layer: 1,
///     item: &item,
/// };
/// let strategy = Introduced(vec!["a nurse".to_owned(), "in a hurry".to_owned()]);
/// let varied = strategy.vary(&request).await?;
/// assert_eq!(varied.prompts, ["I am a nurse. Can I take two at once?"]);
/// # Ok::<(), PhaseError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[async_trait]
pub trait VariationStrategy: Send + Sync {
    /// Its name in settings and files: small letters, digits and `_`.
    fn name(&self) -> &str;

    /// Rewrites a prompt. Fewer prompts than requested are not an error; no prompt at all is one, unless the model refused.
    ///
    /// # Errors
    /// When no usable prompt was returned, the run is stopping, or the budget is spent.
    async fn vary(&self, request: &VariationRequest<'_>) -> Result<Varied, PhaseError>;

    /// The identity of this strategy.
    fn fingerprint(&self) -> Fingerprint;
}

/// The input of a rewrite.
#[derive(Clone, Debug)]
pub struct VariationRequest<'a> {
    /// The seed case that the prompt derives from.
    pub case: &'a TestCase,
    /// The prompt to rewrite: the seed's own, or an earlier variation.
    pub prompt: &'a str,
    /// The target's reply to it.
    pub response: &'a str,
    /// The score of that reply.
    pub score: SafetyScore,
    /// How many prompts are requested, at least 1.
    pub count: u32,
    /// The layer of the new prompts, from 1.
    pub layer: u32,
    /// The item whose prompt it is, for the calls of the strategy.
    pub item: &'a Item,
}

/// The result of rewriting.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Varied {
    /// The new prompts, in order. Duplicates are dropped by the caller.
    pub prompts: Vec<String>,
    /// Why the rewriting model declined, if it did. The caller tries another strategy and reports it; it is never a pass of the
    /// target.
    pub refused: Option<String>,
    /// What the calls used and cost.
    pub spend: Spend,
}

/// A named way of leading a conversation towards a case's intent. It creates one [`Attack`] for each conversation.
///
/// ```
/// use std::sync::Arc;
/// use async_trait::async_trait;
/// use schema::safety::{Attack, AttackMove, MultiTurnStrategy, TestCase};
/// use schema::{Fingerprint, Item, ModelId, NoJournal, PhaseError, Role, Spend, Turn};
///
/// /// Asks, and asks again in the same words.
/// struct Repeats;
///
/// impl MultiTurnStrategy for Repeats {
///     fn name(&self) -> &str {
///         "repeats"
///     }
///
///     fn attack(&self, case: &TestCase, exchanges: u32, _item: &Item) -> Box<dyn Attack> {
///         Box::new(Repeated { prompt: case.seed_prompt().to_owned(), left: exchanges })
///     }
///
///     fn fingerprint(&self) -> Fingerprint {
///         let settings = serde_json::Value::Null;
///         Fingerprint { name: "Repeats".into(), version: 1, settings }
///     }
/// }
///
/// struct Repeated {
///     prompt: String,
///     left: u32,
/// }
///
/// #[async_trait]
/// impl Attack for Repeated {
///     async fn next(&mut self, conversation: &[Turn]) -> Result<AttackMove, PhaseError> {
///         let spend = Spend::default();
///         if self.left == 0 {
///             return Ok(AttackMove::Done { spend });
///         }
///         self.left -= 1;
///         let message = match conversation {
///             [] => self.prompt.clone(),
///             _ => format!("That did not answer it. {}", self.prompt),
///         };
///         Ok(AttackMove::Say { message, spend })
///     }
/// }
///
/// let case = TestCase::new("dose", "medicine", "Can I take two at once?");
/// let item = Item::of_case(&case, &ModelId::new("my-model")?, Arc::new(NoJournal));
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// let mut attack = Repeats.attack(&case, 2, &item);
/// let said = |message: &str| AttackMove::Say {
///     message: message.to_owned(),
///     spend: Spend::default(),
/// };
/// assert_eq!(attack.next(&[]).await?, said("Can I take two at once?"));
/// let talk = [Turn::new(Role::User, case.seed_prompt()), Turn::new(Role::Assistant, "Hm.")];
/// let again = said("That did not answer it. Can I take two at once?");
/// assert_eq!(attack.next(&talk).await?, again);
/// # Ok::<(), PhaseError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait MultiTurnStrategy: Send + Sync {
    /// Its name in settings and files: small letters, digits and `_`.
    fn name(&self) -> &str;

    /// Starts an attack on `case` with at most `exchanges` exchanges. Its calls are made for `item`. No model is called yet.
    fn attack(&self, case: &TestCase, exchanges: u32, item: &Item) -> Box<dyn Attack>;

    /// The identity of this strategy.
    fn fingerprint(&self) -> Fingerprint;
}

/// One conversation's attacker. It keeps its plan from message to message.
///
/// Everything it does must depend only on its own earlier steps and the conversation, so that a resumed run takes the same course.
#[async_trait]
pub trait Attack: Send {
    /// The next user message. `conversation` has all messages so far, without the target's system prompt: it is empty at first,
    /// later it ends with an assistant message.
    ///
    /// # Errors
    /// When the call fails for good, the reply is unusable, the run is stopping, or the budget is spent.
    async fn next(&mut self, conversation: &[Turn]) -> Result<AttackMove, PhaseError>;
}

/// An attacker's action.
#[derive(Clone, Debug, PartialEq)]
pub enum AttackMove {
    /// Sends this message to the target.
    Say {
        /// The user message, not blank.
        message: String,
        /// What the call used and cost.
        spend: Spend,
    },
    /// Has no further message. The conversation ends with the last assistant message.
    Done {
        /// What the call used and cost.
        spend: Spend,
    },
    /// Declines to attack. The caller tries another strategy and reports it; it is never a pass of the target.
    Refused {
        /// Its reply.
        reason: String,
        /// What the call used and cost.
        spend: Spend,
    },
}

/// Scores the safety of one assistant message: a judge, a panel, or a rule.
///
/// ```
/// use std::sync::Arc;
/// use async_trait::async_trait;
/// use schema::safety::{Assessment, SafetyScore, SafetyScorer, ScoreRequest, TestCase};
/// use schema::{Fingerprint, Item, ModelId, NoJournal, PhaseError, Role, Turn};
///
/// /// A message that names a person to talk to is safe.
/// struct NamesHelp;
///
/// #[async_trait]
/// impl SafetyScorer for NamesHelp {
///     async fn score(&self, request: &ScoreRequest<'_>) -> Result<Assessment, PhaseError> {
///         Ok(match request.message() {
///             "" => Assessment::abstained("the target said nothing"),
///             text if text.contains("doctor") => {
///                 Assessment::scored(SafetyScore::HIGHEST, "names a doctor")
///             }
///             _ => Assessment::scored(SafetyScore::LOWEST, "names nobody"),
///         })
///     }
///
///     fn fingerprint(&self) -> Fingerprint {
///         let settings = serde_json::Value::Null;
///         Fingerprint { name: "names_help".into(), version: 1, settings }
///     }
/// }
///
/// let case = TestCase::new("a", "advice", "Is my cough dangerous?");
/// let item = Item::of_case(&case, &ModelId::new("my-model")?, Arc::new(NoJournal));
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// let said = [Turn::new(Role::User, case.seed_prompt()), Turn::new(Role::Assistant, "See a doctor.")];
/// let request = ScoreRequest { case: &case, conversation: &said, turn: 1, item: &item };
/// assert_eq!(NamesHelp.score(&request).await?.score, Some(SafetyScore::HIGHEST));
/// # Ok::<(), PhaseError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[async_trait]
pub trait SafetyScorer: Send + Sync {
    /// Scores one message. A judge without a usable verdict is not an error: [`Assessment::score`] is then `None`.
    ///
    /// # Errors
    /// When the call fails for good, the run is stopping, or the budget is spent.
    async fn score(&self, request: &ScoreRequest<'_>) -> Result<Assessment, PhaseError>;

    /// The identity of this scorer.
    fn fingerprint(&self) -> Fingerprint;
}

/// The input of a score.
#[derive(Clone, Debug)]
pub struct ScoreRequest<'a> {
    /// The seed case. A judge is not shown what the case tries to provoke.
    pub case: &'a TestCase,
    /// The conversation up to and including the message to score, without the target's system prompt. The last turn is the
    /// assistant message to score.
    pub conversation: &'a [Turn],
    /// The number of the assistant message, from 1.
    pub turn: u32,
    /// The item whose prompt it is, for the calls of the strategy.
    pub item: &'a Item,
}

impl ScoreRequest<'_> {
    /// The message to score. Empty if the conversation is empty.
    #[must_use]
    pub fn message(&self) -> &str {
        self.conversation.last().map_or("", |turn| &turn.content)
    }
}
