//! Messages that a request shares with the item's previous call of that model: recorded once, and put back by the reader.
//!
//! Each request of a conversation repeats all messages before it. A journal therefore leaves out, in Probity's own messages, those that the
//! previous call has too, and records their number and SHA-256. A reader that has read the previous call restores the line byte for byte.

mod request;
mod restore;

use std::{borrow::Cow, sync::Arc};

use schema::{
    EventBody, EventKind, JsonText,
    event::{ModelReply, SharedMessages},
};

use self::request::Request;
pub(crate) use self::restore::Restorer;

/// The model of a call, and what it is called for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Peer {
    role: PeerRole,
    /// The id of the model; empty for the system under test.
    model: Arc<str>,
    /// Empty where the role says it.
    purpose: Cow<'static, str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PeerRole {
    Sut,
    User,
    Annotator,
}

impl PeerRole {
    /// The role of the model in messages that may leave out shared messages. `None` for all others: those of ModelBench are whole.
    fn of(kind: EventKind) -> Option<Self> {
        match kind {
            EventKind::FetchedSutTurn | EventKind::UsingCachedSutTurn => Some(Self::Sut),
            EventKind::FetchedUserResponse | EventKind::UsingCachedUserResponse => Some(Self::User),
            EventKind::FetchedAnnotatorTurn | EventKind::UsingCachedAnnotatorTurn => {
                Some(Self::Annotator)
            }
            _ => None,
        }
    }
}

/// Whether a call with this message leaves out messages that it shares with the call before it.
pub(crate) fn may_share(kind: EventKind) -> bool {
    PeerRole::of(kind).is_some()
}

/// The last request of an item to each model.
#[derive(Debug, Default)]
pub(crate) struct LastRequests(Vec<(Peer, Request)>);

impl LastRequests {
    /// Leaves out of `body`, the next event of the item, the messages that its request shares with the item's previous call of that model.
    pub(crate) fn leave_out(&mut self, body: &mut EventBody) {
        let Some((peer, text, shared)) = call(body) else {
            return;
        };
        let earlier = self.take(&peer);
        let Some(mut request) = Request::read(text.get()) else {
            return;
        };
        let count = earlier.map_or(0, |earlier| request.continue_from(earlier));
        if count > 0
            && let Ok(rest) = JsonText::new(request.without(count))
        {
            *text = rest;
            *shared = Some(SharedMessages {
                messages: count as u64,
                sha256: request.sha256(count),
            });
        }
        self.0.push((peer, request));
    }

    fn take(&mut self, peer: &Peer) -> Option<Request> {
        let at = self.0.iter().position(|(known, _)| known == peer)?;
        Some(self.0.swap_remove(at).1)
    }
}

/// The model and the request of a call that may leave out messages.
fn call(body: &mut EventBody) -> Option<(Peer, &mut JsonText, &mut Option<SharedMessages>)> {
    let role = PeerRole::of(body.kind())?;
    let of_annotator = |annotator: &Arc<str>| Peer {
        role,
        model: Arc::clone(annotator),
        purpose: "".into(),
    };
    Some(match body {
        EventBody::FetchedSutTurn(reply) | EventBody::UsingCachedSutTurn(reply) => {
            let peer = Peer {
                role,
                model: "".into(),
                purpose: "".into(),
            };
            (peer, reply.request.as_mut()?, &mut reply.shared)
        }
        EventBody::FetchedAnnotatorTurn(reply) => {
            let peer = of_annotator(&reply.annotator);
            (peer, reply.request.as_mut()?, &mut reply.shared)
        }
        EventBody::UsingCachedAnnotatorTurn(reply) => {
            let peer = of_annotator(&reply.annotator);
            (peer, reply.annotator_request.as_mut()?, &mut reply.shared)
        }
        EventBody::FetchedUserResponse(reply) | EventBody::UsingCachedUserResponse(reply) => {
            let ModelReply {
                model,
                purpose,
                request,
                shared,
                ..
            } = reply;
            let peer = Peer {
                role,
                model: Arc::clone(model),
                purpose: purpose.clone(),
            };
            (peer, request, shared)
        }
        _ => return None,
    })
}
