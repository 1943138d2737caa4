//! Counting, holding, keys, and requests that cannot be served.

use std::{sync::Arc, time::Duration};

use crate::client::{ask, body, post, send};
use scripted_llm::{Answer, ScriptedServer, Stats};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

#[tokio::test]
async fn the_server_counts_what_it_did() {
    let server = ScriptedServer::start().await.unwrap();
    for text in ["a", "b", "a"] {
        ask(&server, "scripted-careful", text).await;
    }
    ask(&server, "gpt-x", "a").await;
    post(&server, "no json").await;
    let stats = server.stats();
    assert_eq!((stats.connections, stats.chat_connections), (5, 5));
    assert_eq!((stats.requests, stats.completed, stats.answered), (5, 5, 3));
    assert_eq!((stats.in_flight, stats.max_in_flight), (0, 1));
    assert_eq!(
        stats.by_model,
        [("other".to_owned(), 1), ("scripted-careful".to_owned(), 3)].into()
    );
    assert_eq!(stats.by_task, [("target_turn".to_owned(), 3)].into());
    let mut counts: Vec<_> = stats
        .bodies
        .values()
        .map(|body| (body.received, body.answered))
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, [(1, 0), (1, 0), (1, 1), (2, 2)]);
    let shown = send(&server, "GET", "/stats", None, "").await.unwrap();
    let shown: Stats = serde_json::from_slice(&shown.body).unwrap();
    assert_eq!(
        shown,
        Stats {
            connections: 6,
            ..stats
        }
    );
    server.record_bodies(false);
    ask(&server, "scripted-careful", "c").await;
    assert_eq!(server.stats().bodies.len(), 4);
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let server = ScriptedServer::start().await.unwrap();
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    for _ in 0..3 {
        let request = body("scripted-careful", "Hello");
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
            request.len()
        );
        stream
            .write_all((head + &request).as_bytes())
            .await
            .unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\"fp_scripted_1\"}") {
            let mut buffer = [0; 4096];
            let length = stream.read(&mut buffer).await.unwrap();
            assert_ne!(length, 0);
            answer.extend_from_slice(&buffer[..length]);
        }
    }
    let stats = server.stats();
    assert_eq!(
        (stats.connections, stats.requests, stats.completed),
        (1, 3, 3)
    );
}

#[tokio::test]
async fn calls_are_held_and_released() {
    let server = Arc::new(
        ScriptedServer::builder()
            .hold_after(2)
            .start()
            .await
            .unwrap(),
    );
    let calls: Vec<_> = (0..5)
        .map(|number| {
            let server = Arc::clone(&server);
            tokio::spawn(async move {
                ask(&server, "scripted-careful", &number.to_string())
                    .await
                    .status
            })
        })
        .collect();
    server.wait_held(3).await;
    // The two that passed may still be on their way.
    while server.stats().answered < 2 {
        tokio::task::yield_now().await;
    }
    let stats = server.stats();
    assert_eq!(
        (
            stats.requests,
            stats.answered,
            stats.in_flight,
            server.held()
        ),
        (5, 2, 3, 3)
    );
    assert!(stats.max_in_flight >= 3);
    server.release();
    for call in calls {
        assert_eq!(call.await.unwrap(), 200);
    }
    assert_eq!((server.stats().answered, server.held()), (5, 0));
    server.hold_after(0);
    let held = tokio::time::timeout(
        Duration::from_millis(50),
        ask(&server, "scripted-careful", "x"),
    )
    .await;
    assert!(held.is_err());
}

#[tokio::test]
async fn a_key_can_be_required_and_is_never_shown() {
    let builder = ScriptedServer::builder().require_key("s3cret");
    assert!(!format!("{builder:?}").contains("s3cret"));
    let server = builder.start().await.unwrap();
    assert!(!format!("{server:?}").contains("s3cret"));
    for (key, status) in [(None, 401), (Some("wrong"), 401), (Some("s3cret"), 200)] {
        let request = body("scripted-careful", "Hello");
        let answer = send(&server, "POST", "/v1/chat/completions", key, request)
            .await
            .unwrap();
        assert_eq!(answer.status, status);
        assert!(!String::from_utf8_lossy(&answer.body).contains("s3cret"));
        let models = send(&server, "GET", "/v1/models", key, "").await.unwrap();
        assert_eq!(models.status, status);
    }
}

