//! OpenAI's files and batches.

use std::time::Duration;

use super::{
    at_once, batch, body, call, create, ids, input, jsonl, line, lines, server, upload, with,
};
use crate::client::{post, send, send_with};
use scripted_llm::{BatchEnd, BatchScript, ScriptedServer};
use serde_json::{Value, json};

#[tokio::test]
async fn items_are_answered_with_the_bytes_of_the_direct_calls() {
    let server = server().await;
    let texts = ["Hello", "That cannot be right!", "Promise me."];
    let id = create(&server, &input(&texts)).await;
    let ended = batch(&server, &id).await;
    assert_eq!(ended["object"], "batch");
    assert_eq!(ended["status"], "completed");
    assert_eq!(
        ended["request_counts"],
        json!({"total": 3, "completed": 3, "failed": 0})
    );
    assert_eq!(ended["metadata"], json!({"run": "7"}));
    assert_eq!(
        (&ended["errors"], &ended["error_file_id"]),
        (&Value::Null, &Value::Null)
    );
    assert!(ended["completed_at"].as_i64() >= ended["created_at"].as_i64());
    assert!(ended["failed_at"].is_null());

    let path = format!(
        "/v1/files/{}/content",
        ended["output_file_id"].as_str().unwrap()
    );
    let output = send(&server, "GET", &path, None, "").await.unwrap().body;
    let output = std::str::from_utf8(&output).unwrap().to_owned();
    assert_eq!(
        ids(&jsonl(output.as_bytes())),
        ["item-0", "item-1", "item-2"]
    );
    for (text, line) in texts.iter().zip(output.lines()) {
        let direct = post(&server, body("scripted-careful", text).to_string()).await;
        let direct = std::str::from_utf8(&direct.body).unwrap();
        assert!(line.contains(&format!("\"body\":{direct}}}")), "{line}");
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["response"]["status_code"], 200);
        assert!(line["error"].is_null() && line["id"].is_string());
    }
}

#[tokio::test]
async fn items_are_counted_apart_from_calls() {
    let server = ScriptedServer::builder()
        .batches(at_once())
        .keep_requests(9)
        .start()
        .await
        .unwrap();
    let id = create(&server, &input(&["a", "b", "a"])).await;
    let stats = server.stats();
    assert_eq!(
        (
            stats.batches.created,
            stats.batches.items,
            stats.batches.answered
        ),
        (1, 3, 0)
    );
    batch(&server, &id).await;
    batch(&server, &id).await;
    let stats = server.stats();
    assert_eq!(
        (
            stats.batches.answered,
            stats.batches.polls,
            stats.batches.faults
        ),
        (3, 2, 0)
    );
    assert_eq!(
        stats.batches.by_model,
        [("scripted-careful".to_owned(), 3)].into()
    );
    assert_eq!(
        stats.batches.by_task,
        [("target_turn".to_owned(), 3)].into()
    );
    let mut bodies: Vec<_> = stats
        .batches
        .bodies
        .values()
        .map(|body| (body.received, body.answered))
        .collect();
    bodies.sort_unstable();
    assert_eq!(bodies, [(1, 1), (2, 2)]);
    assert_eq!(
        (
            stats.requests,
            stats.answered,
            stats.by_model.len(),
            stats.bodies.len()
        ),
        (0, 0, 0, 0)
    );
    assert_eq!(server.requests()[1], body("scripted-careful", "b"));
}

