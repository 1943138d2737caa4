//! One HTTP exchange: the request out, all of the reply in.

use std::{error::Error, iter};

use bytes::Bytes;
use hyper::{
    HeaderMap, StatusCode,
    body::{Body, Incoming},
};

use crate::{
    endpoint::Endpoint,
    failure::Unreached,
    host::{Connection, Form},
    http::full_text,
    room::{Room, Taken, Waited},
};

/// Room that is made before a byte has come, at most.
const FIRST_ROOM: usize = 1 << 20;
/// Room that is made when the first bytes come, where nobody said how many there will be.
const LEAST_ROOM: usize = 16 << 10;

/// What came back.
pub(crate) struct HttpReply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// The body of the request.
    pub(crate) sent: Bytes,
    /// What `body` takes of the room for replies in flight.
    pub(crate) room: Taken,
}

/// Why there is no reply.
pub(crate) enum Lost {
    /// The server refused the request before it did anything with it.
    NotBegun(Unreached),
    /// Anything else.
    Final(Unreached),
}

/// Sends `sent` to `endpoint` and waits for all of the reply. A redirect is a reply like others: to
/// follow it would take the key to another host. `waited` counts the time that the reply waits for room.
pub(crate) async fn exchange(
    endpoint: &Endpoint,
    sent: Bytes,
    waited: &Waited,
) -> Result<HttpReply, Lost> {
    loop {
        let mut connection = endpoint.host.connection().await.map_err(Lost::Final)?;
        let request = |form: Form<'_>| endpoint.request(form, sent.clone());
        match connection.send(&request).await {
            Ok(response) => {
                let (head, mut incoming) = response.into_parts();
                let room = endpoint.host.room();
                let read = read(&mut connection, &mut incoming, room, waited).await;
                let (body, room) = read.map_err(Lost::Final)?;
                endpoint.host.give_back(connection);
                return Ok(HttpReply {
                    status: head.status,
                    headers: head.headers,
                    body,
                    sent,
                    room,
                });
            }
            // It had ended while nobody looked.
            Err(failed) if failed.unsent && connection.is_used() => {
                endpoint.host.forget(&connection);
            }
            Err(failed) => return Err(lost(&failed.error, &connection, endpoint)),
        }
    }
}

async fn read(
    connection: &mut Connection,
    incoming: &mut Incoming,
    room: &Room,
    waited: &Waited,
) -> Result<(Vec<u8>, Taken), Unreached> {
    let longest = room.longest();
    let length = incoming.size_hint().exact();
    let length = length.map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    if length.is_some_and(|length| length > longest) {
        return Err(Unreached::TooLarge(longest));
    }
    let mut taken = Taken::default();
    let first = length.unwrap_or(0).min(FIRST_ROOM);
    taken.take(room, first, waited).await;
    let mut body = Vec::with_capacity(first);
    while !incoming.is_end_stream() {
        let Some(frame) = connection.frame(incoming).await else {
            break;
        };
        let frame = frame.map_err(|error| Unreached::Broken(full_text(&error)))?;
        // Anything but data is a trailer, which nobody asked for.
        let Ok(chunk) = frame.into_data() else {
            continue;
        };
        let needed = body.len() + chunk.len();
        if needed > longest {
            return Err(Unreached::TooLarge(longest));
        }
        if needed > body.capacity() {
            let doubled = (body.capacity() * 2).max(LEAST_ROOM);
            let capacity = doubled.min(length.unwrap_or(longest)).max(needed);
            let more = capacity - body.capacity();
            taken.take(room, more, waited).await;
            body.reserve_exact(capacity - body.len());
        }
        body.extend_from_slice(&chunk);
    }
    Ok((body, taken))
}

/// Sorts an error of `connection`.
fn lost(error: &hyper::Error, connection: &Connection, endpoint: &Endpoint) -> Lost {
    let what = Unreached::Broken(full_text(error));
    let first: &(dyn Error + 'static) = error;
    let mut chain = iter::successors(Some(first), |error| (*error).source());
    let http2 = chain.find_map(|error| error.downcast_ref::<h2::Error>());
    // Of many requests that share a connection, an error of one does not concern the others.
    if !http2.is_some_and(h2::Error::is_reset) {
        endpoint.host.forget(connection);
    }
    if http2.is_some_and(not_begun) {
        Lost::NotBegun(what)
    } else {
        Lost::Final(what)
    }
}

/// Whether a server of HTTP/2 says that it has not looked at the request: it is about to close the connection, or has too much
/// to do (RFC 9113, section 8.7).
fn not_begun(error: &h2::Error) -> bool {
    let closing = error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR);
    let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
    error.is_remote() && (closing || refused)
}
