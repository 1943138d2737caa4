//! One conversation between an attacker and the target.

use std::sync::Arc;

use schema::{
    Item, PhaseError, Role, Spend, Turn,
    safety::{Attack, AttackMove, Stage},
};

use super::Target;

/// One conversation, exchange by exchange.
pub struct Dialogue {
    target: Arc<Target>,
    attack: Box<dyn Attack>,
    exchanges: u32,
    item: Item,
    held: u32,
    turns: Vec<Turn>,
    spend: Spend,
}

/// The result of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exchanged {
    /// The attacker spoke and the target answered.
    Replied,
    /// The exchanges are used up, or the attacker has nothing more to say. No message was added.
    Over,
    /// The attacker declines. No message was added. This does not count as a pass of the target.
    AttackerRefused {
        /// What it said.
        reason: String,
    },
    /// The attacker spoke and the target's answer was empty. The empty reply is in the conversation.
    NothingSaid {
        /// What is known about the cause.
        reason: String,
    },
}

/// Why a conversation broke off: a call failed for good, the run is stopping, or the budget is spent.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Broken {
    /// The failed call: [`Stage::Attacker`] or [`Stage::Target`].
    pub stage: Stage,
    /// What went wrong.
    #[source]
    pub error: PhaseError,
}

impl Dialogue {
    /// A conversation of `exchanges` exchanges at most, without messages yet. The target's calls are made for `item`.
    #[must_use]
    pub fn new(target: Arc<Target>, attack: Box<dyn Attack>, exchanges: u32, item: Item) -> Self {
        Self {
            target,
            attack,
            exchanges,
            item,
            held: 0,
            turns: Vec::new(),
            spend: Spend::default(),
        }
    }

    /// Runs one exchange: a message of the attacker and the target's reply.
    ///
    /// # Errors
    /// When a call fails. Earlier messages stay in the conversation; after a failed call of the target, so does the attacker's
    /// message.
    pub async fn exchange(&mut self) -> Result<Exchanged, Broken> {
        if self.held >= self.exchanges {
            return Ok(Exchanged::Over);
        }
        let broken = |stage| move |error| Broken { stage, error };
        let (message, spend) = match self.attack.next(&self.turns).await {
            Ok(AttackMove::Say { message, spend }) => (message, spend),
            Ok(AttackMove::Done { spend }) => {
                self.spend.add(&spend);
                self.held = self.exchanges;
                return Ok(Exchanged::Over);
            }
            Ok(AttackMove::Refused { reason, spend }) => {
                self.spend.add(&spend);
                self.held = self.exchanges;
                return Ok(Exchanged::AttackerRefused { reason });
            }
            Err(error) => return Err(broken(Stage::Attacker)(error)),
        };
        self.spend.add(&spend);
        self.turns.push(Turn::new(Role::User, message));
        let reply = self
            .target
            .reply(&self.turns, &self.item, self.exchanges)
            .await
            .map_err(broken(Stage::Target))?;
        self.spend.add(&reply.spend);
        self.held += 1;
        let nothing = reply.nothing_said();
        self.turns.push(reply.turn);
        Ok(match nothing {
            Some(reason) => {
                self.held = self.exchanges;
                Exchanged::NothingSaid { reason }
            }
            None => Exchanged::Replied,
        })
    }

    /// The messages so far, without the target's system prompt.
    #[must_use]
    pub fn conversation(&self) -> &[Turn] {
        &self.turns
    }

    /// What the calls so far used and cost.
    #[must_use]
    pub fn spend(&self) -> &Spend {
        &self.spend
    }

    /// Returns the messages, and what they used and cost.
    #[must_use]
    pub fn into_parts(self) -> (Vec<Turn>, Spend) {
        (self.turns, self.spend)
    }
}
