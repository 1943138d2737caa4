//! The interfaces for batches of OpenAI and Anthropic.

mod anthropic;
mod lines;
mod openai;
mod progress;
mod route;
mod script;
mod store;
mod upload;

use std::sync::Arc;

use hyper::{HeaderMap, Request, StatusCode, body::Incoming, header::CONTENT_TYPE};
use tokio::sync::MutexGuard;

use crate::{
    fault_reply,
    handler::{authorize, collect, wrong_method},
    interface::Interface,
    reply::Reply,
    server::Shared,
    wire::ApiError,
};
use progress::Batch;
pub(crate) use route::Route;
use route::{BatchApi, Resource};
pub(crate) use store::BatchStore;
use store::Entry;

pub use script::{BatchEnd, BatchScript, BatchStep, FailingItems};

/// Answers a request about files or batches.
pub(crate) async fn handle(shared: &Shared, route: Route, request: Request<Incoming>) -> Reply {
    let step = match route.step(request.method()) {
        Ok(step) => step,
        Err(allowed) => return wrong_method(request.method(), allowed),
    };
    let reply = match perform(shared, &route, step, request).await {
        Ok(reply) => reply,
        Err(error) => error.reply(),
    };
    match route.api {
        BatchApi::OpenAi => reply,
        BatchApi::Anthropic => anthropic::with_own_error(reply),
    }
}

async fn perform(
    shared: &Shared,
    route: &Route,
    step: BatchStep,
    request: Request<Incoming>,
) -> Result<Reply, ApiError> {
    let authorized = authorize(shared, &request).and_then(|()| match route.api {
        BatchApi::OpenAi => Ok(()),
        BatchApi::Anthropic => Interface::Messages.check(request.headers()),
    });
    let (head, body) = request.into_parts();
    let body = match collect(shared, body).await {
        Ok(body) => body,
        Err(reply) => return Ok(reply),
    };
    authorized?;
    if step == BatchStep::Poll {
        shared.counts.batch_poll();
    }
    let active = shared.batches.script();
    let fault = active.faults(step).and_then(|faults| faults.pick_any());
    if let Some(reply) = fault.as_deref().and_then(fault_reply::instead) {
        shared.counts.batch_refusal();
        return Ok(reply);
    }
    let query = Query::new(head.uri.query().unwrap_or_default());
    let reply = match route.api {
        BatchApi::OpenAi => {
            openai::perform(shared, &route.resource, step, &head.headers, &query, body).await?
        }
        BatchApi::Anthropic => {
            anthropic::perform(shared, &route.resource, step, &query, body).await?
        }
    };
    match fault {
        Some(fault) => Ok(fault_reply::broken(&fault, reply).await),
        None => Ok(reply),
    }
}

/// The content type of a request.
fn content_type(headers: &HeaderMap) -> &str {
    let value = headers.get(CONTENT_TYPE);
    value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

/// Brings a batch to its present state.
async fn advanced<'a>(shared: &Shared, entry: &'a Entry) -> MutexGuard<'a, Batch> {
    let mut batch = entry.batch.lock().await;
    let is_finished = shared.batches.is_finished(entry);
    if batch.advance(shared, is_finished).await {
        match entry.api {
            BatchApi::OpenAi => openai::write_files(shared, entry, &mut batch),
            BatchApi::Anthropic => anthropic::write_results(shared, &mut batch),
        }
    }
    batch
}

/// The batch with this id.
fn find(shared: &Shared, api: BatchApi, id: &str) -> Result<Arc<Entry>, ApiError> {
    let entry = shared.batches.batch(api, id);
    entry.ok_or_else(|| no_batch(id))
}

fn no_batch(id: &str) -> ApiError {
    not_found(format!("No batch found with id '{id}'."))
}

fn not_found(message: String) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "invalid_request_error", message).code("not_found")
}

/// A page of the batches of an interface, newest first, and whether there are more. `after` is the name of the parameter with the last id of the page
/// before.
fn page(
    shared: &Shared,
    api: BatchApi,
    query: &Query<'_>,
    after: &str,
) -> Result<(Vec<Arc<Entry>>, bool), ApiError> {
    let limit = query.get("limit").map_or(Ok(20), |limit| {
        let valid = limit.parse().ok().filter(|limit| (1..=100).contains(limit));
        valid
            .ok_or_else(|| ApiError::invalid("'limit' is from 1 to 100.".to_owned()).param("limit"))
    })?;
    let mut all = shared.batches.batches(api);
    if let Some(last) = query.get(after) {
        let Some(place) = all.iter().position(|entry| entry.id == last) else {
            return Err(no_batch(last));
        };
        all.drain(..=place);
    }
    let has_more = all.len() > limit;
    all.truncate(limit);
    Ok((all, has_more))
}

/// The parameters of a URL. Ids and numbers need no decoding.
struct Query<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Query<'a> {
    fn new(query: &'a str) -> Self {
        Self(
            query
                .split('&')
                .filter_map(|pair| pair.split_once('='))
                .collect(),
        )
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        let pair = self.0.iter().find(|(key, _)| *key == name);
        pair.map(|(_, value)| *value)
    }
}