#[tokio::test]
async fn requests_that_cannot_be_served_get_an_error_in_openais_shape() {
    let server = ScriptedServer::start().await.unwrap();
    let hello = json!([{"role": "user", "content": "Hello"}]);
    for (body, reason) in [
        ("".to_owned(), "JSON"),
        ("no json".to_owned(), "JSON"),
        ("[]".to_owned(), "model"),
        ("{}".to_owned(), "model"),
        (json!({"model": "scripted-careful"}).to_string(), "messages"),
        (json!({"model": "scripted-careful", "messages": []}).to_string(), "messages"),
        (json!({"model": "scripted-careful", "messages": "Hello"}).to_string(), "JSON"),
        (json!({"model": "scripted-careful", "messages": [{"role": "boss", "content": ""}]}).to_string(), "boss"),
        (json!({"model": "scripted-careful", "messages": [{"role": "user", "content": 5}]}).to_string(), "text"),
        (json!({"model": "scripted-careful", "messages": hello, "stream": true}).to_string(), "Streaming"),
        (json!({"model": "scripted-careful", "messages": hello, "n": 2}).to_string(), "n = 1"),
        (json!({"model": "scripted-careful", "messages": hello, "max_tokens": "x"}).to_string(), "max_tokens"),
        (json!({"model": "scripted-careful", "messages": hello, "response_format": {"type": "xml"}}).to_string(), "xml"),
    ] {
        let answer = post(&server, body.clone()).await;
        assert_eq!(answer.status, 400, "{body}");
        let json = answer.json();
        let message = json["error"]["message"].as_str().unwrap();
        assert!(message.contains(reason) || reason == "max_tokens", "{body}: {message}");
    }
    assert_eq!(post(&server, &b"\xff\xfe"[..]).await.status, 400);
    for (method, path, status) in [
        ("GET", "/v1/chat/completions", 405),
        ("POST", "/v1/models", 405),
        ("POST", "/v1/completions", 404),
        ("GET", "/", 404),
    ] {
        let answer = send(&server, method, path, None, "").await.unwrap();
        assert_eq!(answer.status, status, "{method} {path}");
        assert!(answer.json()["error"]["message"].is_string());
    }
}

#[tokio::test]
async fn bodies_over_the_cap_are_refused_unread() {
    let server = ScriptedServer::start().await.unwrap();
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 104857600\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    // Without a length, the size shows while the body is read.
    let small = ScriptedServer::builder()
        .body_cap(10)
        .start()
        .await
        .unwrap();
    let mut stream = TcpStream::connect(small.address()).await.unwrap();
    let chunked = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nb\r\n{          \r\n";
    stream.write_all(chunked.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn a_client_that_goes_away_takes_its_call_out_of_flight() {
    let server = ScriptedServer::builder()
        .latency(Duration::from_secs(600))
        .start()
        .await
        .unwrap();
    let call = tokio::time::timeout(
        Duration::from_millis(50),
        ask(&server, "scripted-careful", "x"),
    );
    call.await.unwrap_err();
    while server.stats().in_flight > 0 || server.stats().requests == 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(server.stats().completed, 0);
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let server = ScriptedServer::start().await.unwrap();
    let port = server.address().port();
    let error = ScriptedServer::builder()
        .port(port)
        .start()
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains(&format!("127.0.0.1:{port}")),
        "{error}"
    );
}

#[tokio::test]
async fn many_clients_connect_at_once() {
    let server = ScriptedServer::start().await.unwrap();
    // One thread: the server cannot accept before all of them have knocked.
    let clients: Vec<_> = (0..600)
        .map(|_| {
            std::net::TcpStream::connect_timeout(&server.address(), Duration::from_millis(900))
                .unwrap()
        })
        .collect();
    while server.stats().connections < clients.len() as u64 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_first_requests_are_kept_when_that_is_wanted() {
    let server = ScriptedServer::start().await.unwrap();
    ask(&server, "scripted-careful", "a").await;
    assert!(server.requests().is_empty(), "not asked for");

    let server = ScriptedServer::builder()
        .keep_requests(2)
        .start()
        .await
        .unwrap();
    post(&server, "no json").await;
    for text in ["b", "c"] {
        ask(&server, "scripted-careful", text).await;
    }
    let kept = server.requests();
    assert_eq!(kept.len(), 2, "no more than that");
    assert!(kept[0].is_null());
    let messages = kept[1]["messages"].as_array().unwrap();
    assert_eq!(messages.last().unwrap()["content"], "b");
    assert_eq!(server.stats().requests, 3);
}

#[tokio::test]
async fn answers_of_ones_own_take_the_place_of_the_scripts() {
    let server = ScriptedServer::builder()
        .answer(|asked| match (asked.model, asked.number) {
            ("any-name", 0) => Answer::status(503),
            ("any-name", _) => Answer::ends("cut", "length"),
            (other, number) => Answer::says(format!("{other} {number} {}", asked.body["seed"])),
        })
        .start()
        .await
        .unwrap();
    let refused = post(&server, body("any-name", "x")).await;
    assert_eq!(refused.status, 503);
    assert_eq!(
        refused.json()["error"]["message"],
        "refused with 503 Service Unavailable"
    );
    let cut = post(&server, body("any-name", "x")).await.json();
    assert_eq!(cut["choices"][0]["message"]["content"], "cut");
    assert_eq!(cut["choices"][0]["finish_reason"], "length");
    assert_eq!(cut["usage"]["prompt_tokens"], Answer::PROMPT_TOKENS);
    let other = post(&server, r#"{"model": "b", "seed": 7}"#).await;
    assert_eq!(other.content(), "b 0 7");
    assert_eq!(post(&server, "no json").await.status, 400);
    let stats = server.stats();
    assert_eq!((stats.requests, stats.answered, stats.faults), (4, 2, 1));
}
