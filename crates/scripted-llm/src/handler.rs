//! Handles requests.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Body, Incoming},
    header::{ALLOW, AUTHORIZATION, CONNECTION, HeaderValue},
};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::{
    Role, batch,
    fault_reply::{self, Played},
    interface::Interface,
    reply::{Reply, ReplyBody},
    script::{self, Call},
    server::Shared,
    socket::Connection,
    stats::{CallCounts, Ticket},
    wire::{ApiError, ChatBody, Completion},
};

/// Answers one request.
pub(crate) async fn handle(
    shared: Arc<Shared>,
    connection: Arc<Connection>,
    request: Request<Incoming>,
) -> Result<Response<ReplyBody>, Infallible> {
    let path = request.uri().path().trim_end_matches('/');
    if let Some(interface) = Interface::at(path)
        && request.method() == Method::POST
    {
        let mut ticket = Ticket::new(&shared.counts, connection.first_use());
        let reply = chat(&shared, &mut ticket, request, interface)
            .await
            .unwrap_or_else(|error| error.reply());
        return Ok(interface.to_own(reply).send(Some((ticket, connection))));
    }
    if let Some(route) = batch::Route::at(path)
        && shared.batches.script().script.served
    {
        return Ok(batch::handle(&shared, route, request).await.send(None));
    }
    let reply = match (path, request.method()) {
        ("/v1/models" | "/models", &Method::GET) => match authorize(&shared, &request) {
            Ok(()) => models(),
            Err(error) => error.reply(),
        },
        ("/stats", &Method::GET) => stats(&shared),
        (path, method) if Interface::at(path).is_some() => wrong_method(method, "POST"),
        ("/v1/models" | "/models" | "/stats", method) => wrong_method(method, "GET"),
        (path, method) => ApiError::new(
            StatusCode::NOT_FOUND,
            "invalid_request_error",
            format!("Unknown request URL: {method} {path}. The chat endpoint is POST /v1/chat/completions."),
        )
        .code("unknown_url")
        .reply(),
    };
    Ok(reply.send(None))
}

/// Status 405.
pub(crate) fn wrong_method(method: &Method, allowed: &'static str) -> Reply {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "invalid_request_error",
        format!("Not allowed to {method} on this URL; use {allowed}."),
    )
    .code("method_not_supported")
    .reply()
    .with_header(ALLOW, HeaderValue::from_static(allowed))
}

fn models() -> Reply {
    let data: Vec<_> = Role::ALL
        .iter()
        .map(|role| {
            serde_json::json!({"id": role.model(), "object": "model", "created": 0, "owned_by": "scripted"})
        })
        .collect();
    let list = serde_json::json!({"object": "list", "data": data});
    Reply::json(StatusCode::OK, list.to_string())
}

fn stats(shared: &Shared) -> Reply {
    match serde_json::to_vec(&shared.counts.snapshot()) {
        Ok(body) => Reply::json(StatusCode::OK, body),
        Err(error) => internal(&error).reply(),
    }
}

fn internal(error: &serde_json::Error) -> ApiError {
    ApiError::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "server_error",
        format!("The reply could not be written as JSON: {error}"),
    )
}

/// Refuses a request without the key that the server requires.
pub(crate) fn authorize(shared: &Shared, request: &Request<Incoming>) -> Result<(), ApiError> {
    let Some(key) = &shared.key else {
        return Ok(());
    };
    let plain = key.0.strip_prefix("Bearer ").unwrap_or(&key.0);
    let given = request.headers().get("x-api-key");
    if given.is_some_and(|given| given.as_bytes() == plain.as_bytes()) {
        return Ok(());
    }
    match request.headers().get(AUTHORIZATION) {
        Some(given) if given.as_bytes() == key.0.as_bytes() => Ok(()),
        Some(_) => Err(ApiError::new(
            StatusCode::UNAUTHORIZED,
            "invalid_request_error",
            "Incorrect API key provided.".to_owned(),
        )
        .code("invalid_api_key")),
        None => Err(ApiError::new(
            StatusCode::UNAUTHORIZED,
            "invalid_request_error",
            "You did not provide an API key: send it as 'Authorization: Bearer KEY'.".to_owned(),
        )),
    }
}

