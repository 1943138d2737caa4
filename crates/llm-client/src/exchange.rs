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
};

/// Longer replies are given up, in bytes.
const LONGEST_REPLY: usize = 64 << 20;
/// Room that is made before a byte has come, at most.
const FIRST_ROOM: usize = 1 << 20;

/// What came back.
pub(crate) struct HttpReply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// The body of the request.
    pub(crate) sent: Bytes,
}

/// Why there is no reply.
pub(crate) enum Lost {
    /// The server refused the request before it did anything with it.
    NotBegun(Unreached),
    /// Anything else.
    Final(Unreached),
}

/// Sends `sent` to `endpoint` and waits for all of the reply. A redirect is a reply like others: to
/// follow it would take the key to another host.
pub(crate) async fn exchange(endpoint: &Endpoint, sent: Bytes) -> Result<HttpReply, Lost> {
    loop {
        let mut connection = endpoint.host.connection().await.map_err(Lost::Final)?;
        let request = |form: Form<'_>| endpoint.request(form, sent.clone());
        match connection.send(&request).await {
            Ok(response) => {
                let (head, mut incoming) = response.into_parts();
                let body = read(&mut connection, &mut incoming).await;
                let body = body.map_err(Lost::Final)?;
                endpoint.host.give_back(connection);
                return Ok(HttpReply {
                    status: head.status,
                    headers: head.headers,
                    body,
                    sent,
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

async fn read(connection: &mut Connection, incoming: &mut Incoming) -> Result<Vec<u8>, Unreached> {
    let length = incoming.size_hint().exact().unwrap_or(0);
    let room = usize::try_from(length).unwrap_or(usize::MAX);
    if room > LONGEST_REPLY {
        return Err(Unreached::TooLarge(LONGEST_REPLY));
    }
    let mut body = Vec::with_capacity(room.min(FIRST_ROOM));
    while !incoming.is_end_stream() {
        let Some(frame) = connection.frame(incoming).await else {
            break;
        };
        let frame = frame.map_err(|error| Unreached::Broken(full_text(&error)))?;
        // Anything but data is a trailer, which nobody asked for.
        let Ok(chunk) = frame.into_data() else {
            continue;
        };
        if body.len() + chunk.len() > LONGEST_REPLY {
            return Err(Unreached::TooLarge(LONGEST_REPLY));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
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
