//! Who speaks in the samples of a log with model roles.
//!
//! Programs that audit a model (Petri, for one) give models roles: an auditor talks to the target, and a judge scores. The messages of
//! a sample are then the auditor's; the target's conversation is in its calls, which are events.

use std::{collections::HashMap, collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};
use serde_json::Value;

use super::{message::ChatMessage, sample::Output};

/// The role whose model is under test.
pub(super) const TARGET: &str = "target";

/// Where the conversations of a log are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    /// In the messages of its samples: the log has one model.
    Model,
    /// In the messages of its samples, unless one of the log's roles said them.
    ModelAmongRoles,
    /// In the calls of the role `target`.
    Target,
}

/// The calls of models in the events of a sample. Only the target's last one is held: its messages are the whole conversation.
#[derive(Debug, Default)]
pub(super) struct Calls {
    last: Option<TargetCall>,
    /// The ids of the target's replies.
    replies: HashSet<String>,
    /// The roles that replied, by the id of the reply.
    roles: HashMap<String, String>,
}

/// A call of the target that was answered.
#[derive(Debug)]
struct TargetCall {
    input: Vec<ChatMessage>,
    /// In place of `input`: ranges in the sample's pool of messages.
    refs: Vec<(usize, usize)>,
    output: Output,
}

/// The messages that events refer to.
#[derive(Debug, Default, Deserialize)]
pub(super) struct EventsData {
    #[serde(default)]
    messages: Vec<ChatMessage>,
}

/// The conversation of the target in a sample.
pub(super) struct TargetConversation {
    pub(super) messages: Vec<ChatMessage>,
    /// The last reply, which says why it ended.
    pub(super) output: Output,
    /// Replies that are not among the messages.
    pub(super) taken_back: u64,
}

impl Calls {
    /// The role that said one of `messages`, if any did.
    pub(super) fn role_in(&self, messages: &[ChatMessage]) -> Option<&str> {
        let mut ids = messages.iter().filter_map(|message| message.id.as_deref());
        ids.find_map(|id| self.roles.get(id)).map(String::as_str)
    }

    /// The conversation of the target: its last call with its reply. `None` if it never replied.
    ///
    /// # Errors
    /// When the call refers to messages that the sample does not have.
    pub(super) fn target(self, pool: &EventsData) -> Result<Option<TargetConversation>, String> {
        let Some(last) = self.last else {
            return Ok(None);
        };
        let mut messages = last.input;
        for (from, to) in last.refs {
            let range = pool.messages.get(from..to).ok_or_else(|| {
                format!(
                    "a call of the target has the messages {from} to {to} of {}",
                    pool.messages.len()
                )
            })?;
            messages.extend_from_slice(range);
        }
        messages.extend(last.output.message().cloned());
        let there: HashSet<&str> = messages
            .iter()
            .filter_map(|message| message.id.as_deref())
            .collect();
        let replies = self.replies.iter();
        let taken_back = replies.filter(|id| !there.contains(id.as_str())).count() as u64;
        Ok(Some(TargetConversation {
            messages,
            output: last.output,
            taken_back,
        }))
    }

    /// Takes an event: a call of a model that was answered.
    fn take(&mut self, event: Event) -> Result<(), serde_json::Error> {
        let role = event.role.as_str().filter(|role| !role.is_empty());
        let is_call = event.event == "model" && event.error.is_null();
        let (true, Some(role)) = (is_call, role) else {
            return Ok(());
        };
        let output = Option::<Output>::deserialize(event.output)?.unwrap_or_default();
        let Some(reply) = output.message() else {
            return Ok(());
        };
        if let Some(id) = &reply.id {
            self.roles.insert(id.clone(), role.to_owned());
        }
        if role == TARGET {
            self.replies.extend(reply.id.clone());
            self.last = Some(TargetCall {
                input: Option::deserialize(event.input)?.unwrap_or_default(),
                refs: Option::deserialize(event.input_refs)?.unwrap_or_default(),
                output,
            });
        }
        Ok(())
    }
}

/// An event. Keys of other kinds of events have other shapes.
#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    event: Value,
    #[serde(default)]
    role: Value,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    input_refs: Value,
    #[serde(default)]
    output: Value,
    #[serde(default)]
    error: Value,
}

impl<'de> Deserialize<'de> for Calls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Events;

        impl<'de> Visitor<'de> for Events {
            type Value = Calls;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of events")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<Calls, A::Error> {
                let mut calls = Calls::default();
                while let Some(event) = events.next_element::<Event>()? {
                    calls.take(event).map_err(serde::de::Error::custom)?;
                }
                Ok(calls)
            }
        }

        deserializer.deserialize_seq(Events)
    }
}
