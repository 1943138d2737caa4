//! Tools that keep conversations: a program that answers the calls of one in one process.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use llm_client::Live;
use schema::{CallContext, Spend};
use serde_json::{Value, json};

use crate::{error::ProcessError, phase::Part, pool::Request, target::session_step};

/// An open conversation.
#[derive(Debug)]
struct Open {
    live: Live,
    /// The number of the last call that was answered.
    call: u64,
}

/// A row and its sample; an attempt has a row of its own.
type Key = (Arc<str>, u32);

/// The open conversations of tools.
#[derive(Debug, Default)]
pub(crate) struct ToolSessions(Mutex<HashMap<Key, Open>>);

impl ToolSessions {
    /// The answer to the call that `params` describe. A conversation that is not open, or whose call was answered and could not be used, is
    /// opened with the calls before.
    pub(crate) async fn answer(
        &self,
        part: &Part,
        params: &Value,
        context: &CallContext,
    ) -> Result<(Value, Spend), ProcessError> {
        let Part { pool, host } = part;
        let call = params.get("call").and_then(Value::as_u64).unwrap_or(1);
        let live = match self.take(context) {
            Some(open) if open.call < call => open.live,
            other => {
                if let Some(open) = other {
                    close(part, &open.live, "begun again", context).await;
                }
                open(part, params, context).await?
            }
        };
        let mut sent = params.clone();
        sent["conversation"] = live.conversation.as_str().into();
        if !live.session.is_null() {
            sent["session"] = live.session.clone();
        }
        let request = Request {
            conversation: Some(live.conversation.clone()),
            ..Request::new("answer", sent)
        };
        match host.request(pool, request, context, None).await {
            Ok(answered) => {
                self.all().insert(key(context), Open { live, call });
                Ok(answered)
            }
            Err(error) => {
                close(part, &live, "failed", context).await;
                Err(error)
            }
        }
    }

    /// Closes the conversation of `context`, if it is open.
    pub(crate) async fn end(&self, part: &Part, context: &CallContext) {
        if let Some(open) = self.take(context) {
            close(part, &open.live, "done", context).await;
        }
    }

    fn take(&self, context: &CallContext) -> Option<Open> {
        self.all().remove(&key(context))
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Key, Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(context: &CallContext) -> Key {
    (Arc::clone(&context.row), context.sample)
}

async fn open(part: &Part, params: &Value, context: &CallContext) -> Result<Live, ProcessError> {
    let mut live = Live::new();
    let opening = json!({
        "conversation": live.conversation,
        "world_state": params.get("world_state"),
        "calls": params.get("calls"),
    });
    let opened = session_step(&part.pool, "open", &live.conversation, opening, context).await?;
    live.session = opened.get("session").cloned().unwrap_or_default();
    Ok(live)
}

/// Closes a conversation, as far as that succeeds.
async fn close(part: &Part, live: &Live, reason: &str, context: &CallContext) {
    let conversation = live.conversation.as_str();
    let params = json!({"conversation": conversation, "session": live.session, "reason": reason});
    let _closed = session_step(&part.pool, "close", conversation, params, context).await;
}
