//! What an item holds, whichever journal it is in: how an item that comes whole from the cache is found in an earlier one.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use schema::{
    EventBody, ItemKey,
    event::{ConversationFinished, KeptIn, ToolAnswered, TranslatedSutReply},
};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::{Call, CallRole};

/// A hash of contents: the first half of a SHA-256.
pub type ContentHash = u128;

/// Finds the items that earlier journals have whole.
pub trait EarlierItems: std::fmt::Debug + Send + Sync {
    /// Whether an earlier journal has an item that was queued like this one.
    fn knows(&self, queued: ContentHash) -> bool;

    /// Where an earlier journal has the item that was queued like this one and has the same content.
    fn find(&self, queued: ContentHash, content: ContentHash) -> Option<EarlierItem>;
}

/// An item in an earlier journal.
#[derive(Clone, Debug)]
pub struct EarlierItem {
    /// The id of the journal's run.
    pub run_id: Arc<str>,
    /// The line that queued it, and for each model the line with the bodies of its last call: see [`ItemContent::lines`].
    pub lines: BTreeMap<String, u64>,
}

impl EarlierItem {
    /// The place of the bodies of `part`.
    pub(crate) fn place(&self, part: &str) -> Option<KeptIn> {
        Some(KeptIn {
            run_id: Arc::clone(&self.run_id),
            line: *self.lines.get(part)?,
        })
    }
}

/// The name of the line that queued an item.
pub(crate) const QUEUED: &str = "queued";

/// The content of an item: what was queued, and every call and message of it. Not its times and costs, nor whether a reply was fetched.
#[derive(Debug)]
pub struct ItemContent {
    queued: ContentHash,
    /// The hashes of calls and messages. Judges of a panel are called at the same time: the order does not count.
    parts: Vec<ContentHash>,
    lines: BTreeMap<String, u64>,
    /// Whether its events are those of one undisturbed conversation of this run.
    is_plain: bool,
}

impl ItemContent {
    /// The content of the item `key` that `event` queues. `None` for another event, and for an item that is itself elsewhere.
    #[must_use]
    pub fn queued(key: &ItemKey, event: &EventBody) -> Option<Self> {
        let EventBody::QueuingItem(queued) = event else {
            return None;
        };
        let mut hash = PartHash::new("queued");
        for text in [&key.test, &key.prompt_id, &key.sut] {
            hash.add(text.as_bytes());
        }
        hash.add(queued.prompt_text.as_deref().unwrap_or_default().as_bytes());
        let context = queued.context.as_ref();
        hash.add(context.map_or(&b""[..], |context| context.as_bytes()));
        hash.add(&queued.sample.unwrap_or_default().to_le_bytes());
        hash.add(&[u8::from(queued.one_reply == Some(true))]);
        Some(Self {
            queued: hash.finish(),
            parts: Vec::new(),
            lines: BTreeMap::new(),
            is_plain: queued.kept.is_none() && queued.derived.is_none(),
        })
    }

    /// Adds an event of the item, which line `line` of its journal has.
    pub fn add(&mut self, event: &EventBody, sut: &str, line: u64) {
        if let Some(name) = line_name(event, sut) {
            self.lines.insert(name, line);
        }
        match Call::of(event, sut) {
            Some(call) if call.source.is_some() => self.is_plain = false,
            Some(call) if !call.has_failed() => self.parts.push(call_hash(&call, event)),
            Some(_) => {}
            None => self.add_other(event),
        }
    }

    fn add_other(&mut self, event: &EventBody) {
        let hash = match event {
            EventBody::TranslatedUserResponse(said) if said.source.is_none() => message_hash(
                "user",
                &json!([
                    said.response_text,
                    said.turn,
                    said.reasoning,
                    said.tool_calls,
                    said.finish_reason
                ]),
            ),
            EventBody::TranslatedSutTurn(said) | EventBody::TranslatedSutResponse(said) => {
                match (said.turns, &said.source) {
                    (Some(_), _) => return,
                    (None, None) => message_hash("sut", &sut_message(said)),
                    (None, Some(_)) => return self.is_plain = false,
                }
            }
            EventBody::SutStep(said) if said.source.is_none() => message_hash(
                "step",
                &json!([said.response_text, said.turn, said.step, said.tool_calls]),
            ),
            EventBody::ToolAnswered(answer) if answer.source.is_none() => {
                message_hash("tool", &tool_answer(answer))
            }
            EventBody::RetryingItem(_)
            | EventBody::SimulatorFault(_)
            | EventBody::TranslatedUserResponse(_)
            | EventBody::SutStep(_)
            | EventBody::ToolAnswered(_)
            | EventBody::ConversationFinished(ConversationFinished { error: Some(_), .. })
            | EventBody::ItemFailed(_) => return self.is_plain = false,
            _ => return,
        };
        self.parts.push(hash);
    }