#[tokio::test]
async fn a_batch_passes_through_its_states_in_time() {
    let script = BatchScript {
        duration: Duration::from_millis(500),
        ..BatchScript::default()
    };
    let server = with(script).await;
    let id = create(&server, &input(&["x"; 20])).await;
    let (mut states, mut counts) = (Vec::new(), Vec::new());
    loop {
        let now = batch(&server, &id).await;
        let state = now["status"].as_str().unwrap().to_owned();
        if state == "in_progress" {
            counts.push(now["request_counts"]["completed"].as_u64().unwrap());
            assert_eq!(now["request_counts"]["total"], 20);
        }
        if states.last() != Some(&state) {
            states.push(state.clone());
        }
        if state == "completed" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // A slow machine may skip some, but never the order.
    let order = ["validating", "in_progress", "finalizing", "completed"];
    let mut places = states
        .iter()
        .map(|state| order.iter().position(|of| of == state).unwrap());
    assert!(
        places.clone().is_sorted() && places.next_back() == Some(3),
        "{states:?}"
    );
    assert!(
        counts.is_sorted() && counts.iter().all(|count| *count <= 20),
        "{counts:?}"
    );
}

#[tokio::test]
async fn items_that_cannot_be_served_are_in_the_error_file() {
    let server = server().await;
    let id = create(&server, &line("a", &body("gpt-x", "Hello").to_string())).await;
    let ended = batch(&server, &id).await;
    assert_eq!(ended["status"], "completed");
    assert_eq!(
        ended["request_counts"],
        json!({"total": 1, "completed": 0, "failed": 1})
    );
    assert!(ended["output_file_id"].is_null());
    let errors = lines(&server, &ended["error_file_id"]).await;
    assert_eq!(errors[0]["custom_id"], "a");
    assert_eq!(errors[0]["response"]["status_code"], 404);
    assert_eq!(
        errors[0]["response"]["body"]["error"]["code"],
        "model_not_found"
    );
    assert!(errors[0]["error"].is_null());
}

#[tokio::test]
async fn an_input_that_is_not_valid_fails_the_batch() {
    let server = server().await;
    let hello = body("scripted-careful", "Hello").to_string();
    let twice = line("a", &hello) + &line("b", &hello) + &line("a", &hello);
    let models = line("a", &hello) + &line("b", &body("scripted-agreeable", "Hello").to_string());
    for (content, code, at) in [
        (String::new(), "empty_file", None),
        (
            format!("{}no json\n", line("a", &hello)),
            "invalid_json_line",
            Some(2),
        ),
        (twice, "duplicate_custom_id", Some(3)),
        (models, "mismatched_model", Some(2)),
        (
            line("a", &hello).replace("POST", "GET"),
            "invalid_method",
            Some(1),
        ),
        (
            line("a", &hello).replace("/v1/chat/completions", "/v1/responses"),
            "mismatched_endpoint",
            Some(1),
        ),
        (
            line("a", &hello).replace("custom_id", "id"),
            "missing_required_parameter",
            Some(1),
        ),
        (line("a", "{}"), "missing_required_parameter", Some(1)),
        (line("a", "5"), "invalid_request", Some(1)),
    ] {
        let id = create(&server, &content).await;
        let failed = batch(&server, &id).await;
        assert_eq!(failed["status"], "failed", "{content}");
        assert_eq!(failed["errors"]["data"][0]["code"], code, "{failed}");
        assert_eq!(failed["errors"]["data"][0]["line"].as_u64(), at, "{failed}");
        assert!(failed["output_file_id"].is_null() && failed["error_file_id"].is_null());
        assert_eq!(failed["request_counts"]["total"], 0);
    }
    assert_eq!(server.stats().batches.items, 0);
}

#[tokio::test]
async fn requests_that_cannot_be_served_are_refused() {
    let server = server().await;
    let file = upload(&server, &input(&["a"])).await.json();
    let valid = json!({"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"});
    for (key, value) in [
        ("input_file_id", json!("file-none")),
        ("input_file_id", json!(null)),
        ("endpoint", json!("/v1/embeddings")),
        ("endpoint", json!("/v1/messages")),
        ("completion_window", json!("1h")),
    ] {
        let mut request = valid.clone();
        request[key] = value;
        let answer = send(&server, "POST", "/v1/batches", None, request.to_string())
            .await
            .unwrap();
        assert_eq!(answer.status, 400, "{request}");
        assert_eq!(answer.json()["error"]["param"], key);
    }
    let boundary = [("content-type", "multipart/form-data; boundary=x")];
    let no_purpose = "--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n{}\r\n--x--\r\n";
    for (headers, form) in [
        (&boundary[..0], "{}"),
        (&boundary[..], "{}"),
        (&boundary[..], no_purpose),
    ] {
        let answer = send_with(&server, "POST", "/v1/files", headers, form)
            .await
            .unwrap();
        assert_eq!(answer.status, 400, "{form}");
    }
    for (method, path, status) in [
        ("GET", "/v1/files", 405),
        ("GET", "/v1/files/file-none", 404),
        ("GET", "/v1/files/file-none/content", 404),
        ("DELETE", "/v1/files/file-none", 404),
        ("DELETE", "/v1/batches/batch_none", 405),
        ("GET", "/v1/batches/batch_none", 404),
        ("POST", "/v1/batches/batch_none/cancel", 404),
        ("POST", "/v1/batches", 400),
    ] {
        let answer = send(&server, method, path, None, "").await.unwrap();
        assert_eq!(answer.status, status, "{method} {path}");
        assert!(answer.json()["error"]["message"].is_string());
    }
    assert_eq!(server.stats().batches.created, 0);
}

#[tokio::test]
async fn files_are_described_and_deleted() {
    let server = server().await;
    let content = input(&["a"]);
    let file = upload(&server, &content).await.json();
    let path = format!("/v1/files/{}", file["id"].as_str().unwrap());
    assert_eq!(call(&server, "GET", &path, "").await, file);
    assert_eq!(
        (&file["filename"], &file["purpose"]),
        (&json!("in.jsonl"), &json!("batch"))
    );
    assert_eq!(file["bytes"], content.len());
    assert_eq!(lines(&server, &file["id"]).await.len(), 1);
    assert_eq!(call(&server, "DELETE", &path, "").await["deleted"], true);
    assert_eq!(
        send(&server, "GET", &path, None, "").await.unwrap().status,
        404
    );
}

#[tokio::test]
async fn batches_are_listed_newest_first() {
    let server = server().await;
    let mut created = Vec::new();
    for _ in 0..3 {
        created.insert(0, create(&server, &input(&["a"])).await);
    }
    let all = call(&server, "GET", "/v1/batches", "").await;
    let ids = |list: &Value| -> Vec<String> {
        let batches = list["data"].as_array().unwrap().iter();
        batches
            .map(|batch| batch["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        (ids(&all), &all["has_more"]),
        (created.clone(), &json!(false))
    );
    let first = call(&server, "GET", "/v1/batches?limit=2", "").await;
    assert_eq!(
        (ids(&first), &first["has_more"]),
        (created[..2].to_vec(), &json!(true))
    );
    let path = format!(
        "/v1/batches?limit=2&after={}",
        first["last_id"].as_str().unwrap()
    );
    assert_eq!(ids(&call(&server, "GET", &path, "").await), created[2..]);
    for (path, status) in [
        ("/v1/batches?limit=0", 400),
        ("/v1/batches?after=batch_none", 404),
    ] {
        assert_eq!(
            send(&server, "GET", path, None, "").await.unwrap().status,
            status
        );
    }
}

#[tokio::test]
async fn a_client_cancels_a_batch_and_gets_what_was_answered() {
    let script = BatchScript {
        end: BatchEnd::Stalled { after: 2 },
        ..at_once()
    };
    let server = with(script).await;
    let id = create(&server, &input(&["a", "b", "c"])).await;
    let stalled = batch(&server, &id).await;
    assert_eq!(
        (&stalled["status"], &stalled["request_counts"]["completed"]),
        (&json!("in_progress"), &json!(2))
    );
    let path = format!("/v1/batches/{id}/cancel");
    assert_eq!(
        call(&server, "POST", &path, "").await["status"],
        "cancelling"
    );
    let ended = batch(&server, &id).await;
    assert_eq!(ended["status"], "cancelled");
    assert_eq!(
        ended["request_counts"],
        json!({"total": 3, "completed": 2, "failed": 0})
    );
    assert!(ended["cancelling_at"].is_i64() && ended["cancelled_at"].is_i64());
    assert_eq!(
        ids(&lines(&server, &ended["output_file_id"]).await),
        ["item-0", "item-1"]
    );
    let errors = lines(&server, &ended["error_file_id"]).await;
    assert_eq!(
        (ids(&errors), &errors[0]["error"]["code"]),
        (vec!["item-2"], &json!("batch_cancelled"))
    );
    assert_eq!(
        send(&server, "POST", &path, None, "").await.unwrap().status,
        400,
        "it has ended"
    );
}

#[tokio::test]
async fn the_responses_interface_has_batches_too() {
    let server = server().await;
    let body =
        json!({"model": "scripted-careful", "input": [{"role": "user", "content": "Hello"}]})
            .to_string();
    let content = line("a", &body).replace("/v1/chat/completions", "/v1/responses");
    let file = upload(&server, &content).await.json();
    let request = json!({"input_file_id": file["id"], "endpoint": "/v1/responses", "completion_window": "24h"});
    let created = call(&server, "POST", "/v1/batches", &request.to_string()).await;
    let ended = batch(&server, created["id"].as_str().unwrap()).await;
    let output = lines(&server, &ended["output_file_id"]).await;
    let direct = call(&server, "POST", "/v1/responses", &body).await;
    assert_eq!(output[0]["response"]["body"], direct);
}
