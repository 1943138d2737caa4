//! One HTTP exchange: the request out, all of the reply in.

use std::{error::Error, iter};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    HeaderMap, Request, Response, StatusCode,
    body::{Body, Incoming},
};
use hyper_util::client::legacy;

use crate::{
    failure::Unreached,
    http::{Client, full_text},
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

/// Why `client` got no reply.
pub(crate) enum Lost {
    /// The server refused the request before it did anything with it.
    NotBegun(Unreached),
    /// Anything else.
    Final(Unreached),
}

/// Sends `request` and waits for all of the reply. A redirect is a reply like others: to follow it would take the key to another
/// host.
pub(crate) async fn exchange(
    client: &Client,
    request: Request<()>,
    sent: Bytes,
) -> Result<HttpReply, Lost> {
    let request = request.map(|()| Full::new(sent.clone()));
    let response = client.request(request).await.map_err(|error| {
        let what = unreached(&error);
        if not_begun(&error) {
            Lost::NotBegun(what)
        } else {
            Lost::Final(what)
        }
    })?;
    read(response, sent).await.map_err(Lost::Final)
}

async fn read(response: Response<Incoming>, sent: Bytes) -> Result<HttpReply, Unreached> {
    let (head, mut incoming) = response.into_parts();
    let length = incoming.size_hint().exact().unwrap_or(0);
    let room = usize::try_from(length).unwrap_or(usize::MAX);
    if room > LONGEST_REPLY {
        return Err(Unreached::TooLarge(LONGEST_REPLY));
    }
    let mut body = Vec::with_capacity(room.min(FIRST_ROOM));
    while let Some(frame) = incoming.frame().await {
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
    Ok(HttpReply {
        status: head.status,
        headers: head.headers,
        body,
        sent,
    })
}

/// Sorts an error of the connection.
fn unreached(error: &legacy::Error) -> Unreached {
    // The error itself says only that it is the client's; what happened is underneath.
    let text = error.source().map_or_else(|| error.to_string(), full_text);
    if !error.is_connect() {
        Unreached::Broken(text)
    } else if text.contains("certificate") {
        Unreached::Certificate(text)
    } else {
        Unreached::Connect(text)
    }
}

/// Whether a server of HTTP/2 says that it has not looked at the request: it is about to close the connection, or has too much
/// to do (RFC 9113, section 8.7).
fn not_begun(error: &legacy::Error) -> bool {
    let mut chain = iter::successors(error.source(), |error| (*error).source());
    let Some(error) = chain.find_map(|error| error.downcast_ref::<h2::Error>()) else {
        return false;
    };
    let closing = error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR);
    let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
    error.is_remote() && (closing || refused)
}
