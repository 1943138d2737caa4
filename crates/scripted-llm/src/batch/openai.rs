//! OpenAI's files and batches.

use bytes::Bytes;
use hyper::{HeaderMap, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    BatchApi, Query, Resource, advanced, content_type, find, lines, not_found, page,
    progress::{About, Batch, Outcome, State},
    script::BatchStep,
    store::{Entry, File},
    upload,
};
use crate::{interface::Interface, reply::Reply, server::Shared, wire::ApiError};

/// The seconds until a batch expires: its `completion_window`.
const WINDOW_SECONDS: i64 = 24 * 60 * 60;

pub(super) async fn perform(
    shared: &Shared,
    resource: &Resource,
    step: BatchStep,
    headers: &HeaderMap,
    query: &Query<'_>,
    body: Bytes,
) -> Result<Reply, ApiError> {
    let value = match (resource, step) {
        (Resource::Files, _) => {
            let file = upload::read(content_type(headers), body).await?;
            let id = shared.batches.add_file(file.clone())?;
            file_object(&id, &file)
        }
        (Resource::File(id), BatchStep::Delete) => {
            let deleted = shared.batches.delete_file(id);
            deleted.ok_or_else(|| no_file(id))?;
            json!({"id": id, "object": "file", "deleted": true})
        }
        (Resource::File(id), _) => file_object(id, &file(shared, id)?),
        (Resource::Content(id), _) => return Ok(content(&file(shared, id)?)),
        (Resource::Batches, BatchStep::Create) => create(shared, &body).await?,
        (Resource::Batches, _) => list(shared, query).await?,
        (Resource::Cancel(id), _) => cancel(shared, id).await?,
        (Resource::Batch(id) | Resource::Results(id), _) => {
            let entry = find(shared, BatchApi::OpenAi, id)?;
            let batch = advanced(shared, &entry).await;
            object(&entry.id, &batch)
        }
    };
    Ok(Reply::json(StatusCode::OK, value.to_string()))
}

fn no_file(id: &str) -> ApiError {
    not_found(format!("No such File object: {id}")).param("id")
}

fn file(shared: &Shared, id: &str) -> Result<File, ApiError> {
    shared.batches.file(id).ok_or_else(|| no_file(id))
}

fn file_object(id: &str, file: &File) -> Value {
    json!({
        "id": id, "object": "file", "bytes": file.content.len(), "created_at": file.created.as_second(), "expires_at": null,
        "filename": file.name, "purpose": file.purpose, "status": "processed", "status_details": null,
    })
}

fn content(file: &File) -> Reply {
    Reply {
        content_type: "application/octet-stream",
        ..Reply::json(StatusCode::OK, Bytes::clone(&file.content))
    }
}

async fn create(shared: &Shared, body: &[u8]) -> Result<Value, ApiError> {
    let request: Value = serde_json::from_slice(body).map_err(|error| {
        ApiError::invalid(format!("The request body cannot be read as JSON: {error}"))
    })?;
    let text = |name: &'static str| {
        request[name].as_str().ok_or_else(|| {
            ApiError::invalid(format!("Missing required parameter: '{name}'."))
                .param(name)
                .code("missing_required_parameter")
        })
    };
    let (input_file, endpoint) = (text("input_file_id")?, text("endpoint")?);
    let interface = interface(endpoint)?;
    if text("completion_window")? != "24h" {
        let message = "Invalid value for 'completion_window': use '24h'.".to_owned();
        return Err(ApiError::invalid(message).param("completion_window"));
    }
    let uploaded = shared.batches.file(input_file);
    let input = uploaded
        .filter(|file| file.purpose == "batch")
        .ok_or_else(|| {
            let message = format!("'{input_file}' is not a file with the purpose 'batch'.");
            ApiError::invalid(message)
                .param("input_file_id")
                .code("invalid_input_file")
        })?;
    let about = About::OpenAi {
        input_file: input_file.to_owned(),
        endpoint: endpoint.to_owned(),
        metadata: request["metadata"].clone(),
        output_file: None,
        error_file: None,
    };
    let (items, errors) = match lines::read(&input.content, endpoint) {
        Ok(items) => (items, Vec::new()),
        Err(errors) => (Vec::new(), errors),
    };
    let mut batch = Batch::new(shared.batches.script(), interface, items, about);
    batch.errors = errors;
    let entry = shared.batches.add_batch(BatchApi::OpenAi, batch, 0)?;
    let batch = entry.batch.lock().await;
    batch.count(shared);
    Ok(object(&entry.id, &batch))
}

