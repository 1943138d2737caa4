//! What the target saw and said: the events of a transcript, applied one after the other.

use serde::Deserialize;
use serde_json::Value;

use super::super::inspect::ChatMessage;

/// The view whose messages are the conversation.
const TARGET: &str = "target";

/// The messages of the target.
pub(super) struct View {
    pub(super) messages: Vec<ChatMessage>,
    /// The first message of a user that the auditor saw and the target did not: what the auditor is to bring about.
    pub(super) seed: Option<String>,
    /// Replies of the target that were taken back.
    pub(super) taken_back: u64,
}

/// An event. Those of other kinds have other keys.
#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default, alias = "views")]
    view: Views,
    #[serde(default)]
    edit: Value,
}

#[derive(Default, Deserialize)]
#[serde(untagged)]
enum Views {
    One(String),
    Several(Vec<String>),
    #[default]
    None,
}

impl Views {
    fn has(&self, name: &str) -> bool {
        match self {
            Self::One(view) => view == name,
            Self::Several(views) => views.iter().any(|view| view == name),
            Self::None => false,
        }
    }
}

/// A change of the messages of a view.
#[derive(Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
enum Edit {
    Add {
        message: Value,
    },
    Rollback {
        #[serde(default)]
        count: usize,
        to_id: Option<String>,
    },
    Reset {
        #[serde(default)]
        new_messages: Vec<Value>,
    },
    JsonPatch {},
}

impl View {
    /// The view of the target. `given`: its messages at the end, where the file has them.
    ///
    /// # Errors
    /// What is wrong with an event.
    pub(super) fn of_target(events: Vec<Value>, given: Vec<Value>) -> Result<Self, String> {
        let mut messages: Vec<ChatMessage> = Vec::new();
        let mut seed = None;
        let mut said = 0_u64;
        let mut patched = false;
        for (number, event) in (1..).zip(events) {
            let wrong = |error: serde_json::Error| format!("event {number}: {error}");
            let event: Event = serde_json::from_value(event).map_err(wrong)?;
            if event.kind != "transcript_event" {
                continue;
            }
            let edit: Edit = serde_json::from_value(event.edit).map_err(wrong)?;
            if !event.view.has(TARGET) {
                if let (None, Edit::Add { message }) = (&seed, &edit) {
                    seed = text_of_user(message);
                }
                continue;
            }
            match edit {
                Edit::Add { message: added } => {
                    let added = message(added).map_err(wrong)?;
                    said += u64::from(added.is_reply());
                    messages.push(added);
                }
                Edit::Rollback { count, to_id } => roll_back(&mut messages, count, to_id),
                Edit::Reset { new_messages } => {
                    messages = all(new_messages).map_err(wrong)?;
                }
                Edit::JsonPatch {} => patched = true,
            }
        }
        if !given.is_empty() {
            messages = all(given).map_err(|error| format!("`target_messages`: {error}"))?;
        } else if patched {
            return Err("the messages of the target are edited by JSON patches, and the file has no `target_messages`".to_owned());
        }
        let kept = messages.iter().filter(|message| message.is_reply()).count() as u64;
        Ok(Self {
            messages,
            seed,
            taken_back: said.saturating_sub(kept),
        })
    }
}

/// Takes back the messages after the one with the id `to_id`, or else the last `count`.
fn roll_back(messages: &mut Vec<ChatMessage>, count: usize, to_id: Option<String>) {
    let named = to_id.and_then(|id| {
        let of = |message: &ChatMessage| message.id.as_deref() == Some(id.as_str());
        messages.iter().position(of)
    });
    let kept = match named {
        Some(at) => at + 1,
        None => messages.len().saturating_sub(count),
    };
    messages.truncate(kept);
}

fn all(messages: Vec<Value>) -> Result<Vec<ChatMessage>, serde_json::Error> {
    messages.into_iter().map(message).collect()
}

/// A message; some versions of Bloom call its role `type`.
fn message(mut given: Value) -> Result<ChatMessage, serde_json::Error> {
    if let Some(object) = given.as_object_mut()
        && !object.contains_key("role")
        && let Some(role) = object.get("type").cloned()
    {
        object.insert("role".to_owned(), role);
    }
    serde_json::from_value(given)
}

/// The text of a message, if a user said it.
fn text_of_user(message: &Value) -> Option<String> {
    let role = message.get("role").or_else(|| message.get("type"))?;
    let content = message.get("content")?;
    let texts: Vec<&str> = match content {
        Value::String(text) => vec![text],
        Value::Array(parts) => {
            let parts = parts.iter();
            parts
                .filter_map(|part| part.get("text")?.as_str())
                .collect()
        }
        _ => Vec::new(),
    };
    let text = texts.join("\n");
    (role == "user" && !text.trim().is_empty()).then_some(text)
}