/// Reads the body, and refuses a body that is larger than the cap.
pub(crate) async fn collect(shared: &Shared, body: Incoming) -> Result<Bytes, Reply> {
    let too_large = || {
        let error = ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "invalid_request_error",
            format!("The request body is larger than {} bytes.", shared.body_cap),
        );
        // The rest of the body is not read, so the connection cannot be reused.
        error
            .reply()
            .with_header(CONNECTION, HeaderValue::from_static("close"))
    };
    if body.size_hint().lower() > shared.body_cap as u64 {
        return Err(too_large());
    }
    match Limited::new(body, shared.body_cap).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
        Err(error) => {
            Err(ApiError::invalid(format!("The request body broke off: {error}")).reply())
        }
    }
}

async fn chat(
    shared: &Shared,
    ticket: &mut Ticket,
    request: Request<Incoming>,
    interface: Interface,
) -> Result<Reply, ApiError> {
    let arrived = Instant::now();
    let authorized = authorize(shared, &request).and_then(|()| interface.check(request.headers()));
    let body = match collect(shared, request.into_body()).await {
        Ok(body) => body,
        Err(reply) => return Ok(reply),
    };
    authorized?;
    if shared.counts.records_bodies() {
        ticket.received(Sha256::digest(&body).into());
    }
    let answer = answer(shared, &shared.counts.direct, &body, interface)?;
    // Held and sleeping calls are small.
    drop(body);
    let played = match (&shared.limiter, answer.played) {
        (Some(limiter), Played::Regular(reply)) => match limiter.pass(reply, arrived) {
            (refusal, true) => {
                shared.counts.direct.fault();
                return Ok(refusal);
            }
            (reply, false) => Played::Regular(reply),
        },
        (_, played) => played,
    };
    shared.gate.pass().await;
    tokio::time::sleep_until(arrived + answer.latency).await;
    match played {
        Played::Regular(reply) => {
            ticket.regular();
            Ok(reply)
        }
        Played::Faulty(reply) => Ok(reply),
        Played::Silence => std::future::pending().await,
    }
}

/// A reply, or no reply, and the time when it is due.
pub(crate) struct Due {
    pub(crate) played: Played,
    latency: std::time::Duration,
}

/// Computes the answer to a body that has arrived: that of a direct call, or that of an item of a batch. The reply is in the form of chat
/// completions. Keeps nothing of the request.
pub(crate) fn answer(
    shared: &Shared,
    counts: &CallCounts,
    body: &Bytes,
    interface: Interface,
) -> Result<Due, ApiError> {
    shared.kept.keep(body);
    let caches = shared.prompt_cache.as_ref();
    let cache_use = caches.map(|caches| caches.pass(body, interface));
    let body = interface.to_chat(Bytes::clone(body))?;
    let due = match &shared.scripted {
        Some(scripted) => own_answer(shared, counts, scripted.play(&body)?),
        None => scripted_answer(shared, counts, &body)?,
    };
    Ok(match (due.played, cache_use) {
        (Played::Regular(reply), Some(used)) => Due {
            played: Played::Regular(used.in_usage(reply)),
            ..due
        },
        (played, _) => Due { played, ..due },
    })
}

/// An answer from the function of [`Builder::answer`](crate::Builder::answer).
fn own_answer(shared: &Shared, counts: &CallCounts, played: Played) -> Due {
    counts.model(None);
    if matches!(played, Played::Faulty(_)) {
        counts.fault();
    }
    let latency = shared.latency(0);
    Due { played, latency }
}

/// An answer from the scripted models.
fn scripted_answer(shared: &Shared, counts: &CallCounts, body: &[u8]) -> Result<Due, ApiError> {
    let request = ChatBody::read(body)?;
    let name = request.model.as_deref().unwrap_or_default();
    let role = Role::of_model(name);
    counts.model(role);
    let role = role.ok_or_else(|| {
        ApiError::new(
            StatusCode::NOT_FOUND,
            "invalid_request_error",
            format!("The model '{name}' does not exist. GET /v1/models lists the models."),
        )
        .param("model")
        .code("model_not_found")
    })?;
    let hash = request.hash();
    let call = Call::new(role, &request, &hash);
    counts.task(call.task);
    let latency = shared.latency(call.seed);
    let fault = shared.faults.pick(role, call.task, &request);
    let output = script::output(&call);
    let Some(fault) = fault else {
        let completion = Completion::new(&request, &hash, role.model(), &output);
        let body = serde_json::to_vec(&completion).map_err(|error| internal(&error))?;
        let played = Played::Regular(Reply::json(StatusCode::OK, body));
        return Ok(Due { played, latency });
    };
    counts.fault();
    let completion = |output| Completion::new(&request, &hash, role.model(), output);
    let played = fault_reply::play(&fault, &request, &output, completion)
        .map_err(|error| internal(&error))?;
    Ok(Due {
        played,
        latency: latency + fault.delay(),
    })
}
