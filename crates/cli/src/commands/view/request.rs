//! The routes of requests, and the reasons for refusing one.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::{Method, StatusCode, body::Body, header::CONTENT_TYPE, http::request::Parts};
use percent_encoding::percent_decode_str;

/// Bytes of a label with its note, at most.
const BODY_CAP: usize = 64 * 1024;
/// How long a body may take.
const BODY_TIME: Duration = Duration::from_secs(10);

/// The page, data or action that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// The page.
    Page,
    /// The current version of the data.
    State,
    /// The state of the run.
    Monitor,
    /// The index of a version; `None`: the newest one.
    Index(Option<u64>),
    /// The overview of a version.
    Overview(Option<u64>),
    /// A chunk of conversations of a version.
    Chunk(usize, Option<u64>),
    /// The labels of a run.
    Labels(String),
    /// Saves a label.
    PutLabel,
    /// Removes a label.
    RemoveLabel,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("this address is not served here")]
    WrongHost,
    #[error("requests of pages of other sites are refused")]
    WrongOrigin,
    #[error("not found")]
    NotFound,
    #[error("only {0} is allowed here")]
    Method(&'static str),
    #[error("a label is sent as application/json")]
    NotJson,
    #[error("the request is larger than {} KB", BODY_CAP / 1024)]
    TooLarge,
    #[error("the request took longer than {} seconds", BODY_TIME.as_secs())]
    TooSlow,
    /// The request is not valid, with the reason.
    #[error("{0}")]
    Bad(String),
    /// A version that is no longer kept.
    #[error("the results have changed since; reload the page")]
    Gone,
    /// The row of a label has changed.
    #[error("{0}")]
    Conflict(String),
    /// The data is not available now.
    #[error("{0}")]
    Unavailable(String),
    /// An error of the viewer.
    #[error("{0}")]
    Failed(String),
}

impl Refusal {
    /// The status of the answer.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::WrongHost => StatusCode::MISDIRECTED_REQUEST,
            Self::WrongOrigin => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Bad(_) => StatusCode::BAD_REQUEST,
            Self::Gone => StatusCode::GONE,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl Route {
    /// Parses `path`, the part after the token, and the query. No part of them ever becomes a path of a file.
    ///
    /// # Errors
    /// When there is no such route, or it does not allow the method.
    pub(super) fn parse(method: &Method, path: &str, query: Option<&str>) -> Result<Self, Refusal> {
        let value = |name: &str| parameter(query.unwrap_or_default(), name);
        if path == "label" {
            return match *method {
                Method::PUT => Ok(Self::PutLabel),
                Method::DELETE => Ok(Self::RemoveLabel),
                _ => Err(Refusal::Method("PUT, DELETE")),
            };
        }
        let version = || match value("v").filter(|text| !text.is_empty()) {
            None => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|_| Refusal::Gone),
        };
        let route = match path {
            "" => Self::Page,
            "state" => Self::State,
            "monitor" => Self::Monitor,
            "index" => Self::Index(version()?),
            "overview" => Self::Overview(version()?),
            "labels" => {
                let run = value("run");
                Self::Labels(run.ok_or_else(|| Refusal::Bad("`run` is missing".to_owned()))?)
            }
            _ => {
                let number = path
                    .strip_prefix("chunk/")
                    .and_then(|number| number.parse().ok());
                Self::Chunk(number.ok_or(Refusal::NotFound)?, version()?)
            }
        };
        match *method {
            Method::GET | Method::HEAD => Ok(route),
            _ => Err(Refusal::Method("GET, HEAD")),
        }
    }
}

/// The value of a parameter of a query.
fn parameter(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    let value = value.replace('+', " ");
    let value = percent_decode_str(&value).decode_utf8().ok()?;
    Some(value.into_owned())
}

/// The body of a request that writes.
///
/// # Errors
/// When the header does not declare JSON, or the body is too large or does not come in time.
pub(super) async fn body<B>(parts: &Parts, body: B) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let is_json = |text: &str| {
        let essence = text.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    };
    let kind = parts.headers.get(CONTENT_TYPE);
    if !kind
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(is_json)
    {
        return Err(Refusal::NotJson);
    }
    // A body that declares too large a size is not read at all.
    if body.size_hint().lower() > BODY_CAP as u64 {
        return Err(Refusal::TooLarge);
    }
    let read = Limited::new(body, BODY_CAP).collect();
    match tokio::time::timeout(BODY_TIME, read).await {
        Err(_) => Err(Refusal::TooSlow),
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(Refusal::TooLarge),
        Ok(Err(error)) => Err(Refusal::Bad(format!("the request ended early: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_what_they_say_or_nothing() {
        let get = |path: &str, query| Route::parse(&Method::GET, path, query);
        assert_eq!(get("", None), Ok(Route::Page));
        assert_eq!(get("index", Some("v=")), Ok(Route::Index(None)));
        assert_eq!(get("chunk/12", Some("v=3")), Ok(Route::Chunk(12, Some(3))));
        let run = Route::Labels("gpt 4/ä+".to_owned());
        assert_eq!(get("labels", Some("x=1&run=gpt+4%2F%C3%A4%2B")), Ok(run));
        for path in [
            "chunk/",
            "chunk/-1",
            "chunk/1/",
            "chunk/..",
            "../x",
            "%2e%2e",
            "index/",
            "Index",
            "chunk/99999999999999999999999",
        ] {
            assert_eq!(get(path, None), Err(Refusal::NotFound), "{path}");
        }
        assert_eq!(get("index", Some("v=x")), Err(Refusal::Gone));
    }

    #[test]
    fn each_path_has_its_methods() {
        let of = |method: Method, path| Route::parse(&method, path, None);
        assert_eq!(of(Method::HEAD, "state"), Ok(Route::State));
        assert_eq!(of(Method::POST, ""), Err(Refusal::Method("GET, HEAD")));
        assert_eq!(
            of(Method::OPTIONS, "index"),
            Err(Refusal::Method("GET, HEAD"))
        );
        assert_eq!(
            of(Method::GET, "label"),
            Err(Refusal::Method("PUT, DELETE"))
        );
        assert_eq!(of(Method::PUT, "label"), Ok(Route::PutLabel));
        assert_eq!(of(Method::DELETE, "label"), Ok(Route::RemoveLabel));
    }
}
