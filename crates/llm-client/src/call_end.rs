//! How a call ended, in a form that another process reads.

use schema::{ChatReply, ModelError, ModelErrorKind, Spend, without_attempts};
use serde::{Deserialize, Serialize};

use crate::{CacheKey, RoutedCall, StoredReply};

/// How a call ended that was made in another process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallEnd {
    /// The key of its reply, in hexadecimal.
    key: String,
    /// The reply, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply: Option<StoredReply>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<FailedCall>,
}

/// The parts of a [`ModelError`].
#[derive(Clone, Debug, Serialize, Deserialize)]
struct FailedCall {
    kind: String,
    message: String,
    attempts: u32,
    is_refusal: bool,
    spend: Spend,
}

impl CallEnd {
    /// The end of a call whose reply is stored under `key`.
    #[must_use]
    pub fn replied(key: CacheKey, reply: StoredReply) -> Self {
        Self {
            key: format!("{key:?}"),
            reply: Some(reply),
            failure: None,
        }
    }

    /// The end of `call`.
    #[must_use]
    pub fn of(call: &RoutedCall<'_>, result: &Result<ChatReply, ModelError>) -> Self {
        let failure = result.as_ref().err().map(|error| FailedCall {
            kind: error.kind().as_str().to_owned(),
            message: without_attempts(&error.to_string()).to_owned(),
            attempts: error.attempts(),
            is_refusal: error.is_refusal(),
            spend: *error.spend(),
        });
        Self {
            key: format!("{:?}", call.key()),
            reply: result.as_ref().ok().map(|reply| call.stored(reply)),
            failure,
        }
    }

    /// The key of its reply; `None` for one that is damaged.
    #[must_use]
    pub fn key(&self) -> Option<CacheKey> {
        CacheKey::from_hex(&self.key)
    }

    /// The reply, if there is one.
    #[must_use]
    pub fn reply(&self) -> Option<&StoredReply> {
        self.reply.as_ref()
    }

    /// The result of `call`, which is this one. `None` if the reply cannot be read.
    #[must_use]
    pub fn into_result(self, call: &RoutedCall<'_>) -> Option<Result<ChatReply, ModelError>> {
        if let Some(reply) = self.reply {
            return call.reply(reply).map(Ok);
        }
        let failed = self.failure?;
        let kind = ModelErrorKind::of(&failed.kind).unwrap_or(ModelErrorKind::Permanent);
        let error = ModelError::new(kind, failed.message)
            .with_attempts(failed.attempts)
            .with_spend(failed.spend);
        Some(Err(match failed.is_refusal {
            true => error.refused_for_content(),
            false => error,
        }))
    }

    /// What the call used and cost.
    #[must_use]
    pub fn spend(&self) -> Spend {
        let mut spend = Spend::default();
        if let Some(reply) = &self.reply {
            spend.add(&reply.failed_attempts);
            if let Some(body) = &reply.body {
                spend.add(&Spend::of_call(body.usage, body.cost));
            }
        }
        if let Some(failed) = &self.failure {
            spend.add(&failed.spend);
        }
        spend
    }
}
