//! What goes over a connection besides the request's body, and how long connections are used.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod common;

use std::{
    future::{Future, poll_fn},
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    pin::pin,
    sync::mpsc,
    thread,
    time::Duration,
};

use common::{Act, Server, ask, model};
use futures::future::join_all;
use llm_client::{HttpClient, ModelSettings, OpenAi};
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, Message, ModelError, ModelId, Purpose, Role,
};

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

/// Five times eight calls at once, over `connections` at most.
async fn many_calls(connections: usize) {
    let server = Server::always(Act::say("x").later(Duration::from_millis(5))).await;
    let model = server.model();
    for _ in 0..5 {
        for reply in join_all((0..8).map(|_| ask(&model))).await {
            reply.unwrap();
        }
    }
    let used = server.connections();
    assert!((8..=connections).contains(&used), "{used}");
    assert_eq!(server.count(), 40);
}

#[tokio::test]
async fn calls_at_once_have_a_connection_each_which_others_use_after_them() {
    many_calls(8).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn so_do_calls_on_several_threads() {
    // Another thread may give a connection back only after the next calls have looked for one.
    let calls: Vec<_> = (0..4).map(|_| tokio::spawn(many_calls(20))).collect();
    for call in calls {
        call.await.unwrap();
    }
}

/// Tokio lets a task do 128 things before others have their turn. What is put off then must not be forgotten, wherever in a call
/// that may be.
#[tokio::test]
async fn calls_in_a_task_that_has_done_much_already_are_answered() {
    let server = Server::always(Act::say(&"x".repeat(300_000))).await;
    let mut settings = server.settings();
    settings.request_timeout = Duration::from_secs(5);
    let model = model(settings);
    for left in 1..12 {
        let mut call = pin!(ask(&model));
        let after_much = poll_fn(|context| {
            for _ in left..128 {
                let done = pin!(tokio::task::consume_budget()).poll(context);
                assert!(done.is_ready());
            }
            call.as_mut().poll(context)
        });
        // A turn of its own, with nothing done in it.
        tokio::task::yield_now().await;
        after_much.await.unwrap();
    }
}

#[tokio::test]
async fn models_of_one_host_share_its_connections() {
    let server = Server::always(Act::say("x")).await;
    let http = HttpClient::default();
    for name in ["one", "other"] {
        let mut settings = server.settings();
        settings.model = name.to_owned();
        ask(&OpenAi::new(settings, &http).unwrap()).await.unwrap();
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_call_that_is_given_up_takes_its_connection_with_it() {
    let server = Server::start(|n, _| match n {
        0 => Act::say("late").later(Duration::from_millis(100)),
        _ => Act::say("x").later(Duration::from_millis(100)),
    })
    .await;
    let model = server.model();
    let given_up = tokio::time::timeout(Duration::from_millis(50), ask(&model)).await;
    assert!(given_up.is_err());
    assert_eq!(ask(&model).await.unwrap().content, "x");
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_reply_that_ends_its_connection_is_read() {
    let server = Server::always(Act::say("x").with("connection", "close")).await;
    let model = server.model();
    for n in 1..4 {
        assert_eq!(ask(&model).await.unwrap().content, "x");
        assert_eq!(server.connections(), n);
    }
}

/// The settings for the model behind `listener`.
fn settings_of(listener: &TcpListener) -> ModelSettings {
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    ModelSettings::new(ModelId::new("m").unwrap(), "wire", url)
}

/// Asks for something this long.
async fn ask_at(model: &OpenAi, length: usize) -> Result<ChatReply, ModelError> {
    let messages = vec![Message::new(Role::User, "x".repeat(length))];
    let context = CallContext::new(Purpose::TargetTurn, "row");
    model.chat(&ChatRequest::new(messages, context)).await
}

const COMPLETION: &str = r#"{"choices":[{"message":{"content":"x"}}]}"#;

fn completion() -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{COMPLETION}",
        COMPLETION.len()
    )
}

/// Reads the head of a request, and says how long its body is. `None`: nothing comes any more.
fn read_head(stream: &mut BufReader<TcpStream>) -> Option<usize> {
    let (mut line, mut length) = (String::new(), None);
    while stream.read_line(&mut line).ok()? > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok();
        }
        line.clear();
    }
    length
}

fn read_request(stream: &mut BufReader<TcpStream>) -> Option<()> {
    let length = read_head(stream)?;
    stream.read_exact(&mut vec![0; length]).ok()
}

