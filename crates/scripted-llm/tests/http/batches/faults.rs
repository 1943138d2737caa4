//! Batches that do not go as they should.

use std::time::Duration;

use super::{at_once, batch, create, ids, input, lines, upload, with};
use crate::client::{post, send, send_with};
use scripted_llm::{Answer, BatchEnd, BatchScript, BatchStep, FailingItems, Fault, ScriptedServer};
use serde_json::{Value, json};

const TEXTS: [&str; 3] = ["a", "b", "c"];

/// A batch that has ended, its output lines and its error lines.
async fn ended(server: &ScriptedServer, content: &str) -> (Value, Vec<Value>, Vec<Value>) {
    let id = create(server, content).await;
    let ended = batch(server, &id).await;
    let output = lines(server, &ended["output_file_id"]).await;
    let errors = lines(server, &ended["error_file_id"]).await;
    (ended, output, errors)
}

#[tokio::test]
async fn a_batch_expires_is_cancelled_or_fails() {
    for (end, status, code) in [
        (BatchEnd::Expired { after: 1 }, "expired", "batch_expired"),
        (
            BatchEnd::Cancelled { after: 1 },
            "cancelled",
            "batch_cancelled",
        ),
    ] {
        let server = with(BatchScript { end, ..at_once() }).await;
        let (ended, output, errors) = ended(&server, &input(&TEXTS)).await;
        assert_eq!(ended["status"], status);
        assert!(ended[format!("{status}_at")].is_i64());
        assert_eq!(
            ended["request_counts"],
            json!({"total": 3, "completed": 1, "failed": 0})
        );
        assert_eq!(
            (ids(&output), ids(&errors)),
            (vec!["item-0"], vec!["item-1", "item-2"])
        );
        assert!(
            errors
                .iter()
                .all(|line| line["error"]["code"] == code && line["response"].is_null())
        );
        assert_eq!(server.stats().batches.answered, 1);
    }
    let server = with(BatchScript {
        end: BatchEnd::Failed,
        ..at_once()
    })
    .await;
    let (failed, _, _) = ended(&server, &input(&TEXTS)).await;
    assert_eq!(failed["status"], "failed");
    assert!(failed["errors"]["data"][0]["message"].is_string());
    assert_eq!(server.stats().batches.answered, 0);
}

#[tokio::test]
async fn a_share_of_the_items_fails_by_their_names() {
    let failing = Some(FailingItems {
        share: 0.3,
        status: 429,
    });
    let script = BatchScript {
        failing,
        ..at_once()
    };
    let server = with(script.clone()).await;
    let content = input(&["x"; 100]);
    let (_, _, errors) = ended(&server, &content).await;
    assert!((20..=40).contains(&errors.len()), "{}", errors.len());
    assert!(
        errors
            .iter()
            .all(|line| line["response"]["status_code"] == 429)
    );
    let (_, _, again) = ended(&with(script).await, &content).await;
    assert_eq!(errors, again);
    let stats = server.stats().batches;
    assert_eq!(
        (stats.faults, stats.answered),
        (errors.len() as u64, 100 - errors.len() as u64)
    );
}

#[tokio::test]
async fn outputs_are_out_of_order_doubled_and_incomplete() {
    for (script, expected) in [
        (
            BatchScript {
                reversed: true,
                ..at_once()
            },
            &["item-2", "item-1", "item-0"][..],
        ),
        (
            BatchScript {
                duplicated: 1,
                ..at_once()
            },
            &["item-0", "item-1", "item-2", "item-0"],
        ),
        (
            BatchScript {
                missing: 2,
                ..at_once()
            },
            &["item-2"],
        ),
    ] {
        let server = with(script).await;
        let (ended, output, errors) = ended(&server, &input(&TEXTS)).await;
        assert_eq!((ids(&output), errors.len()), (expected.to_vec(), 0));
        assert_eq!(
            ended["request_counts"],
            json!({"total": 3, "completed": 3, "failed": 0})
        );
    }
}

#[tokio::test]
async fn faults_of_calls_are_those_of_items() {
    let server = ScriptedServer::builder()
        .batches(at_once())
        .fault("503; first=1".parse().unwrap())
        .fault("hang; first=1".parse().unwrap())
        .fault("html; first=1".parse().unwrap())
        .start()
        .await
        .unwrap();
    let (_, output, errors) = ended(&server, &input(&["a", "b", "c", "d"])).await;
    assert_eq!(errors[0]["response"]["status_code"], 503);
    assert_eq!(errors[1]["error"]["code"], "request_timeout");
    assert!(
        output[0]["response"]["body"]
            .as_str()
            .unwrap()
            .contains("Bad Gateway")
    );
    assert!(output[1]["response"]["body"].is_object());
    assert_eq!(
        (server.stats().batches.faults, server.stats().faults),
        (3, 0)
    );
}