    /// The hash of what was queued.
    #[must_use]
    pub fn of_queued(&self) -> ContentHash {
        self.queued
    }

    /// The hash of all, once the item has ended. `None` if another journal cannot stand for it: parts of it came from elsewhere, it
    /// failed, or its conversation began again.
    #[must_use]
    pub fn whole(&self) -> Option<ContentHash> {
        let mut parts = self.parts.clone();
        parts.sort_unstable();
        let mut hash = PartHash::new("item");
        hash.add(&self.queued.to_le_bytes());
        parts.iter().for_each(|part| hash.add(&part.to_le_bytes()));
        self.is_plain.then(|| hash.finish())
    }

    /// The lines of the item's journal with what a row that came whole from the cache refers to: the one that queued it, and for each model
    /// the one with the bodies of its last call.
    #[must_use]
    pub fn lines(&self) -> &BTreeMap<String, u64> {
        &self.lines
    }
}

/// The name of a line that other journals refer to. The last line of a name counts: a summary has the whole bodies.
pub(crate) fn line_name(event: &EventBody, sut: &str) -> Option<String> {
    match event {
        EventBody::QueuingItem(_) => return Some(QUEUED.to_owned()),
        EventBody::FetchedSutResponse(_) | EventBody::UsingCachedSutResponse(_) => {
            return Some("sut".to_owned());
        }
        EventBody::FetchedAnnotatorResponse(reply) => {
            return Some(format!("annotator {}", reply.annotator));
        }
        EventBody::UsingCachedAnnotatorResponse(reply) => {
            return Some(format!("annotator {}", reply.annotator));
        }
        _ => {}
    }
    let call = Call::of(event, sut).filter(|call| !call.has_failed())?;
    match call.role {
        // The summary, or the only call, has the bodies.
        CallRole::Sut | CallRole::Annotator => None,
        _ => Some(format!("{} {}", helper_purpose(event)?, call.model)),
    }
}

/// The purpose of a call to a model that is neither the system under test nor a judge of a metric.
fn helper_purpose(event: &EventBody) -> Option<&str> {
    match event {
        EventBody::FetchedUserResponse(reply)
        | EventBody::UsingCachedUserResponse(reply)
        | EventBody::FetchedToolResponse(reply)
        | EventBody::UsingCachedToolResponse(reply) => Some(&reply.purpose),
        _ => None,
    }
}

fn call_hash(call: &Call<'_>, event: &EventBody) -> ContentHash {
    let mut hash = PartHash::new("call");
    hash.add(format!("{:?}", call.role).as_bytes());
    hash.add(helper_purpose(event).unwrap_or_default().as_bytes());
    hash.add(call.model.as_bytes());
    hash.add(&call.turn.unwrap_or_default().to_le_bytes());
    hash.add(&call.step.unwrap_or_default().to_le_bytes());
    for body in [call.request, call.response] {
        hash.add(&in_one_line(body.map_or(&b""[..], |body| body.as_bytes())));
    }
    hash.finish()
}

/// A body as a line of a journal has it.
fn in_one_line(text: &[u8]) -> Cow<'_, [u8]> {
    let breaks = |byte: &u8| matches!(byte, b'\n' | b'\r');
    match text.iter().any(breaks) {
        true => text
            .iter()
            .map(|byte| if breaks(byte) { b' ' } else { *byte })
            .collect(),
        false => text.into(),
    }
}

fn sut_message(said: &TranslatedSutReply) -> serde_json::Value {
    json!([
        said.response_text,
        said.turn,
        said.step,
        said.reasoning,
        said.tool_calls,
        said.finish_reason
    ])
}

fn tool_answer(answer: &ToolAnswered) -> serde_json::Value {
    json!([
        answer.turn,
        answer.step,
        answer.tool_call_id,
        answer.name,
        answer.response_text,
        answer.error
    ])
}

fn message_hash(by: &str, message: &serde_json::Value) -> ContentHash {
    let mut hash = PartHash::new(by);
    hash.add(message.to_string().as_bytes());
    hash.finish()
}

/// A hash of parts, each with its length.
struct PartHash(Sha256);

impl PartHash {
    fn new(kind: &str) -> Self {
        let mut hash = Self(Sha256::new());
        hash.add(kind.as_bytes());
        hash
    }

    fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    fn finish(self) -> ContentHash {
        let mut half = [0; 16];
        for (byte, of_hash) in half.iter_mut().zip(self.0.finalize()) {
            *byte = of_hash;
        }
        ContentHash::from_le_bytes(half)
    }
}
