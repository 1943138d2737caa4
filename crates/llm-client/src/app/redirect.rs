//! Redirects: followed within the application's own scheme, host and port, as browsers do.

use reqwest::{
    Method, Request, StatusCode, Url,
    header::{CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HeaderMap, LOCATION},
};

/// The most redirects of a request.
pub(super) const MOST: usize = 5;

/// The request that a redirect leads to. `sent` is a copy of the one that was redirected.
///
/// # Errors
/// Why it is not followed, for people.
pub(super) fn follow(
    status: StatusCode,
    headers: &HeaderMap,
    mut sent: Request,
) -> Result<Request, String> {
    let location = headers
        .get(LOCATION)
        .and_then(|location| location.to_str().ok())
        .ok_or_else(|| format!("it answered {status} without an address to go to"))?;
    let url = sent
        .url()
        .join(location)
        .map_err(|error| format!("it redirects to what is no address: {error}"))?;
    if url.origin() != sent.url().origin() {
        return Err(
            "it redirects to another host, which is not followed: write that address as `url`"
                .to_owned(),
        );
    }
    if !matches!(
        status,
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    ) {
        *sent.method_mut() = Method::GET;
        *sent.body_mut() = None;
        for name in [CONTENT_TYPE, CONTENT_LENGTH] {
            sent.headers_mut().remove(name);
        }
    }
    sent.headers_mut().remove(COOKIE);
    *sent.url_mut() = without_fragment(url);
    Ok(sent)
}

fn without_fragment(mut url: Url) -> Url {
    url.set_fragment(None);
    url
}