#[tokio::test]
async fn answers_of_ones_own_are_those_of_items() {
    let builder = ScriptedServer::builder().batches(at_once());
    let server = builder
        .answer(|asked| Answer::says(format!("{}", asked.number)))
        .start()
        .await
        .unwrap();
    let (_, output, _) = ended(&server, &input(&TEXTS)).await;
    let said = |line: &Value| line["response"]["body"]["choices"][0]["message"]["content"].clone();
    assert_eq!(
        output.iter().map(said).collect::<Vec<_>>(),
        [json!("0"), json!("1"), json!("2")]
    );
    assert_eq!(
        post(&server, super::body("scripted-careful", "a").to_string())
            .await
            .content(),
        "3"
    );
}

#[tokio::test]
async fn steps_are_refused() {
    let limited = Fault::status(429)
        .unwrap()
        .header("retry-after", "2")
        .unwrap()
        .first(2);
    let faults = vec![
        (BatchStep::Upload, limited),
        (BatchStep::Poll, "500; first=1".parse().unwrap()),
        (BatchStep::Results, "reset; first=1".parse().unwrap()),
    ];
    let server = with(BatchScript {
        faults,
        ..at_once()
    })
    .await;
    for _ in 0..2 {
        let refused = upload(&server, "").await;
        assert_eq!(
            (refused.status.as_u16(), refused.header("retry-after")),
            (429, "2")
        );
    }
    let id = create(&server, &input(&TEXTS)).await;
    let path = format!("/v1/batches/{id}");
    assert_eq!(
        send(&server, "GET", &path, None, "").await.unwrap().status,
        500
    );
    let ended = batch(&server, &id).await;
    let content = format!(
        "/v1/files/{}/content",
        ended["output_file_id"].as_str().unwrap()
    );
    send(&server, "GET", &content, None, "").await.unwrap_err();
    assert_eq!(lines(&server, &ended["output_file_id"]).await.len(), 3);
    assert_eq!(server.stats().batches.refused, 3);
}

#[tokio::test]
async fn a_batch_whose_creation_was_not_confirmed_exists() {
    let faults = vec![(BatchStep::Create, "reset; first=1".parse().unwrap())];
    let server = with(BatchScript {
        faults,
        ..at_once()
    })
    .await;
    let file = upload(&server, &input(&TEXTS)).await.json();
    let request = json!({"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"});
    send(&server, "POST", "/v1/batches", None, request.to_string())
        .await
        .unwrap_err();
    let listed = super::call(&server, "GET", "/v1/batches", "").await;
    assert_eq!(listed["data"][0]["input_file_id"], file["id"]);
}

#[tokio::test]
async fn a_server_may_have_no_batches_or_want_a_key() {
    let without = with(BatchScript {
        served: false,
        ..at_once()
    })
    .await;
    assert_eq!(upload(&without, "").await.status, 404);
    for path in ["/v1/batches", "/v1/messages/batches"] {
        assert_eq!(
            send(&without, "POST", path, None, "{}")
                .await
                .unwrap()
                .status,
            404
        );
    }
    without.set_batches(at_once());
    assert_eq!(upload(&without, "").await.status, 200, "from now on");

    let server = ScriptedServer::builder()
        .require_key("s3cret")
        .start()
        .await
        .unwrap();
    assert_eq!(upload(&server, "").await.status, 401);
    assert_eq!(
        send(&server, "GET", "/v1/batches", None, "")
            .await
            .unwrap()
            .status,
        401
    );
    assert_eq!(
        send(&server, "GET", "/v1/batches", Some("s3cret"), "")
            .await
            .unwrap()
            .status,
        200
    );
    let version = ("anthropic-version", "2023-06-01");
    let get = |headers: Vec<(&'static str, &'static str)>| {
        let server = &server;
        async move {
            send_with(server, "GET", "/v1/messages/batches", &headers, "")
                .await
                .unwrap()
        }
    };
    let refused = get(vec![version]).await;
    assert_eq!(
        (refused.status.as_u16(), &refused.json()["error"]["type"]),
        (401, &json!("authentication_error"))
    );
    assert_eq!(
        get(vec![version, ("x-api-key", "s3cret")]).await.status,
        200
    );
}

#[tokio::test]
async fn a_client_that_goes_away_does_not_break_a_batch() {
    let server = with(at_once()).await;
    let id = create(&server, &input(&["x"; 3000])).await;
    let path = format!("/v1/batches/{id}");
    // The looks end while items are being answered, or soon after.
    for micros in [1, 300, 1000, 3000, 10_000] {
        let look = send(&server, "GET", &path, None, "");
        let _ = tokio::time::timeout(Duration::from_micros(micros), look).await;
    }
    let ended = batch(&server, &id).await;
    assert_eq!(lines(&server, &ended["output_file_id"]).await.len(), 3000);
    assert_eq!(server.stats().batches.answered, 3000);
}
