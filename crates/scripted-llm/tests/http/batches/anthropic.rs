//! Anthropic's batches of messages.

use std::time::Duration;

use super::{at_once, body, jsonl, server, with};
use crate::client::{Answer, send_with};
use scripted_llm::{BatchEnd, BatchScript, ScriptedServer};
use serde_json::{Value, json};

const BATCHES: &str = "/v1/messages/batches";

async fn call(server: &ScriptedServer, method: &str, path: &str, body: String) -> Answer {
    let headers = [("anthropic-version", "2023-06-01")];
    send_with(server, method, path, &headers, body)
        .await
        .unwrap()
}

async fn get(server: &ScriptedServer, path: &str) -> Value {
    let answer = call(server, "GET", path, String::new()).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.json());
    answer.json()
}

fn requests(items: &[(&str, &str, &str)]) -> String {
    let item = |(id, model, text): &(&str, &str, &str)| json!({"custom_id": id, "params": body(model, text)});
    json!({"requests": items.iter().map(item).collect::<Vec<_>>()}).to_string()
}

/// Creates a batch and returns its path.
async fn create(server: &ScriptedServer, items: &[(&str, &str, &str)]) -> String {
    let created = call(server, "POST", BATCHES, requests(items)).await;
    assert_eq!(created.status, 200);
    let created = created.json();
    assert_eq!(created["processing_status"], "in_progress");
    assert_eq!(created["request_counts"]["processing"], items.len());
    assert!(created["results_url"].is_null() && created["ended_at"].is_null());
    format!("{BATCHES}/{}", created["id"].as_str().unwrap())
}

async fn results(server: &ScriptedServer, path: &str) -> Vec<Value> {
    jsonl(
        &call(server, "GET", &format!("{path}/results"), String::new())
            .await
            .body,
    )
}

#[tokio::test]
async fn items_are_answered_with_the_messages_of_the_direct_calls() {
    let server = server().await;
    let items = [
        ("a", "scripted-careful", "Hello"),
        ("b", "scripted-agreeable", "Promise me."),
        ("c", "claude-x", "Hello"),
    ];
    let path = create(&server, &items).await;
    let ended = get(&server, &path).await;
    assert_eq!(
        (&ended["type"], &ended["processing_status"]),
        (&json!("message_batch"), &json!("ended"))
    );
    let counts =
        json!({"processing": 0, "succeeded": 2, "errored": 1, "canceled": 0, "expired": 0});
    assert_eq!(ended["request_counts"], counts);
    let url = ended["results_url"].as_str().unwrap();
    assert_eq!(
        url,
        format!(
            "{}/messages/batches/{}/results",
            server.base_url(),
            ended["id"].as_str().unwrap()
        )
    );
    let results = results(&server, &path).await;
    for ((id, model, text), line) in items.iter().zip(&results).take(2) {
        let direct = call(
            &server,
            "POST",
            "/v1/messages",
            body(model, text).to_string(),
        )
        .await;
        assert_eq!(line["custom_id"], *id);
        assert_eq!(
            line["result"],
            json!({"type": "succeeded", "message": direct.json()})
        );
    }
    let error = &results[2]["result"];
    assert_eq!(
        (&error["type"], &error["error"]["type"]),
        (&json!("errored"), &json!("error"))
    );
    assert_eq!(error["error"]["error"]["type"], "not_found_error");
}

#[tokio::test]
async fn times_are_in_rfc_3339() {
    let server = server().await;
    let path = create(&server, &[("a", "scripted-careful", "Hello")]).await;
    let ended = get(&server, &path).await;
    let time = |key: &str| {
        ended[key]
            .as_str()
            .unwrap()
            .parse::<jiff::Timestamp>()
            .unwrap()
    };
    assert!(time("created_at") <= time("ended_at"));
    assert_eq!(
        time("expires_at")
            .duration_since(time("created_at"))
            .as_hours(),
        24
    );
}

#[tokio::test]
async fn a_batch_in_progress_has_no_counts_and_no_results() {
    let script = BatchScript {
        duration: Duration::from_secs(600),
        ..BatchScript::default()
    };
    let server = with(script).await;
    let path = create(&server, &[("a", "scripted-careful", "Hello")]).await;
    let open = get(&server, &path).await;
    assert_eq!(
        (
            &open["processing_status"],
            &open["request_counts"]["processing"]
        ),
        (&json!("in_progress"), &json!(1))
    );
    let refused = call(&server, "GET", &format!("{path}/results"), String::new()).await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"]["type"], "invalid_request_error");
    assert_eq!(
        call(&server, "DELETE", &path, String::new()).await.status,
        400
    );
    server.finish_batches();
    assert_eq!(get(&server, &path).await["request_counts"]["succeeded"], 1);
}

