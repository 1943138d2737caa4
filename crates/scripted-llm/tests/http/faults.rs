//! Every fault, over HTTP.

use std::time::{Duration, Instant};

use crate::client::{JUDGE, ask, body, post, send};
use scripted_llm::{Fault, FaultKind, Role, ScriptedServer, Task};
use serde_json::json;

async fn with(fault: &str) -> ScriptedServer {
    ScriptedServer::builder()
        .fault(fault.parse().unwrap())
        .start()
        .await
        .unwrap()
}

async fn judged(fault: &str) -> crate::client::Answer {
    ask(&with(fault).await, "scripted-judge", JUDGE).await
}

#[tokio::test]
async fn statuses_come_with_headers_and_bodies() {
    for status in [401, 403, 404, 429, 500, 503] {
        let answer = judged(&status.to_string()).await;
        assert_eq!(answer.status, status);
        assert!(
            !answer.json()["error"]["message"]
                .as_str()
                .unwrap()
                .is_empty()
        );
    }
    let answer = judged("429; retry-after=0.25; header=x-request-id: abc").await;
    assert_eq!(
        (answer.header("retry-after"), answer.header("x-request-id")),
        ("0.25", "abc")
    );
    let answer = judged("429; retry-at=30").await;
    let date = httpdate::parse_http_date(answer.header("retry-after")).unwrap();
    assert!(date > std::time::SystemTime::now());
    assert_eq!(&judged("500; body=<b>no</b>").await.body[..], b"<b>no</b>");
}

#[tokio::test]
async fn bodies_are_broken_as_asked() {
    let html = judged("html").await;
    assert_eq!(html.status, 200);
    assert!(html.body.starts_with(b"<!DOCTYPE html>"));
    let error = judged("error-body").await;
    assert_eq!(error.status, 200);
    assert!(error.json()["error"].is_object());
    let truncated = judged("truncated-json").await.body;
    assert!(
        serde_json::from_slice::<serde_json::Value>(&truncated)
            .unwrap_err()
            .is_eof()
    );
    assert!(judged("no-choices").await.json().get("choices").is_none());
    assert!(judged("null-content").await.json()["choices"][0]["message"]["content"].is_null());
    assert_eq!(judged("empty-content").await.content(), "");
    assert!(judged("no-usage").await.json().get("usage").is_none());
    assert_eq!(judged("big:2").await.content().len(), 2 << 20);
    let invalid = judged("invalid-utf8").await.body;
    assert!(std::str::from_utf8(&invalid).is_err());
    serde_json::from_str::<serde_json::Value>(&String::from_utf8_lossy(&invalid)).unwrap();
}

#[tokio::test]
async fn judge_replies_are_broken_as_asked() {
    assert!(!judged("prose").await.content().contains('{'));
    let fenced = judged("fenced").await.content();
    assert!(fenced.starts_with("```json\n{\"present\":true") && fenced.ends_with("\n```"));
    let thought = judged("think").await.content();
    assert!(thought.starts_with("<think>") && thought.contains("</think>\n\n{\"present\":true"));
    assert!(
        judged("wrong-type")
            .await
            .content()
            .starts_with("{\"present\":\"true\"")
    );
    assert!(
        !judged("missing-key")
            .await
            .content()
            .contains("\"present\"")
    );
}

#[tokio::test]
async fn a_cut_connection_is_an_error_of_the_client() {
    let server = with("reset; first=1").await;
    let request = body("scripted-careful", "Hello");
    send(
        &server,
        "POST",
        "/v1/chat/completions",
        None,
        request.clone(),
    )
    .await
    .unwrap_err();
    assert_eq!(post(&server, request).await.status, 200);
    let stats = server.stats();
    assert_eq!(
        (
            stats.requests,
            stats.completed,
            stats.answered,
            stats.faults
        ),
        (2, 1, 1, 1)
    );
}

