//! The answers to requests.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Request, Response, StatusCode,
    body::Body,
    header::{
        ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
        LOCATION, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
    },
};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::{
    access::Access,
    follow::Follower,
    labels,
    request::{self, Refusal, Route},
};

/// The data that all connections share.
#[derive(Debug)]
pub(super) struct Viewer {
    access: Access,
    follower: Arc<Follower>,
}

type Answer = Response<Full<Bytes>>;

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";

/// The headers of every answer. The address is a secret: it must not get into a cache or to another site.
const HEADERS: [(HeaderName, &str); 7] = [
    (CACHE_CONTROL, "no-store"),
    (REFERRER_POLICY, "no-referrer"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

impl Viewer {
    /// Creates a viewer of the data of `follower`.
    pub(super) fn new(access: Access, follower: Arc<Follower>) -> Self {
        Self { access, follower }
    }

    /// The answer to a request.
    pub(super) async fn answer<B>(&self, request: Request<B>) -> Answer
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut answer = match self.route(request).await {
            Ok(answer) => answer,
            Err(refusal) => refused(&refusal),
        };
        for (name, value) in HEADERS {
            answer
                .headers_mut()
                .insert(name, HeaderValue::from_static(value));
        }
        answer
    }

    async fn route<B>(&self, request: Request<B>) -> Result<Answer, Refusal>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        let Some(path) = self.access.admit(&head.uri, &head.headers)? else {
            return Ok(moved(&self.access.address()));
        };
        let follower = &self.follower;
        match Route::parse(&head.method, path, head.uri.query())? {
            Route::Page => {
                let edition = follower.now().await?.edition;
                Ok(answer(HTML, edition.page()))
            }
            Route::State => self.state().await,
            Route::Monitor => {
                let monitor = follower.monitor().await?;
                Ok(answer(JSON, monitor))
            }
            Route::Index(version) => {
                let edition = follower.edition(version).await?;
                Ok(answer(JSON, edition.index()))
            }
            Route::Overview(version) => {
                let edition = follower.edition(version).await?;
                Ok(answer(JSON, edition.fragments()))
            }
            Route::Chunk(number, version) => {
                let edition = follower.edition(version).await?;
                let chunk = spawn_blocking(move || edition.chunk(number))
                    .await
                    .map_err(|error| Refusal::Failed(error.to_string()))??;
                Ok(answer(JSON, chunk.into()))
            }
            Route::Labels(run) => labels::list(follower, &run)
                .await
                .map(|value| json_answer(&value)),
            Route::PutLabel => {
                let body = request::body(&head, body).await?;
                labels::put(follower, &body)
                    .await
                    .map(|value| json_answer(&value))
            }
            Route::RemoveLabel => {
                let body = request::body(&head, body).await?;
                labels::remove(follower, &body)
                    .await
                    .map(|value| json_answer(&value))
            }
        }
    }

    async fn state(&self) -> Result<Answer, Refusal> {
        let now = self.follower.now().await?;
        let mut state = json!({
            "version": now.edition.version().to_string(),
            "running": now.running,
        });
        if now.pending {
            state["pending"] = true.into();
        }
        if let Some(error) = now.error {
            state["error"] = error.into();
        }
        Ok(json_answer(&state))
    }
}

fn answer(kind: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    let kind = HeaderValue::from_static(kind);
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

fn json_answer(value: &Value) -> Answer {
    answer(JSON, value.to_string().into())
}

fn moved(address: &str) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::PERMANENT_REDIRECT;
    if let Ok(address) = HeaderValue::from_str(address) {
        answer.headers_mut().insert(LOCATION, address);
    }
    answer
}

fn refused(refusal: &Refusal) -> Answer {
    let mut answer = json_answer(&json!({ "error": refusal.to_string() }));
    *answer.status_mut() = refusal.status();
    if let Refusal::Method(allowed) = refusal {
        let allowed = HeaderValue::from_static(allowed);
        answer.headers_mut().insert(ALLOW, allowed);
    }
    answer
}
