//! The interfaces for batches: OpenAI's and Anthropic's.

use std::{collections::HashMap, fmt::Write as _};

use reqwest::Method;
use schema::JsonText;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::exchange::{Exchange, Refused, Upload};
use crate::{Api, openai::one_line};

/// A batch as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// This many of its requests are done.
    Going(u64),
    /// It has ended; what it left are the paths of files with results.
    Ended(Vec<String>),
    /// Nothing of it was done.
    Refused(String),
}

/// Sends a batch, and returns the provider's id.
pub(super) async fn send(
    api: Api,
    exchange: &Exchange,
    requests: &[(String, JsonText)],
) -> Result<String, Refused> {
    let sent = match api {
        Api::Messages => {
            let upload = messages_batch(requests);
            let path = "/messages/batches";
            exchange.json(Method::POST, path, Some(&upload)).await?
        }
        Api::ChatCompletions | Api::Responses => {
            let path = format!("/v1{}", api.path());
            let upload = file(&path, requests);
            let file = exchange.json(Method::POST, "/files", Some(&upload)).await?;
            let batch = Upload::json(&json!({
                "input_file_id": id_of(&file)?,
                "endpoint": path,
                "completion_window": "24h",
            }));
            exchange
                .json(Method::POST, "/batches", Some(&batch))
                .await?
        }
    };
    id_of(&sent)
}

fn id_of(answer: &Value) -> Result<String, Refused> {
    let id = answer["id"].as_str().filter(|id| is_id(id));
    id.map(str::to_owned)
        .ok_or_else(|| Refused::because("the answer has no usable `id`"))
}

/// Whether a text can stand in a path: it comes from outside.
fn is_id(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=200).contains(&text.len()) && text.bytes().all(is_plain) && !text.starts_with('.')
}

/// The body of `POST /messages/batches`.
fn messages_batch(requests: &[(String, JsonText)]) -> Upload {
    let mut body = String::from("{\"requests\":[");
    for (n, (id, params)) in requests.iter().enumerate() {
        let comma = if n == 0 { "" } else { "," };
        let params = params.get();
        // Writing to a text does not fail.
        let _ = write!(
            body,
            "{comma}{{\"custom_id\":\"{id}\",\"params\":{params}}}"
        );
    }
    body.push_str("]}");
    Upload {
        content_type: "application/json".to_owned(),
        bytes: body.into_bytes(),
    }
}

/// The file of requests as a form: one line each.
fn file(path: &str, requests: &[(String, JsonText)]) -> Upload {
    // Ids are hashes of the requests, so no request contains this one.
    let boundary = format!("probity-{}", requests.first().map_or("", |(id, _)| id));
    let mut body = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--{boundary}\r\nContent-Disposition: form-data; \
         name=\"file\"; filename=\"requests.jsonl\"\r\nContent-Type: application/jsonl\r\n\r\n"
    );
    for (id, request) in requests {
        let request = request.get();
        let _ = writeln!(
            body,
            "{{\"custom_id\":\"{id}\",\"method\":\"POST\",\"url\":\"{path}\",\"body\":{request}}}"
        );
    }
    let _ = write!(body, "\r\n--{boundary}--\r\n");
    Upload {
        content_type: format!("multipart/form-data; boundary={boundary}"),
        bytes: body.into_bytes(),
    }
}

/// Looks at a batch.
pub(super) async fn look(api: Api, exchange: &Exchange, batch: &str) -> Result<Progress, Refused> {
    if !is_id(batch) {
        return Err(Refused::because(format!("`{batch}` is no id of a batch")));
    }
    match api {
        Api::Messages => {
            let path = format!("/messages/batches/{batch}");
            let now = exchange.json(Method::GET, &path, None).await?;
            Ok(match now["processing_status"].as_str() {
                Some("ended") => Progress::Ended(vec![format!("{path}/results")]),
                _ => Progress::Going(done(
                    &now["request_counts"],
                    &["succeeded", "errored", "canceled", "expired"],
                )),
            })
        }
        Api::ChatCompletions | Api::Responses => {
            let now = exchange
                .json(Method::GET, &format!("/batches/{batch}"), None)
                .await?;
            Ok(match now["status"].as_str() {
                Some("completed" | "expired" | "cancelled") => {
                    let named = ["output_file_id", "error_file_id"].map(|name| now[name].as_str());
                    let files = named.into_iter().flatten().filter(|id| is_id(id));
                    Progress::Ended(files.map(|id| format!("/files/{id}/content")).collect())
                }
                Some("failed") => Progress::Refused(exchange.excerpt(&errors(&now["errors"]))),
                _ => Progress::Going(done(&now["request_counts"], &["completed", "failed"])),
            })
        }
    }
}

