//! The service underneath async-openai: sends one request and reads the whole reply.

use std::{
    fmt, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use async_openai::{error::OpenAIError, middleware::HttpRequestFactory};
use files::{are_files_exhausted, is_out_of_files};
use futures::future::BoxFuture;
use reqwest::{Body, Response, StatusCode, header::HeaderMap};
use serde_json::value::RawValue;

use crate::{
    causes::full_text,
    encoding,
    http::{HttpClient, Route},
    reply_memory::{Taken, Waited},
    unreached::Unreached,
};

/// The most bytes that are reserved before the first byte arrives.
const FIRST_ROOM: usize = 1 << 20;
/// The bytes that are reserved when the first bytes arrive and the length of the reply is unknown.
const LEAST_ROOM: usize = 16 << 10;
/// How long a call waits before it tries again when no file can be opened.
const OUT_OF_FILES: Duration = Duration::from_millis(100);

/// The reply to one call.
pub(crate) struct HttpReply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// The share of the room for replies in flight that `body` takes.
    pub(crate) room: Taken,
}

/// Prints no header and nothing of the body.
impl fmt::Debug for HttpReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpReply")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// Why async-openai gets no reply. It logs the bodies of failures and of replies that are not JSON, and reads them without a limit, so
/// it gets only successful JSON replies.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoJson {
    /// A status other than 2xx, or a body that is not JSON.
    #[error("the reply is an error or not JSON")]
    Reply(HttpReply),
    /// No reply arrived.
    #[error("no reply came")]
    Unreached(Unreached),
}

impl From<Unreached> for NoJson {
    fn from(unreached: Unreached) -> Self {
        Self::Unreached(unreached)
    }
}

impl From<NoJson> for OpenAIError {
    fn from(error: NoJson) -> Self {
        Self::Boxed(Box::new(error))
    }
}

/// Sends one request, once. A redirect is an ordinary reply: following it would send the key to another host.
#[derive(Clone)]
pub(crate) struct OneCall {
    http: HttpClient,
    route: Route,
    /// The time that the reply waited for room.
    waited: Arc<Waited>,
    /// The reply whose body was passed to async-openai.
    reply: Arc<Mutex<Option<HttpReply>>>,
}

impl tower::Service<HttpRequestFactory> for OneCall {
    type Response = Response;
    type Error = NoJson;
    type Future = BoxFuture<'static, Result<Response, NoJson>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NoJson>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let call = self.clone();
        Box::pin(async move { call.run(&factory).await })
    }
}

impl OneCall {
    pub(crate) fn new(http: HttpClient, route: Route, waited: Arc<Waited>) -> Self {
        Self {
            http,
            route,
            waited,
            reply: Arc::default(),
        }
    }

    fn reply(&self) -> MutexGuard<'_, Option<HttpReply>> {
        self.reply.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reply whose body was passed to async-openai; its `body` is empty.
    pub(crate) fn take_reply(&self) -> Option<HttpReply> {
        self.reply().take()
    }

    /// Sends a request that is not of async-openai, once, and reads the whole reply.
    pub(crate) async fn fetch(&self, request: reqwest::Request) -> Result<HttpReply, Unreached> {
        // Held until the whole reply is read.
        let seat = self.http.seat(self.route).map_err(Unreached::Unsent)?;
        let connect_timeout = self.http.options().connect_timeout;
        let sent = seat.client.execute(request).await;
        let response = sent.map_err(|error| Unreached::of(&error, connect_timeout))?;
        self.whole(response).await
    }

    async fn whole(&self, mut response: Response) -> Result<HttpReply, Unreached> {
        let status = response.status();
        let headers = mem::take(response.headers_mut());
        let (body, room) = self.read(response).await?;
        let (body, room) =
            encoding::decoded(&headers, body, room, self.http.room(), &self.waited).await?;
        Ok(HttpReply {
            status,
            headers,
            body,
            room,
        })
    }

    async fn run(&self, factory: &HttpRequestFactory) -> Result<Response, NoJson> {
        // Held until the whole reply is read.
        let seat = self.http.seat(self.route).map_err(Unreached::Unsent)?;
        let response = self.send(&seat.client, factory).await?;
        let mut reply = self.whole(response).await?;
        let status = reply.status;
        if !status.is_success() || serde_json::from_slice::<&RawValue>(&reply.body).is_err() {
            return Err(NoJson::Reply(reply));
        }
        let good = http::Response::new(Body::from(mem::take(&mut reply.body)));
        *self.reply() = Some(reply);
        Ok(good.into())
    }

    async fn send(
        &self,
        client: &reqwest::Client,
        factory: &HttpRequestFactory,
    ) -> Result<Response, Unreached> {
        let connect_timeout = self.http.options().connect_timeout;
        let started = Instant::now();
        loop {
            let request = factory.build().await.map_err(|error| match error {
                OpenAIError::Reqwest(error) => Unreached::of(&error, connect_timeout),
                other => Unreached::Unsent(full_text(&other)),
            })?;
            let error = match client.execute(request).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            // Without a free file, host names cannot be resolved either, and the resolver does not report the reason.
            if !(error.is_connect() && (is_out_of_files(&error) || are_files_exhausted())) {
                return Err(Unreached::of(&error, connect_timeout));
            }
            if started.elapsed() >= connect_timeout {
                return Err(Unreached::OutOfFiles);
            }
            // This is not the endpoint's fault: other calls end and free their files.
            tokio::time::sleep(OUT_OF_FILES).await;
        }
    }

    /// Reads the body of `response`, within the limits.
    async fn read(&self, mut response: Response) -> Result<(Vec<u8>, Taken), Unreached> {
        let room = self.http.room();
        let longest = room.longest();
        let length = response
            .content_length()
            .map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        if length.is_some_and(|length| length > longest) {
            return Err(Unreached::TooLarge(longest));
        }
        let mut taken = Taken::default();
        let first = length.unwrap_or(0).min(FIRST_ROOM);
        taken.take(room, first, &self.waited).await;
        let mut body = Vec::with_capacity(first);
        let connect_timeout = self.http.options().connect_timeout;
        let broken = |error| Unreached::of(&error, connect_timeout);
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            let needed = body.len() + chunk.len();
            if needed > longest {
                return Err(Unreached::TooLarge(longest));
            }
            if needed > body.capacity() {
                let doubled = (body.capacity() * 2).max(LEAST_ROOM);
                let capacity = doubled.min(length.unwrap_or(longest)).max(needed);
                let more = capacity - body.capacity();
                taken.take(room, more, &self.waited).await;
                body.reserve_exact(capacity - body.len());
            }
            body.extend_from_slice(&chunk);
        }
        Ok((body, taken))
    }
}