#[tokio::test]
async fn a_hanging_call_ends_with_the_server() {
    let server = with("hang").await;
    let address = server.address();
    let calling = async {
        let request = body("scripted-careful", "Hello");
        send(&server, "POST", "/v1/chat/completions", None, request).await
    };
    tokio::time::timeout(Duration::from_millis(50), calling)
        .await
        .unwrap_err();
    let stats = server.shutdown().await;
    assert_eq!(
        (stats.requests, stats.completed, stats.in_flight),
        (1, 0, 0)
    );
    tokio::net::TcpStream::connect(address).await.unwrap_err();
}

#[tokio::test]
async fn a_slow_reply_is_a_regular_one() {
    let server = with("slow:80").await;
    let start = Instant::now();
    assert_eq!(ask(&server, "scripted-careful", "Hello").await.status, 200);
    assert!(start.elapsed() >= Duration::from_millis(80));
    assert_eq!(server.stats().answered, 1);
}

#[tokio::test]
async fn parameters_are_refused_only_where_they_are_sent() {
    for (fault, key, value, names) in [
        (
            "unsupported:max-tokens",
            "max_tokens",
            json!(9),
            "max_completion_tokens",
        ),
        (
            "unsupported:max-completion-tokens",
            "max_completion_tokens",
            json!(9),
            "Unrecognized",
        ),
        (
            "unsupported:json-schema",
            "response_format",
            json!({"type": "json_schema"}),
            "json_schema",
        ),
        (
            "unsupported:response-format",
            "response_format",
            json!({"type": "json_object"}),
            "json_object",
        ),
        (
            "unsupported:temperature",
            "temperature",
            json!(0.0),
            "temperature",
        ),
        ("unsupported:seed", "seed", json!(1), "seed"),
    ] {
        let server = with(fault).await;
        let mut request = json!({"model": "scripted-careful", "messages": [{"role": "user", "content": "Hello"}]});
        assert_eq!(post(&server, request.to_string()).await.status, 200);
        request[key] = value;
        let refused = post(&server, request.to_string()).await;
        assert_eq!(refused.status, 400, "{fault}");
        let error = &refused.json()["error"];
        assert_eq!(error["param"], key);
        assert!(
            error["message"].as_str().unwrap().contains(names),
            "{error}"
        );
    }
}

#[tokio::test]
async fn conditions_choose_the_calls() {
    let server = ScriptedServer::builder()
        .fault(Fault::status(503).unwrap().task(Task::Judge).first(2))
        .fault(Fault::status(500).unwrap().role(Role::Careful))
        .start()
        .await
        .unwrap();
    let mut statuses = Vec::new();
    for (model, text) in [
        ("scripted-judge", "Hello"),
        ("scripted-judge", JUDGE),
        ("scripted-agreeable", JUDGE),
        ("scripted-careful", "Hello"),
        ("scripted-judge", JUDGE),
        ("scripted-judge", JUDGE),
    ] {
        statuses.push(ask(&server, model, text).await.status.as_u16());
    }
    assert_eq!(statuses, [200, 503, 200, 500, 503, 200]);
    server.set_faults([Fault::new(FaultKind::Html)]);
    assert!(
        ask(&server, "scripted-judge", JUDGE)
            .await
            .body
            .starts_with(b"<!")
    );
    server.set_faults([]);
    assert_eq!(ask(&server, "scripted-careful", JUDGE).await.status, 200);
}

#[tokio::test]
async fn a_share_of_the_calls_is_the_same_share_every_time() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let server = with("500; share=0.3").await;
        let mut statuses = Vec::new();
        for number in 0..60 {
            statuses.push(
                ask(&server, "scripted-careful", &number.to_string())
                    .await
                    .status,
            );
        }
        runs.push(statuses);
    }
    assert_eq!(runs[0], runs[1]);
    let failed = runs[0].iter().filter(|status| **status == 500).count();
    assert!((8..=30).contains(&failed), "{failed}");
}
