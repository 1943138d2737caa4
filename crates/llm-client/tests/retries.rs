//! Failed calls that are tried again, and those that are not.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod common;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use common::{Act, Record, Server, ask, quick};
use llm_client::{Price, Retried, RetryPolicy, Stop};
use schema::{EventKind, ModelErrorKind};
use serde_json::json;

fn retried(server: &Server, policy: RetryPolicy) -> (Retried<llm_client::OpenAi>, Arc<Record>) {
    let record = Arc::new(Record::default());
    let journal = Arc::<Record>::clone(&record);
    (
        Retried::new(server.model(), policy, journal, Stop::new()),
        record,
    )
}

/// Fails `times` times with `act`, then answers.
async fn recovering(times: usize, act: Act) -> Server {
    Server::start(move |n, _| {
        if n < times {
            act.clone()
        } else {
            Act::say("ok")
        }
    })
    .await
}

#[tokio::test]
async fn passing_failures_are_tried_again() {
    for act in [
        Act::json(429, json!({"error": {"message": "slow"}})),
        Act::json(408, "x"),
        Act::json(502, "<html><title>Bad gateway</title></html>"),
        Act::json(200, "{}"),
        Act::json(200, json!({"error": {"code": 503, "message": "x"}})),
        Act::Close,
        Act::BreakOff(b"{".to_vec()),
    ] {
        let server = recovering(2, act).await;
        let (model, record) = retried(&server, quick());
        assert_eq!(ask(&model).await.unwrap().content, "ok");
        assert_eq!(record.events(EventKind::RetryingCall).len(), 2);
        assert!(record.events(EventKind::ModelCallFailed).is_empty());
    }
}

#[tokio::test]
async fn lasting_failures_are_not() {
    for status in [400, 401, 403, 404, 413, 422] {
        let server = Server::always(Act::json(status, "no")).await;
        let (model, record) = retried(&server, quick());
        let error = ask(&model).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.attempts()),
            (ModelErrorKind::Permanent, 1)
        );
        assert_eq!(server.count(), 1);
        let events = record.events(EventKind::ModelCallFailed);
        assert_eq!(events.len(), 1);
        assert_eq!(
            (&events[0]["status"], &events[0]["attempt"]),
            (&json!(status), &json!(1))
        );
    }
    let server = Server::always(Act::json(
        429,
        json!({"error": {"code": "insufficient_quota"}}),
    ))
    .await;
    let (model, _) = retried(&server, quick());
    ask(&model).await.unwrap_err();
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn the_same_500_over_and_over_takes_as_many_attempts_as_allowed() {
    for max_attempts in [1, 4, 7] {
        let server = Server::always(Act::json(500, "always the same")).await;
        let policy = RetryPolicy {
            max_attempts,
            ..quick()
        };
        let (model, record) = retried(&server, policy);
        let error = ask(&model).await.unwrap_err();
        assert_eq!(error.attempts(), max_attempts);
        assert_eq!(server.count(), max_attempts as usize);
        assert_eq!(
            record.events(EventKind::RetryingCall).len(),
            max_attempts as usize - 1
        );
    }
}

#[tokio::test]
async fn a_server_that_always_hangs_takes_no_more_attempts_than_allowed() {
    let server = Server::always(Act::Hang).await;
    let mut settings = server.settings();
    settings.request_timeout = Duration::from_millis(20);
    let journal = Arc::new(Record::default());
    let model = Retried::new(common::model(settings), quick(), journal, Stop::new());
    let error = ask(&model).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.attempts()),
        (ModelErrorKind::Transient, 10)
    );
}

#[tokio::test]
async fn different_500s_take_all_attempts() {
    let server = Server::start(|n, _| Act::json(500, format!("trouble {n}"))).await;
    let (model, record) = retried(&server, quick());
    ask(&model).await.unwrap_err();
    assert_eq!(server.count(), 10);
    let event = &record.events(EventKind::RetryingCall)[1];
    assert_eq!(
        (
            &event["model"],
            &event["purpose"],
            &event["attempt"],
            &event["reason"],
            &event["kind"]
        ),
        (
            &json!("my-model"),
            &json!("target_turn"),
            &json!(2),
            &json!("trouble 1"),
            &json!("transient")
        )
    );
    assert!(event["delay"].as_f64().unwrap() <= 0.001);
}

