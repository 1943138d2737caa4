//! Anthropic's batches of messages.

use std::{borrow::Cow, collections::HashSet};

use bytes::Bytes;
use hyper::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};

use super::{
    BatchApi, Query, Resource, advanced, find,
    lines::json_of,
    page,
    progress::{About, Batch, Item, Outcome, State},
    script::{BatchEnd, BatchStep},
};
use crate::{interface::Interface, reply::Reply, server::Shared, wire::ApiError};

/// The most requests of a batch.
const MOST_REQUESTS: usize = 100_000;
/// The time until a batch expires.
const WINDOW: SignedDuration = SignedDuration::from_hours(24);

pub(super) async fn perform(
    shared: &Shared,
    resource: &Resource,
    step: BatchStep,
    query: &Query<'_>,
    body: Bytes,
) -> Result<Reply, ApiError> {
    let value = match (resource, step) {
        (Resource::Batches, BatchStep::Create) => create(shared, &body).await?,
        (Resource::Batches, _) => list(shared, query).await?,
        (Resource::Results(id), _) => return results(shared, id).await,
        (Resource::Cancel(id), _) => cancel(shared, id).await?,
        (Resource::Batch(id), BatchStep::Delete) => delete(shared, id).await?,
        (Resource::Batch(id) | Resource::File(id) | Resource::Content(id), _) => {
            let entry = find(shared, BatchApi::Anthropic, id)?;
            let batch = advanced(shared, &entry).await;
            object(shared, &entry.id, &batch)
        }
        (Resource::Files, _) => Value::Null,
    };
    Ok(Reply::json(StatusCode::OK, value.to_string()))
}

async fn create(shared: &Shared, body: &Bytes) -> Result<Value, ApiError> {
    let active = shared.batches.script();
    if active.script.end == BatchEnd::Failed {
        return Err(ApiError::invalid(
            "requests: The validation of the batch failed.".to_owned(),
        ));
    }
    let about = About::Anthropic {
        bytes: body.len(),
        results: Bytes::new(),
    };
    let batch = Batch::new(active, Interface::Messages, read(body)?, about);
    let entry = shared
        .batches
        .add_batch(BatchApi::Anthropic, batch, body.len())?;
    let batch = entry.batch.lock().await;
    batch.count(shared);
    Ok(object(shared, &entry.id, &batch))
}

/// The items of a request.
fn read(body: &Bytes) -> Result<Vec<Item>, ApiError> {
    #[derive(Deserialize)]
    struct Body<'a> {
        #[serde(borrow)]
        requests: Vec<Request<'a>>,
    }
    #[derive(Deserialize)]
    struct Request<'a> {
        #[serde(borrow)]
        custom_id: Cow<'a, str>,
        #[serde(borrow)]
        params: &'a RawValue,
    }
    let request: Body<'_> = serde_json::from_slice(body).map_err(|error| {
        ApiError::invalid(format!("The request body cannot be read as JSON: {error}"))
    })?;
    if !(1..=MOST_REQUESTS).contains(&request.requests.len()) {
        let message = format!("requests: from 1 to {MOST_REQUESTS} are allowed");
        return Err(ApiError::invalid(message));
    }
    let mut seen = HashSet::new();
    let mut items = Vec::new();
    for (place, Request { custom_id, params }) in request.requests.into_iter().enumerate() {
        let is_valid = (1..=64).contains(&custom_id.len())
            && custom_id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if !is_valid {
            return Err(ApiError::invalid(format!(
                "requests.{place}.custom_id: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"
            )));
        }
        let item = Item::new(
            custom_id.clone().into_owned(),
            body.slice_ref(params.get().as_bytes()),
        );
        if !seen.insert(custom_id) {
            return Err(ApiError::invalid(format!(
                "requests.{place}.custom_id: '{}' is not unique within the batch",
                item.custom_id
            )));
        }
        items.push(item);
    }
    Ok(items)
}

async fn list(shared: &Shared, query: &Query<'_>) -> Result<Value, ApiError> {
    let (entries, has_more) = page(shared, BatchApi::Anthropic, query, "after_id")?;
    let mut data = Vec::new();
    for entry in &entries {
        data.push(object(shared, &entry.id, &*advanced(shared, entry).await));
    }
    Ok(json!({
        "data": data, "has_more": has_more, "first_id": entries.first().map(|entry| &entry.id),
        "last_id": entries.last().map(|entry| &entry.id),
    }))
}

async fn results(shared: &Shared, id: &str) -> Result<Reply, ApiError> {
    let entry = find(shared, BatchApi::Anthropic, id)?;
    let batch = advanced(shared, &entry).await;
    match &batch.about {
        About::Anthropic { results, .. } if batch.state.is_end() => Ok(Reply {
            content_type: "application/x-jsonl",
            ..Reply::json(StatusCode::OK, Bytes::clone(results))
        }),
        _ => Err(ApiError::invalid(format!(
            "Batch '{id}' has no results yet: its processing has not ended."
        ))),
    }
}