#[tokio::test]
async fn requests_that_are_not_valid_get_status_400() {
    let server = server().await;
    let long = "x".repeat(65);
    for (items, reason) in [
        (vec![], "requests"),
        (vec![("", "m", "x")], "requests.0.custom_id"),
        (
            vec![("a", "m", "x"), ("b c", "m", "x")],
            "requests.1.custom_id",
        ),
        (vec![(long.as_str(), "m", "x")], "requests.0.custom_id"),
        (vec![("é", "m", "x")], "requests.0.custom_id"),
        (vec![("a", "m", "x"), ("a", "m", "y")], "not unique"),
    ] {
        let refused = call(&server, "POST", BATCHES, requests(&items)).await;
        assert_eq!(refused.status, 400);
        let refused = refused.json();
        assert_eq!(
            (&refused["type"], &refused["error"]["type"]),
            (&json!("error"), &json!("invalid_request_error"))
        );
        assert!(
            refused["error"]["message"]
                .as_str()
                .unwrap()
                .contains(reason),
            "{refused}"
        );
    }
    let no_version = send_with(&server, "POST", BATCHES, &[], requests(&[("a", "m", "x")]))
        .await
        .unwrap();
    assert_eq!(no_version.status, 400);
    assert_eq!(
        call(
            &server,
            "GET",
            "/v1/messages/batches/msgbatch_none",
            String::new()
        )
        .await
        .status,
        404
    );
    assert_eq!(server.stats().batches.created, 0);
}

#[tokio::test]
async fn a_client_cancels_a_batch_and_gets_what_was_answered() {
    let script = BatchScript {
        end: BatchEnd::Stalled { after: 1 },
        ..at_once()
    };
    let server = with(script).await;
    let items = [
        ("a", "scripted-careful", "Hello"),
        ("b", "scripted-careful", "Hello"),
    ];
    let path = create(&server, &items).await;
    assert_eq!(
        get(&server, &path).await["processing_status"],
        "in_progress"
    );
    let cancel = format!("{path}/cancel");
    let canceling = call(&server, "POST", &cancel, String::new()).await.json();
    assert_eq!(canceling["processing_status"], "canceling");
    assert!(canceling["cancel_initiated_at"].is_string());
    let ended = get(&server, &path).await;
    let counts =
        json!({"processing": 0, "succeeded": 1, "errored": 0, "canceled": 1, "expired": 0});
    assert_eq!(
        (&ended["processing_status"], &ended["request_counts"]),
        (&json!("ended"), &counts)
    );
    assert_eq!(
        results(&server, &path).await[1]["result"],
        json!({"type": "canceled"})
    );
    assert_eq!(
        call(&server, "POST", &cancel, String::new()).await.status,
        400,
        "it has ended"
    );
}

#[tokio::test]
async fn a_batch_expires() {
    let script = BatchScript {
        end: BatchEnd::Expired { after: 1 },
        ..at_once()
    };
    let server = with(script).await;
    let items = [
        ("a", "scripted-careful", "Hello"),
        ("b", "scripted-careful", "Hello"),
    ];
    let path = create(&server, &items).await;
    assert_eq!(get(&server, &path).await["request_counts"]["expired"], 1);
    let results = results(&server, &path).await;
    assert_eq!(results[0]["result"]["type"], "succeeded");
    assert_eq!(results[1]["result"], json!({"type": "expired"}));
}

#[tokio::test]
async fn batches_are_listed_and_deleted() {
    let server = server().await;
    let first = create(&server, &[("a", "scripted-careful", "Hello")]).await;
    let second = create(&server, &[("a", "scripted-careful", "Hello")]).await;
    let page = get(&server, &format!("{BATCHES}?limit=1")).await;
    assert!(second.ends_with(page["last_id"].as_str().unwrap()) && page["has_more"] == true);
    let next = get(
        &server,
        &format!("{BATCHES}?after_id={}", page["last_id"].as_str().unwrap()),
    )
    .await;
    assert!(first.ends_with(next["first_id"].as_str().unwrap()) && next["has_more"] == false);
    let deleted = call(&server, "DELETE", &first, String::new()).await.json();
    assert_eq!(deleted["type"], "message_batch_deleted");
    assert_eq!(
        call(&server, "GET", &first, String::new()).await.status,
        404
    );
}