fn done(counts: &Value, names: &[&str]) -> u64 {
    let counts = names.iter().map(|name| counts[*name].as_u64());
    counts.map(Option::unwrap_or_default).sum()
}

/// Why a batch failed as a whole.
fn errors(errors: &Value) -> String {
    let all = errors["data"].as_array().into_iter().flatten();
    let mut texts = all.filter_map(|error| error["message"].as_str());
    texts
        .next()
        .unwrap_or("the provider does not say why")
        .to_owned()
}

/// A line of results: OpenAI's has a `response`, Anthropic's a `result`.
#[derive(Deserialize)]
struct Line<'a> {
    custom_id: String,
    #[serde(borrow, default)]
    response: Option<Response<'a>>,
    #[serde(borrow, default)]
    result: Option<MessageResult<'a>>,
}

#[derive(Deserialize)]
struct Response<'a> {
    status_code: u16,
    #[serde(borrow)]
    body: &'a RawValue,
}

#[derive(Deserialize)]
struct MessageResult<'a> {
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

/// The usable results of a batch that has ended, by the ids of its requests. Requests without one are not in it: refused, expired, cancelled.
pub(super) async fn results(
    exchange: &Exchange,
    paths: &[String],
) -> Result<HashMap<String, JsonText>, Refused> {
    let mut found = HashMap::new();
    for path in paths {
        exchange
            .lines(path, |line| {
                let Some((id, reply)) = usable(line) else {
                    return;
                };
                let text = exchange.scrubbed(one_line(reply.to_owned()));
                if let Ok(text) = JsonText::new(text) {
                    found.insert(id, text);
                }
            })
            .await?;
    }
    Ok(found)
}

/// The id and the reply of a line of results, if the request was answered.
fn usable(line: &[u8]) -> Option<(String, &str)> {
    let line: Line<'_> = serde_json::from_slice(line).ok()?;
    let reply = match (line.response, line.result) {
        (Some(response), _) => (200..300)
            .contains(&response.status_code)
            .then_some(response.body),
        (None, Some(result)) => result.message,
        (None, None) => None,
    };
    Some((line.custom_id, reply?.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_both_interfaces_are_read_and_what_was_not_answered_is_not() {
        for (line, expected) in [
            (
                r#"{"id":"b","custom_id":"k","response":{"status_code":200,"request_id":"r","body":{"a": 1}},"error":null}"#,
                Some("{\"a\": 1}"),
            ),
            (
                r#"{"custom_id":"k","result":{"type":"succeeded","message":{"type":"message"}}}"#,
                Some("{\"type\":\"message\"}"),
            ),
            (
                r#"{"id":"b","custom_id":"k","response":{"status_code":429,"body":{"error":{}}},"error":null}"#,
                None,
            ),
            (
                r#"{"custom_id":"k","response":null,"error":{"code":"batch_expired","message":"too late"}}"#,
                None,
            ),
            (
                r#"{"custom_id":"k","result":{"type":"errored","error":{"type":"error"}}}"#,
                None,
            ),
            (r#"{"custom_id":"k","result":{"type":"expired"}}"#, None),
            (r#"{"custom_id":7}"#, None),
            ("[1", None),
        ] {
            let found = usable(line.as_bytes());
            assert_eq!(
                found,
                expected.map(|reply| ("k".to_owned(), reply)),
                "{line}"
            );
        }
    }

    #[test]
    fn no_id_of_outside_leaves_its_place_in_a_path() {
        for id in ["batch_68.a-b", "msgbatch_01"] {
            assert!(is_id(id), "{id}");
        }
        for id in ["", "..", "a/b", "a?b", "a b", "ü", &"x".repeat(201)] {
            assert!(!is_id(id), "{id}");
        }
    }
}
