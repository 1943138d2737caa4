//! Replies that were compressed although the request did not ask for it, as some proxies do.

use std::io::{self, Read};

use flate2::read::{MultiGzDecoder, ZlibDecoder};
use reqwest::header::{CONTENT_ENCODING, HeaderMap};

use crate::{
    reply_memory::{ReplyMemory, Taken, Waited},
    unreached::Unreached,
};

/// Bytes that are decoded at once.
const STEP: usize = 64 << 10;

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Gzip,
    Deflate,
}

/// The body of a reply with `headers`, decoded. A body that decodes to more than a reply may have is refused on the way there.
pub(crate) async fn decoded(
    headers: &HeaderMap,
    body: Vec<u8>,
    mut taken: Taken,
    room: &ReplyMemory,
    waited: &Waited,
) -> Result<(Vec<u8>, Taken), Unreached> {
    let mut body = body;
    // The encoding that was applied last comes off first.
    for encoding in encodings(headers)?.into_iter().rev() {
        let mut decoder = decoder(encoding, &body);
        let mut text = Vec::new();
        loop {
            taken.take(room, STEP, waited).await;
            let read = (&mut decoder)
                .take(STEP as u64)
                .read_to_end(&mut text)
                .map_err(|error| Unreached::Broken(format!("{encoding:?}: {error}")))?;
            if text.len() > room.longest() {
                return Err(Unreached::TooLarge(room.longest()));
            }
            if read == 0 {
                break;
            }
        }
        drop(decoder);
        body = text;
    }
    Ok((body, taken))
}

fn decoder<'a>(encoding: Encoding, body: &'a [u8]) -> Box<dyn Read + Send + 'a> {
    match encoding {
        // Some servers name an encoding and send an empty body as it is.
        _ if body.is_empty() => Box::new(io::empty()),
        Encoding::Gzip => Box::new(MultiGzDecoder::new(body)),
        Encoding::Deflate => Box::new(ZlibDecoder::new(body)),
    }
}

fn encodings(headers: &HeaderMap) -> Result<Vec<Encoding>, Unreached> {
    let values = headers.get_all(CONTENT_ENCODING).into_iter();
    let names = values.flat_map(|value| value.to_str().unwrap_or_default().split(','));
    let mut encodings = Vec::new();
    for name in names.map(str::trim) {
        match name.to_ascii_lowercase().as_str() {
            "" | "identity" => {}
            "gzip" | "x-gzip" => encodings.push(Encoding::Gzip),
            "deflate" => encodings.push(Encoding::Deflate),
            other => return Err(Unreached::Encoding(other.to_owned())),
        }
    }
    Ok(encodings)
}
