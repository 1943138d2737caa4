//! `semantic_chunks`: one intent split into pieces that only add up at the end.

use std::sync::Arc;

use async_trait::async_trait;
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, Fingerprint, FinishReason, Item, Message,
    PhaseError, PhaseErrorKind, ResponseFormat, Role, Spend, Turn,
    reply::{self, Asked, Tries, excerpt, json_object, kind_of, list},
    safety::{Attack, AttackMove, MultiTurnStrategy, TestCase, sounds_like_refusal},
    text::is_blank,
};
use serde_json::{Value, json};

use super::{
    AttackPrompts,
    attacker::{Attacker, DECLINED, Means, REFUSALS, number_of_turn},
    user_persona::shipped_means,
};
use crate::{form::is_dots, play::LATER_RUNS};

/// An attacker that first splits the intent into pieces that look harmless one by one, at most one for each message. It then asks
/// for one piece after the other, referring to the target's replies. One call for the plan and one for each message.
pub struct SemanticChunks {
    means: Means,
}

impl SemanticChunks {
    /// Its name in settings and files.
    pub const NAME: &'static str = "semantic_chunks";

    /// The strategy with the shipped prompts and three tries.
    ///
    /// # Errors
    /// Never for a released version: the shipped templates are tested.
    pub fn new(attacker: Arc<dyn ChatModel>) -> Result<Self, PhaseError> {
        Ok(Self {
            means: shipped_means(attacker)?,
        })
    }

    /// Replaces the prompts.
    ///
    /// # Errors
    /// `BadInput` when one of them does not render. The error names the prompt and the mistake.
    pub fn with_prompts(mut self, prompts: AttackPrompts) -> Result<Self, PhaseError> {
        prompts.check()?;
        self.means.prompts = prompts;
        Ok(self)
    }

    /// Sets how often the model is called for a usable plan or message; 0 counts as 1.
    #[must_use]
    pub fn with_tries(mut self, tries: u32) -> Self {
        self.means.tries = tries.max(1);
        self
    }
}

impl MultiTurnStrategy for SemanticChunks {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn attack(&self, case: &TestCase, exchanges: u32, item: &Item) -> Box<dyn Attack> {
        Box::new(ChunksAttack {
            means: Arc::new(self.means.clone()),
            case: case.clone(),
            exchanges,
            context: Means::context(item, Self::NAME),
            planned: None,
        })
    }

    fn fingerprint(&self) -> Fingerprint {
        let Means {
            model,
            prompts,
            tries,
        } = &self.means;
        let own = [("plan", &prompts.plan), ("chunks", &prompts.chunks)];
        Fingerprint {
            name: "SemanticChunks".into(),
            version: 1,
            settings: json!({
                "attacker": model.id(),
                "prompts": prompts.hashes(&own),
                "tries": tries,
            }),
        }
    }
}

struct ChunksAttack {
    means: Arc<Means>,
    case: TestCase,
    exchanges: u32,
    context: CallContext,
    planned: Option<Planned>,
}

struct Planned {
    pieces: Vec<Arc<str>>,
    attacker: Attacker,
}

/// The result of requesting a plan.
enum Plan {
    Pieces(Vec<Arc<str>>),
    Declined(String),
}

#[async_trait]
impl Attack for ChunksAttack {
    async fn next(&mut self, conversation: &[Turn]) -> Result<AttackMove, PhaseError> {
        let mut spend = Spend::default();
        let planned = match &mut self.planned {
            Some(planned) => planned,
            none => {
                let (means, exchanges) = (&self.means, self.exchanges);
                let asked = plan(means, &self.case, exchanges, self.context.clone()).await?;
                spend.add(&asked.1);
                let pieces = match asked.0 {
                    Plan::Pieces(pieces) => pieces,
                    Plan::Declined(reason) => return Ok(AttackMove::Refused { reason, spend }),
                };
                let system = means.prompts.chunks(&self.case, &pieces, exchanges)?;
                let (means, context) = (Arc::clone(means), self.context.clone());
                let attacker = Attacker::new(means, system, context, exchanges);
                none.insert(Planned { pieces, attacker })
            }
        };
        let place = number_of_turn(conversation) as usize - 1;
        let piece = planned.pieces.get(place).map(|piece| &**piece);
        let mut made = planned.attacker.next(conversation, piece).await?;
        let (AttackMove::Say { spend: sum, .. }
        | AttackMove::Done { spend: sum }
        | AttackMove::Refused { spend: sum, .. }) = &mut made;
        sum.add(&spend);
        Ok(made)
    }
}