#[tokio::test]
async fn retry_after_is_honoured_in_every_form() {
    let wait = Duration::from_millis(60);
    let soon = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(2));
    for (name, value, at_least) in [
        ("retry-after", "0.06".to_owned(), wait),
        ("retry-after-ms", "60".to_owned(), wait),
        ("x-ratelimit-reset-requests", "60ms".to_owned(), wait),
        ("x-ratelimit-reset", "0.06".to_owned(), wait),
        // An HTTP date has whole seconds.
        ("retry-after", soon, Duration::from_millis(500)),
    ] {
        let server = recovering(1, Act::json(429, "x").with(name, &value)).await;
        let (model, _) = retried(&server, quick());
        let started = Instant::now();
        ask(&model).await.unwrap();
        assert!(started.elapsed() >= at_least, "{name}: {value}");
    }
}

#[tokio::test]
async fn nobody_is_made_to_wait_longer_than_the_policy_allows() {
    let server = recovering(1, Act::json(429, "x").with("retry-after", "86400")).await;
    let policy = RetryPolicy {
        max_retry_after: Duration::from_millis(20),
        ..quick()
    };
    let (model, record) = retried(&server, policy);
    ask(&model).await.unwrap();
    let delay = record.events(EventKind::RetryingCall)[0]["delay"]
        .as_f64()
        .unwrap();
    assert!((0.02..0.03).contains(&delay), "{delay}");
}

#[tokio::test]
async fn a_nonsensical_retry_after_is_ignored() {
    for value in ["soon", "-1", "1e99", "NaN"] {
        let server = recovering(1, Act::json(429, "x").with("retry-after", value)).await;
        let (model, _) = retried(&server, quick());
        ask(&model).await.unwrap();
    }
}

#[tokio::test]
async fn rate_limits_have_more_patience_and_an_end() {
    let server = Server::always(Act::json(429, "slow")).await;
    let (model, _) = retried(&server, quick());
    let error = ask(&model).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::RateLimited);
    assert_eq!(server.count(), 16);
}

#[tokio::test]
async fn attempts_that_failed_but_were_billed_are_counted() {
    let billed = json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 3}});
    let price = Price {
        input: 1.0,
        output: 0.0,
        cached_input: None,
        cache_write: None,
    };
    let model = |server: &Server| {
        let mut settings = server.settings();
        settings.price = Some(price);
        let record = Arc::new(Record::default());
        Retried::new(common::model(settings), quick(), record, Stop::new())
    };
    let server = recovering(2, Act::json(200, &billed)).await;
    let reply = ask(&model(&server)).await.unwrap();
    assert_eq!(reply.failed_attempts.calls, 2);
    assert_eq!(reply.failed_attempts.input_tokens, 200);
    assert_eq!(reply.spend().calls, 3);
    assert!((reply.spend().total_cost().unwrap() - 210e-6).abs() < 1e-12);

    let server = Server::always(Act::json(200, &billed)).await;
    let error = ask(&model(&server)).await.unwrap_err();
    assert_eq!(error.spend().calls, 3);
    assert_eq!(error.spend().input_tokens, 300);
}

#[tokio::test]
async fn a_stopped_run_tries_nothing_again() {
    let server = Server::always(Act::json(500, "x")).await;
    let stop = Stop::new();
    let policy = RetryPolicy {
        base_delay: Duration::from_secs(3600),
        max_delay: Duration::from_secs(3600),
        ..RetryPolicy::default()
    };
    let record = Arc::new(Record::default());
    let journal = Arc::<Record>::clone(&record);
    let model = Retried::new(server.model(), policy, journal, stop.clone());
    let call = tokio::spawn(async move { ask(&model).await });
    while record.events(EventKind::RetryingCall).is_empty() {
        tokio::task::yield_now().await;
    }
    stop.stop();
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Cancelled);
    assert_eq!(server.count(), 1);
}
