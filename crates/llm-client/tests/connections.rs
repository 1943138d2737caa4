//! What goes over a connection besides the request's body, and how long connections are used.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod common;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::mpsc,
    time::Duration,
};

use common::{Act, Server, ask, model};
use llm_client::ModelSettings;
use schema::ModelId;

#[tokio::test]
async fn every_request_says_who_asks_and_what_is_understood() {
    let server = Server::always(Act::say("x")).await;
    ask(&server.model()).await.unwrap();
    let got = &server.requests()[0];
    let user_agent = got.header("user-agent").unwrap();
    assert!(user_agent.starts_with("probity/"), "{user_agent}");
    assert_eq!(got.header("accept"), Some("*/*"));
    assert_eq!(got.header("host"), Some(server.address.as_str()));
    for name in ["content-type", "content-length", "host", "accept"] {
        let same = |line: &&str| line.to_ascii_lowercase().starts_with(&format!("{name}:"));
        assert_eq!(got.head.lines().filter(same).count(), 1, "{}", got.head);
    }
}

#[tokio::test]
async fn further_headers_take_the_place_of_the_usual_ones() {
    let server = Server::always(Act::say("x")).await;
    let mut settings = server.settings();
    settings.extra_headers = ["User-Agent", "Accept", "Host"]
        .map(|name| (name.to_owned(), "mine".into()))
        .to_vec();
    ask(&model(settings)).await.unwrap();
    let got = &server.requests()[0];
    for name in ["user-agent", "accept", "host"] {
        assert_eq!(got.header(name), Some("mine"), "{}", got.head);
    }
}

#[tokio::test]
async fn a_name_and_a_password_in_the_url_are_basic_authentication() {
    let server = Server::always(Act::say("x")).await;
    let mut settings = server.settings();
    settings.base_url = format!("http://us%40er:pass@{}/v1?region=eu#x", server.address);
    ask(&model(settings.clone())).await.unwrap();
    settings.api_key = Some("sk-test-key-0123456789".into());
    ask(&model(settings)).await.unwrap();
    let got = server.requests();
    let line = got[0].head.lines().next().unwrap();
    assert_eq!(line, "POST /v1/chat/completions?region=eu HTTP/1.1");
    assert_eq!(
        got[0].header("authorization"),
        Some("Basic dXNAZXI6cGFzcw==")
    );
    assert_eq!(got[0].header("host"), Some(server.address.as_str()));
    let key = "Bearer sk-test-key-0123456789";
    assert_eq!(got[1].header("authorization"), Some(key));
}

#[tokio::test]
async fn calls_one_after_another_share_a_connection() {
    let server = Server::always(Act::say("x")).await;
    let model = server.model();
    for _ in 0..5 {
        ask(&model).await.unwrap();
    }
    assert_eq!(server.connections(), 1);
}

/// Serves one request, then closes the connection without saying so beforehand. Says each time when it has.
fn closing(listener: &TcpListener, closed: &mpsc::Sender<()>) {
    for stream in listener.incoming().flatten() {
        let mut stream = BufReader::new(stream);
        let (mut line, mut length) = (String::new(), 0);
        while stream.read_line(&mut line).unwrap() > 2 {
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            line.clear();
        }
        stream.read_exact(&mut vec![0; length]).unwrap();
        let body = r#"{"choices":[{"message":{"content":"x"}}]}"#;
        let reply = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.get_mut().write_all(reply.as_bytes()).unwrap();
        drop(stream);
        if closed.send(()).is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn a_connection_that_was_closed_between_two_calls_costs_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (closed, is_closed) = mpsc::channel();
    std::thread::spawn(move || closing(&listener, &closed));
    let settings = ModelSettings::new(ModelId::new("m").unwrap(), "wire", url);
    let model = model(settings);
    for _ in 0..3 {
        assert_eq!(ask(&model).await.unwrap().content, "x");
        is_closed.recv().unwrap();
        // The end has come in already; now the runtime looks at the connection.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