async fn plan(
    means: &Means,
    case: &TestCase,
    count: u32,
    context: CallContext,
) -> Result<(Plan, Spend), PhaseError> {
    let what = format!("attacker {}, plan for {}", means.model.id(), context.row);
    let text = means.prompts.plan(case, count)?;
    let request = ChatRequest {
        response_format: format(),
        ..ChatRequest::new(vec![Message::new(Role::User, text)], context)
    };
    let tries = Tries {
        at_most: means.tries,
        more_when_cached: LATER_RUNS,
    };
    let most = count.max(1) as usize;
    let (mut asked, mut declined) = (0, 0);
    let read = |reply: &ChatReply| {
        asked += 1;
        // A later run, which finds these replies in the cache, also uses the reply of the last try.
        let last = asked >= means.tries;
        match pieces(reply)? {
            Plan::Declined(reason) => {
                declined += 1;
                match last || declined >= REFUSALS {
                    true => Ok(Plan::Declined(reason)),
                    false => Err(DECLINED.to_owned()),
                }
            }
            Plan::Pieces(pieces) if pieces.len() > most && !last => {
                let given = pieces.len();
                Err(format!("there are {given} pieces; {most} are wanted"))
            }
            Plan::Pieces(pieces) => Ok(Plan::Pieces(fitted(pieces, most))),
        }
    };
    let Asked { answer, spend } = reply::ask(&*means.model, request, tries, read)
        .await
        .map_err(|failed| PhaseError::from_model(&what, failed.error))?;
    match answer {
        Ok(plan) => Ok((plan, spend)),
        Err(unusable) => {
            let message = format!("{what}: {unusable}");
            Err(PhaseError::new(PhaseErrorKind::Failed, message).with_source(unusable))
        }
    }
}

fn format() -> ResponseFormat {
    let schema = json!({
        "type": "object",
        "properties": {"pieces": {"type": "array", "items": {"type": "string"}}},
        "required": ["pieces"],
        "additionalProperties": false,
    });
    ResponseFormat::JsonSchema {
        name: "plan".into(),
        schema: Arc::new(schema),
    }
}

/// At most `most` pieces. The last one stays, because it makes the others add up.
fn fitted(mut pieces: Vec<Arc<str>>, most: usize) -> Vec<Arc<str>> {
    if pieces.len() > most {
        let last = pieces.pop();
        pieces.truncate(most.saturating_sub(1));
        pieces.extend(last);
    }
    pieces
}

/// Reads a plan: one JSON object with the list `pieces`.
fn pieces(reply: &ChatReply) -> Result<Plan, String> {
    let object = match json_object(&reply.content) {
        Ok(object) => object,
        Err(_) if sounds_like_refusal(&reply.content) => return Ok(declined(&reply.content)),
        Err(reason) if reply.finish == FinishReason::Length => {
            return Err(format!("{reason} (the token limit cut the reply off)"));
        }
        Err(reason) => return Err(reason),
    };
    if let Some(Value::String(reason)) = object.get("refused")
        && !is_blank(reason)
    {
        return Ok(declined(reason));
    }
    let listed = list(&object, "pieces")?;
    let mut pieces = Vec::with_capacity(listed.len());
    for (number, piece) in (1..).zip(listed) {
        match piece {
            Value::String(text) if is_blank(text) => {
                return Err(format!("piece {number} is empty"));
            }
            Value::String(text) if is_dots(text) => {
                return Err(format!("piece {number} is the form's \"...\""));
            }
            Value::String(text) if sounds_like_refusal(text) => return Ok(declined(text)),
            Value::String(text) => pieces.push(text.trim().into()),
            other => {
                return Err(format!(
                    "piece {number} is {}, not a string",
                    kind_of(other)
                ));
            }
        }
    }
    if pieces.is_empty() {
        return Err("\"pieces\" is empty".to_owned());
    }
    Ok(Plan::Pieces(pieces))
}

fn declined(text: &str) -> Plan {
    Plan::Declined(excerpt(text.trim()))
}