async fn cancel(shared: &Shared, id: &str) -> Result<Value, ApiError> {
    let entry = find(shared, BatchApi::Anthropic, id)?;
    let mut batch = advanced(shared, &entry).await;
    if !batch.cancel() {
        return Err(ApiError::invalid(format!(
            "Batch '{id}' cannot be canceled: its processing has ended."
        )));
    }
    Ok(object(shared, &entry.id, &batch))
}

async fn delete(shared: &Shared, id: &str) -> Result<Value, ApiError> {
    let entry = find(shared, BatchApi::Anthropic, id)?;
    let batch = advanced(shared, &entry).await;
    if !batch.state.is_end() {
        return Err(ApiError::invalid(format!(
            "Batch '{id}' cannot be deleted: its processing has not ended. Cancel it first."
        )));
    }
    if let About::Anthropic { bytes, .. } = &batch.about {
        shared.batches.delete_batch(id);
        shared.batches.resize(*bytes, 0);
    }
    Ok(json!({"id": id, "type": "message_batch_deleted"}))
}

/// Writes the results of a batch that has ended.
pub(super) fn write_results(shared: &Shared, batch: &mut Batch) {
    let mut lines = Vec::new();
    for item in batch.written() {
        // Nothing here can fail to be written.
        if serde_json::to_writer(&mut lines, &line(item)).is_ok() {
            lines.push(b'\n');
        }
    }
    if let About::Anthropic { bytes, results } = &mut batch.about {
        shared.batches.resize(*bytes, lines.len());
        *bytes = lines.len();
        *results = lines.into();
    }
    batch.forget_replies();
}

#[derive(Serialize)]
struct ResultLine<'a> {
    custom_id: &'a str,
    result: ItemResult<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ItemResult<'a> {
    Succeeded { message: Cow<'a, RawValue> },
    Errored { error: Value },
    Canceled,
    Expired,
}

fn line(item: &Item) -> ResultLine<'_> {
    let result = match &item.outcome {
        Some(Outcome::Reply(StatusCode::OK, body)) => ItemResult::Succeeded {
            message: json_of(body),
        },
        Some(Outcome::Reply(status, body)) => ItemResult::Errored {
            error: error_object(*status, body),
        },
        Some(Outcome::TimedOut) => ItemResult::Errored {
            error: error_object(StatusCode::GATEWAY_TIMEOUT, b""),
        },
        Some(Outcome::Expired) => ItemResult::Expired,
        Some(Outcome::Cancelled) | None => ItemResult::Canceled,
    };
    ResultLine {
        custom_id: &item.custom_id,
        result,
    }
}

/// A reply with its error in Anthropic's form.
pub(super) fn with_own_error(mut reply: Reply) -> Reply {
    let is_error = !reply.status.is_success()
        && serde_json::from_slice::<Value>(&reply.body).is_ok_and(|body| body["error"].is_object());
    if is_error {
        reply.body = error_object(reply.status, &reply.body).to_string().into();
    }
    reply
}

/// The error of a reply with this status and this body in OpenAI's form.
fn error_object(status: StatusCode, body: &[u8]) -> Value {
    let kind = match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let message = body["error"]["message"].as_str();
    let or_else = || status.canonical_reason().unwrap_or("Error");
    json!({"type": "error", "error": {"type": kind, "message": message.unwrap_or_else(or_else)}})
}

fn object(shared: &Shared, id: &str, batch: &Batch) -> Value {
    let times = &batch.times;
    let has_ended = batch.state.is_end();
    let status = match batch.state {
        _ if has_ended => "ended",
        State::Cancelling => "canceling",
        _ => "in_progress",
    };
    let results =
        has_ended.then(|| format!("http://{}/v1/messages/batches/{id}/results", shared.address));
    let text = |time: Option<Timestamp>| time.map(|time| time.to_string());
    json!({
        "id": id, "type": "message_batch", "processing_status": status, "request_counts": counts(batch),
        "ended_at": text(times.ended), "created_at": times.created.to_string(),
        "expires_at": text(times.created.checked_add(WINDOW).ok()), "archived_at": null,
        "cancel_initiated_at": text(times.cancelling), "results_url": results,
    })
}

/// All items are counted as being processed until the whole batch has ended.
fn counts(batch: &Batch) -> Value {
    let count = |is_counted: fn(&Outcome) -> bool| {
        let outcomes = batch.items.iter().filter_map(|item| item.outcome.as_ref());
        let is_ended = batch.state.is_end();
        outcomes
            .filter(|outcome| is_ended && is_counted(outcome))
            .count()
    };
    json!({
        "processing": if batch.state.is_end() { 0 } else { batch.items.len() },
        "succeeded": count(|outcome| matches!(outcome, Outcome::Reply(StatusCode::OK, _))),
        "errored": count(|outcome| match outcome {
            Outcome::Reply(status, _) => *status != StatusCode::OK,
            outcome => matches!(outcome, Outcome::TimedOut),
        }),
        "canceled": count(|outcome| matches!(outcome, Outcome::Cancelled)),
        "expired": count(|outcome| matches!(outcome, Outcome::Expired)),
    })
}