/// The interface at the endpoint of a batch.
fn interface(endpoint: &str) -> Result<Interface, ApiError> {
    let interface = Interface::at(endpoint)
        .filter(|interface| endpoint.starts_with("/v1/") && *interface != Interface::Messages);
    interface.ok_or_else(|| {
        ApiError::invalid(format!(
            "Invalid value: '{endpoint}'. Supported values are: '/v1/chat/completions' and '/v1/responses'."
        ))
        .param("endpoint")
        .code("invalid_value")
    })
}

async fn list(shared: &Shared, query: &Query<'_>) -> Result<Value, ApiError> {
    let (entries, has_more) = page(shared, BatchApi::OpenAi, query, "after")?;
    let mut data = Vec::new();
    for entry in &entries {
        data.push(object(&entry.id, &*advanced(shared, entry).await));
    }
    Ok(json!({
        "object": "list", "data": data, "first_id": entries.first().map(|entry| &entry.id),
        "last_id": entries.last().map(|entry| &entry.id), "has_more": has_more,
    }))
}

async fn cancel(shared: &Shared, id: &str) -> Result<Value, ApiError> {
    let entry = find(shared, BatchApi::OpenAi, id)?;
    let mut batch = advanced(shared, &entry).await;
    if !batch.cancel() {
        let status = batch.state.as_str();
        let message = format!("Cannot cancel a batch with status '{status}'.");
        return Err(ApiError::invalid(message));
    }
    Ok(object(&entry.id, &batch))
}

/// Writes the output file and the error file of a batch that has ended.
pub(super) fn write_files(shared: &Shared, entry: &Entry, batch: &mut Batch) {
    if batch.state == State::Failed {
        return;
    }
    let (output, errors) = lines::write(batch.written());
    let add = |content: Vec<u8>, kind: &str| {
        (!content.is_empty()).then(|| {
            shared.batches.add_output(File {
                name: format!("{}_{kind}.jsonl", entry.id),
                purpose: "batch_output".to_owned(),
                created: Timestamp::now(),
                content: content.into(),
            })
        })
    };
    if let About::OpenAi {
        output_file,
        error_file,
        ..
    } = &mut batch.about
    {
        *output_file = add(output, "output");
        *error_file = add(errors, "error");
    }
    batch.forget_replies();
}

fn object(id: &str, batch: &Batch) -> Value {
    let About::OpenAi {
        input_file,
        endpoint,
        metadata,
        output_file,
        error_file,
    } = &batch.about
    else {
        return Value::Null;
    };
    let times = &batch.times;
    let seconds = |time: Option<Timestamp>| time.map(Timestamp::as_second);
    let ended_as = |state| seconds(times.ended.filter(|_| batch.state == state));
    json!({
        "id": id, "object": "batch", "endpoint": endpoint, "errors": errors(batch), "input_file_id": input_file,
        "completion_window": "24h", "status": batch.state.as_str(), "output_file_id": output_file, "error_file_id": error_file,
        "created_at": times.created.as_second(), "in_progress_at": seconds(times.in_progress),
        "expires_at": times.created.as_second() + WINDOW_SECONDS, "finalizing_at": seconds(times.finalizing),
        "completed_at": ended_as(State::Completed), "failed_at": ended_as(State::Failed), "expired_at": ended_as(State::Expired),
        "cancelling_at": seconds(times.cancelling), "cancelled_at": ended_as(State::Cancelled),
        "request_counts": counts(batch), "metadata": metadata,
    })
}

/// Null when nothing is wrong with the input.
fn errors(batch: &Batch) -> Value {
    if batch.state != State::Failed {
        return Value::Null;
    }
    let error = |error: &super::progress::InputError| json!({"code": error.code, "message": error.message, "param": error.param, "line": error.line});
    let mut data: Vec<Value> = batch.errors.iter().map(error).collect();
    if data.is_empty() {
        let message = "The validation of the batch failed.";
        data.push(
            json!({"code": "validation_failed", "message": message, "param": null, "line": null}),
        );
    }
    json!({"object": "list", "data": data})
}

/// Items are counted from the end of the validation on; those that expired or were cancelled only in the total.
fn counts(batch: &Batch) -> Value {
    let is_counted = match batch.state {
        State::Validating | State::Failed => false,
        State::Cancelling => batch.times.in_progress.is_some(),
        _ => true,
    };
    let outcomes = batch.items.iter().filter_map(|item| item.outcome.as_ref());
    let (mut completed, mut failed) = (0, 0);
    for outcome in outcomes {
        match outcome {
            Outcome::Reply(StatusCode::OK, _) => completed += 1,
            Outcome::Reply(..) | Outcome::TimedOut => failed += 1,
            Outcome::Expired | Outcome::Cancelled => {}
        }
    }
    let total = if is_counted { batch.items.len() } else { 0 };
    json!({"total": total, "completed": completed, "failed": failed})
}