/// Serves one request, then closes the connection without saying so beforehand. Says each time when it has.
fn closing(listener: &TcpListener, closed: &mpsc::Sender<()>) {
    for stream in listener.incoming().flatten() {
        let mut stream = BufReader::new(stream);
        read_request(&mut stream).unwrap();
        stream.get_mut().write_all(completion().as_bytes()).unwrap();
        drop(stream);
        if closed.send(()).is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn a_connection_that_was_closed_between_two_calls_costs_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let model = model(settings_of(&listener));
    let (closed, is_closed) = mpsc::channel();
    thread::spawn(move || closing(&listener, &closed));
    for _ in 0..3 {
        assert_eq!(ask(&model).await.unwrap().content, "x");
        is_closed.recv().unwrap();
        // The end has come in already; now the runtime looks at the connection.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Several of them are passed over in one call.
#[tokio::test]
async fn all_connections_may_have_been_closed_between_two_calls() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let model = model(settings_of(&listener));
    let (close, is_time) = mpsc::channel();
    let (closed, is_closed) = mpsc::channel();
    let server = thread::spawn(move || {
        let mut streams = listener.incoming().flatten().map(BufReader::new);
        let mut three: Vec<_> = streams.by_ref().take(3).collect();
        for stream in &mut three {
            read_request(stream).unwrap();
            stream.get_mut().write_all(completion().as_bytes()).unwrap();
        }
        is_time.recv().unwrap();
        drop(three);
        closed.send(()).unwrap();
        let mut last = streams.next().unwrap();
        read_request(&mut last).unwrap();
        last.get_mut().write_all(completion().as_bytes()).unwrap();
    });
    for reply in join_all((0..3).map(|_| ask(&model))).await {
        reply.unwrap();
    }
    close.send(()).unwrap();
    is_closed.recv().unwrap();
    // The end has come in already; now the runtime looks at the connections.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(ask(&model).await.unwrap().content, "x");
    server.join().unwrap();
}

#[tokio::test]
async fn a_reply_that_is_too_long_takes_its_connection_with_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let model = model(settings_of(&listener));
    let server = thread::spawn(move || {
        let mut streams = listener.incoming().flatten().map(BufReader::new);
        let mut first = streams.next().unwrap();
        read_request(&mut first).unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 70000000\r\n\r\n";
        first.get_mut().write_all(head.as_bytes()).unwrap();
        assert!(read_request(&mut first).is_none());
        let mut second = streams.next().unwrap();
        read_request(&mut second).unwrap();
        second.get_mut().write_all(completion().as_bytes()).unwrap();
    });
    let error = ask(&model).await.unwrap_err();
    assert!(error.to_string().contains("more than 8 MiB"), "{error}");
    assert_eq!(ask(&model).await.unwrap().content, "x");
    server.join().unwrap();
}

#[tokio::test]
async fn a_reply_in_pieces_leaves_the_connection_ready_for_the_next() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let model = model(settings_of(&listener));
    let server = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut stream = BufReader::new(stream);
        for _ in 0..3 {
            read_request(&mut stream).unwrap();
            let (a, b) = COMPLETION.split_at(20);
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
            let a = format!("{:x}\r\n{a}\r\n", a.len());
            let b = format!("{:x}\r\n{b}\r\n", b.len());
            for piece in [head, a, b, "0\r\n\r\n".to_owned()] {
                stream.get_mut().write_all(piece.as_bytes()).unwrap();
                thread::sleep(Duration::from_millis(5));
            }
        }
    });
    for _ in 0..3 {
        assert_eq!(ask(&model).await.unwrap().content, "x");
    }
    server.join().unwrap();
}

/// Such a connection is of no use any more: what is left of the request would have to go first.
#[tokio::test]
async fn a_server_may_answer_before_it_has_read_the_request() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let model = model(settings_of(&listener));
    let server = thread::spawn(move || {
        let mut streams = listener.incoming().flatten().map(BufReader::new);
        let mut first = streams.next().unwrap();
        read_head(&mut first).unwrap();
        let head = "HTTP/1.1 413 Too Much\r\ncontent-length: 0\r\n\r\n";
        first.get_mut().write_all(head.as_bytes()).unwrap();
        let mut second = streams.next().unwrap();
        read_request(&mut second).unwrap();
        second.get_mut().write_all(completion().as_bytes()).unwrap();
    });
    let error = ask_at(&model, 16 << 20).await.unwrap_err();
    assert!(error.to_string().contains("413"), "{error}");
    assert_eq!(ask_at(&model, 1).await.unwrap().content, "x");
    server.join().unwrap();
}

#[test]
fn connections_of_a_runtime_that_is_gone_are_passed_over() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let model = model(settings_of(&listener));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut stream = BufReader::new(stream);
                while read_request(&mut stream).is_some() {
                    stream.get_mut().write_all(completion().as_bytes()).unwrap();
                }
            });
        }
    });
    for _ in 0..3 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        for _ in 0..2 {
            assert_eq!(runtime.block_on(ask(&model)).unwrap().content, "x");
        }
    }
}
