//! What one call makes of what a server sends: replies, refusals, and what is neither.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod common;

use std::{error::Error, time::Duration};

use common::{Act, Server, ask, model};
use llm_client::{CallFailure, HttpClient, HttpOptions, ModelSettings, OpenAi, Price};
use schema::{FinishReason, ModelErrorKind, ModelId};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Asks once and expects a failure of this kind whose text holds all of `words`.
async fn fails(act: Act, kind: ModelErrorKind, words: &[&str]) -> schema::ModelError {
    let server = Server::always(act).await;
    let error = ask(&server.model()).await.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
    assert!(text.contains("my-model"), "{text}");
    error
}

#[tokio::test]
async fn a_reply_carries_everything_that_came() {
    let server = Server::always(Act::say("Hi there.")).await;
    let mut settings = server.settings();
    settings.api_key = Some("sk-test-key-0123456789".into());
    settings.extra_headers = vec![("X-Title".to_owned(), "probity".into())];
    settings.price = Some(Price {
        input: 1.0,
        output: 2.0,
        cached_input: None,
        cache_write: None,
    });
    let reply = ask(&model(settings)).await.unwrap();
    assert_eq!(reply.content, "Hi there.");
    assert_eq!(reply.finish, FinishReason::Stop);
    assert_eq!(reply.model.as_deref(), Some("echoed-name"));
    assert_eq!(reply.usage.unwrap().input_tokens, 10);
    assert!((reply.cost.unwrap() - 20e-6).abs() < 1e-12);
    let exchange = reply.exchange.unwrap();
    assert!(
        exchange
            .request
            .get()
            .starts_with(r#"{"model":"wire-model","messages":"#)
    );
    assert!(exchange.response.get().contains(r#""id":"x""#));
    let got = &server.requests()[0];
    assert!(got.head.starts_with("POST /v1/chat/completions HTTP/1.1"));
    assert_eq!(
        got.header("authorization"),
        Some("Bearer sk-test-key-0123456789")
    );
    assert_eq!(got.header("x-title"), Some("probity"));
    assert_eq!(got.header("content-type"), Some("application/json"));
    assert_eq!(
        got.body["messages"],
        json!([{"role": "user", "content": "hello"}])
    );
}

#[tokio::test]
async fn without_a_key_no_authorization_is_sent() {
    let server = Server::always(Act::say("x")).await;
    ask(&server.model()).await.unwrap();
    assert_eq!(server.requests()[0].header("authorization"), None);
}

#[tokio::test]
async fn unknown_stays_unknown() {
    let body = json!({"choices": [{"message": {"content": null}}]});
    let server = Server::always(Act::json(200, body)).await;
    let reply = ask(&server.model()).await.unwrap();
    assert_eq!(reply.content, "");
    assert_eq!(reply.finish, FinishReason::Other("unknown".to_owned()));
    assert_eq!(
        (reply.usage, reply.cost, reply.model.clone()),
        (None, None, None)
    );
    assert_eq!(reply.spend().unpriced_calls, 1);
}

#[tokio::test]
async fn the_cost_that_an_endpoint_states_wins_and_its_own_fields_survive() {
    let body = "{\n \"provider\": \"Someone\",\n \"choices\": [{\"message\": {\"content\": \"x\", \"reasoning\": \"hm\"}}],\r\n \"usage\": {\"prompt_tokens\": 1, \"completion_tokens\": 1, \"cost\": 0.5}}";
    let server = Server::always(Act::json(200, body)).await;
    let mut settings = server.settings();
    settings.price = Some(Price {
        input: 1.0,
        output: 1.0,
        cached_input: None,
        cache_write: None,
    });
    let reply = ask(&model(settings)).await.unwrap();
    assert_eq!(reply.cost, Some(0.5));
    assert_eq!(reply.reasoning.as_deref(), Some("hm"));
    let raw = reply.exchange.unwrap().response.get().to_owned();
    assert!(
        raw.contains("Someone") && !raw.contains(['\n', '\r']),
        "{raw}"
    );
}

#[tokio::test]
async fn ten_megabytes_of_text_are_read() {
    let text = "ten bytes ".repeat(1 << 20);
    let server = Server::always(Act::say(&text)).await;
    let http = HttpClient::new(HttpOptions {
        max_reply: 16 << 20,
        ..HttpOptions::default()
    });
    let model = OpenAi::new(server.settings(), &http).unwrap();
    assert_eq!(ask(&model).await.unwrap().content, text);
    let error = ask(&server.model()).await.unwrap_err();
    assert!(error.to_string().contains("more than 8 MiB"), "{error}");
}

/// Replies without a length, the first half of each sent long before the second.
#[tokio::test]
async fn replies_that_have_no_room_together_are_read_one_after_the_other() {
    const CALLS: usize = 12;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let text = "ten bytes ".repeat(10_000);
    let body = json!({"choices": [{"message": {"content": text}}]}).to_string();
    let all_began = std::sync::Arc::new(tokio::sync::Barrier::new(CALLS));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (body, all_began) = (body.clone(), std::sync::Arc::clone(&all_began));
            tokio::spawn(async move {
                let mut room = [0; 4096];
                assert_ne!(stream.read(&mut room).await.unwrap(), 0);
                let (first, second) = body.split_at(body.len() / 2);
                let head = "HTTP/1.1 200 X\r\nconnection: close\r\n\r\n";
                stream.write_all(head.as_bytes()).await.unwrap();
                stream.write_all(first.as_bytes()).await.unwrap();
                all_began.wait().await;
                stream.write_all(second.as_bytes()).await.unwrap();
            });
        }
    });
    let http = HttpClient::new(HttpOptions {
        // Not enough for two halves.
        max_replies: 70_000,
        ..HttpOptions::default()
    });
    let settings = ModelSettings::new(
        ModelId::new("my-model").unwrap(),
        "wire-model",
        format!("http://{address}/v1"),
    );
    let model = OpenAi::new(settings, &http).unwrap();
    let replies = futures::future::join_all((0..CALLS).map(|_| ask(&model))).await;
    for reply in replies {
        assert_eq!(reply.unwrap().content, text);
    }
}

/// The error of a call that waited for room differs from that of an endpoint that does not answer.
#[tokio::test]
async fn a_reply_that_never_finds_room_is_no_fault_of_its_endpoint() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut room = [0; 4096];
            assert_ne!(stream.read(&mut room).await.unwrap(), 0);
            // More is said to come than there is room for, and never does.
            let head = format!("HTTP/1.1 200 X\r\n\r\n{}", " ".repeat(50_000));
            stream.write_all(head.as_bytes()).await.unwrap();
            open.push(stream);
        }
    });
    let http = HttpClient::new(HttpOptions {
        max_replies: 1000,
        ..HttpOptions::default()
    });
    let mut settings = ModelSettings::new(
        ModelId::new("my-model").unwrap(),
        "wire-model",
        format!("http://{address}/v1"),
    );
    settings.request_timeout = Duration::from_millis(500);
    let model = OpenAi::new(settings, &http).unwrap();
    let (first, second) = futures::future::join(ask(&model), ask(&model)).await;
    let texts = [first, second].map(|result| result.unwrap_err().to_string());
    let has = |words: &str| texts.iter().any(|text| text.contains(words));
    assert!(has("did not answer within 0.5 s"), "{texts:?}");
    assert!(has("the replies in flight take"), "{texts:?}");
}

#[tokio::test]
async fn a_reply_without_end_is_given_up() {
    let act = Act::Answer(200, Vec::new(), vec![b' '; (8 << 20) + 1]);
    fails(act, ModelErrorKind::Malformed, &["more than 8 MiB"]).await;
}

#[tokio::test]
async fn refused_connections_are_transient() {
    // Taken, so that no other test gets it, but nobody listens there.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    let id = ModelId::new("m").unwrap();
    let settings = ModelSettings::new(id, "w", format!("http://u:hidden@{address}/v1?key=hidden"));
    let error = ask(&model(settings)).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Transient);
    let text = error.to_string();
    assert!(
        text.contains("cannot be reached") && text.contains("refused"),
        "{text}"
    );
    assert!(!text.contains("hidden"), "{text}");
}

#[tokio::test]
async fn tls_to_a_server_for_plain_http_is_reported_in_plain_words() {
    // It takes the greeting of TLS for a request, and refuses it.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.read_u8().await.unwrap();
            stream
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .await
                .unwrap();
            std::future::pending::<()>().await;
        }
    });
    let id = ModelId::new("m").unwrap();
    let settings = ModelSettings::new(id, "w", format!("https://{address}/v1"));
    let text = ask(&model(settings)).await.unwrap_err().to_string();
    assert!(
        text.contains("it does not speak TLS.")
            && text.contains("write http:// in front of base_url"),
        "{text}"
    );
}

#[tokio::test]
async fn a_server_that_hangs_is_left() {
    let server = Server::always(Act::Hang).await;
    let mut settings = server.settings();
    settings.request_timeout = Duration::from_millis(50);
    let error = ask(&model(settings)).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Transient);
    assert!(error.to_string().contains("within 0.05 s"), "{error}");
}

#[tokio::test]
async fn a_connection_that_breaks_is_transient() {
    let half = b"{\"choices\":[{\"mess".to_vec();
    fails(
        Act::BreakOff(half),
        ModelErrorKind::Transient,
        &["broke the connection off"],
    )
    .await;
    fails(
        Act::Close,
        ModelErrorKind::Transient,
        &["broke the connection off"],
    )
    .await;
}

#[tokio::test]
async fn statuses_say_what_to_do() {
    use ModelErrorKind::{Permanent, RateLimited, Transient};
    let said = |message: &str| json!({"error": {"message": message}});
    for (status, body, kind, words) in [
        (
            401,
            said("Incorrect API key provided"),
            Permanent,
            &[
                "target my-model at http://127.0.0.1",
                "answered 401 Unauthorized: Incorrect API key provided. ",
                "No key is set",
            ][..],
        ),
        (
            403,
            said("Not for you."),
            Permanent,
            &["403 Forbidden: Not for you. The key"],
        ),
        (
            404,
            said("no such model"),
            Permanent,
            &[
                "target my-model: POST http://127.0.0.1",
                "/v1/chat/completions answered 404 Not Found: no such model. Is `base_url` the address before /chat/completions, and the \
                 model name \"wire-model\" right?",
            ],
        ),
        (402, said("pay"), Permanent, &["top it up"]),
        (
            413,
            said("big"),
            Permanent,
            &["larger than the endpoint takes"],
        ),
        (
            400,
            said("maximum context length is 8192 tokens"),
            Permanent,
            &["longer than the model takes"],
        ),
        (
            422,
            json!({"detail": [{"msg": "bad"}]}),
            Permanent,
            &["422", "bad"],
        ),
        (
            302,
            said(""),
            Permanent,
            &[
                "/v1/chat/completions answered 302 Found",
                "Is `base_url` the address before /chat/completions?",
            ],
        ),
        (
            429,
            said("slow"),
            RateLimited,
            &["429 Too Many Requests: slow"],
        ),
        (
            429,
            json!({"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}),
            Permanent,
            &["top it up"],
        ),
        (408, said("x"), Transient, &["408"]),
        (500, said("x"), Transient, &["500 Internal Server Error"]),
        (503, said("x"), Transient, &["503"]),
        (529, said("overloaded"), RateLimited, &["529: overloaded"]),
    ] {
        let error = fails(Act::json(status, body), kind, words).await;
        let failure = CallFailure::of(&error).unwrap();
        assert_eq!(failure.status, Some(status));
    }
}

#[tokio::test]
async fn a_404_names_the_address_that_was_called_without_secrets() {
    let server = Server::start(|_, got| {
        let doubled = got
            .head
            .starts_with("POST /secret-path/chat/chat/completions?");
        Act::json(if doubled { 404 } else { 400 }, "not here")
    })
    .await;
    let mut settings = server.settings();
    settings.base_url = format!("http://me:pass@{}/secret-path/chat?key=k", server.address);
    settings.hidden = vec!["secret-path".into()];
    let error = ask(&model(settings)).await.unwrap_err().to_string();
    let called = format!(
        "POST http://{}/***/chat/chat/completions answered 404 Not Found: not here. ",
        server.address
    );
    assert!(error.contains(&called), "{error}");
}

#[tokio::test]
async fn a_503_with_retry_after_is_a_rate_limit() {
    let act = Act::json(503, "busy").with("retry-after", "2");
    let error = fails(act, ModelErrorKind::RateLimited, &["503"]).await;
    let failure = CallFailure::of(&error).unwrap();
    assert_eq!(failure.retry_after, Some(Duration::from_secs(2)));
}

#[tokio::test]
async fn a_200_that_is_no_completion_is_malformed() {
    use ModelErrorKind::Malformed;
    for (body, words) in [
        (
            "<html><body>Welcome</body></html>",
            &["web page", "<html>", "base_url"][..],
        ),
        (r#"{"choices":[{"message":{"content":"hel"#, &["cut off"]),
        (r#"{"id":"x","choices":[]}"#, &["no choices"]),
        (r#"{"id":"x"}"#, &["no choices"]),
        ("", &["empty"]),
        (
            "{\"choices\":[{\"message\":{\"content\":\"x\"}}]} trailing",
            &["not valid JSON"],
        ),
    ] {
        fails(Act::json(200, body), Malformed, words).await;
    }
    let mut body = br#"{"choices":[{"message":{"content":""#.to_vec();
    body.extend(b"\xff\xfe\"}}]}");
    let act = Act::Answer(200, Vec::new(), body);
    fails(act, Malformed, &["not valid UTF-8"]).await;
}

#[tokio::test]
async fn a_200_with_an_error_in_it_is_that_error_and_keeps_its_bill() {
    use ModelErrorKind::{Malformed, Permanent, RateLimited, Transient};
    for (error, kind) in [
        (json!({"message": "slow", "code": 429}), RateLimited),
        (json!({"message": "who?", "code": "401"}), Permanent),
        (json!({"message": "upstream", "code": 502}), Transient),
        (json!({"message": "x", "type": "server_error"}), Transient),
        (json!("something"), Malformed),
    ] {
        let body = json!({"error": error, "usage": {"prompt_tokens": 7, "completion_tokens": 2}});
        let error = fails(Act::json(200, body), kind, &["200 OK with an error in it"]).await;
        assert_eq!(error.spend().input_tokens, 7);
        assert_eq!((error.spend().calls, error.spend().unpriced_calls), (1, 1));
    }
}

#[tokio::test]
async fn keys_are_never_shown() {
    let key = "sk-live-abcdefghijklmnop";
    let echo = format!("Bearer {key} and header-secret-value");
    for act in [
        Act::json(401, json!({"error": {"message": echo}})),
        Act::json(200, format!("<html>{echo}")),
        Act::json(500, echo.clone()),
    ] {
        let server = Server::always(act).await;
        let mut settings = server.settings();
        settings.api_key = Some(key.into());
        settings.key_name = Some("MY_KEY".to_owned());
        settings.extra_headers = vec![("X-Secret".to_owned(), "header-secret-value".into())];
        let error = ask(&model(settings)).await.unwrap_err();
        let shown = format!("{error} {error:?} {:?}", error.source());
        assert!(
            !shown.contains("abcdefghij") && !shown.contains("header-secret"),
            "{shown}"
        );
        assert!(shown.contains("***"), "{shown}");
    }
}

#[tokio::test]
async fn a_reply_that_echoes_the_key_is_cleaned() {
    let key = "sk-live-abcdefghijklmnop";
    let server = Server::always(Act::say(&format!("your key is {key}"))).await;
    let mut settings = server.settings();
    settings.api_key = Some(key.into());
    let reply = ask(&model(settings)).await.unwrap();
    assert_eq!(reply.content, "your key is ***");
    assert!(!reply.exchange.unwrap().response.get().contains(key));
}

#[tokio::test]
async fn a_wrong_key_is_named_by_where_it_comes_from() {
    let server = Server::always(Act::json(
        401,
        json!({"error": {"message": "Incorrect API key provided."}}),
    ))
    .await;
    let mut settings = server.settings();
    settings.api_key = Some("sk-wrong".into());
    settings.key_name = Some("OPENAI_API_KEY".to_owned());
    let error = ask(&model(settings)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "target my-model at {} answered 401 Unauthorized: Incorrect API key provided. \
             Check the key in OPENAI_API_KEY (apikey in the config)",
            server.base_url()
        )
    );
}

#[test]
fn settings_that_cannot_work_are_refused_with_the_reason() {
    let settings = |url: &str| ModelSettings::new(ModelId::new("m").unwrap(), "w", url);
    let refused = |settings: ModelSettings| match OpenAi::new(settings, &HttpClient::default()) {
        Ok(_) => panic!("taken"),
        Err(error) => error.to_string(),
    };
    for url in ["", "api.openai.com/v1", "ftp://x/v1", "http://"] {
        let text = refused(settings(url));
        assert!(
            text.contains("model m") && text.contains("base_url"),
            "{text}"
        );
    }
    let mut bad_key = settings("http://h/v1");
    bad_key.api_key = Some("sk-with\nbreak".into());
    bad_key.key_name = Some("MY_KEY".to_owned());
    let text = refused(bad_key);
    assert!(
        text.contains("MY_KEY") && !text.contains("sk-with"),
        "{text}"
    );
    let mut bad_header = settings("http://h/v1");
    bad_header.extra_headers = vec![("bad name".to_owned(), "v".into())];
    assert!(refused(bad_header).contains("\"bad name\""));
    let mut streaming = settings("http://h/v1");
    streaming
        .extra_body
        .insert("stream".to_owned(), true.into());
    assert!(refused(streaming).contains("\"stream\""));
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut out, text).unwrap();
    out.finish().unwrap()
}

/// Some proxies compress although nobody asked.
#[tokio::test]
async fn a_compressed_reply_is_decoded() {
    let Act::Answer(status, _, body) = Act::say("Hi there.") else {
        panic!("an answer")
    };
    for (encoding, body) in [
        ("gzip", gzip(&body)),
        ("X-GZIP", gzip(&body)),
        ("gzip, gzip", gzip(&gzip(&body))),
        ("identity", body.clone()),
    ] {
        let act = Act::Answer(status, Vec::new(), body).with("content-encoding", encoding);
        let server = Server::always(act).await;
        let reply = ask(&server.model()).await.unwrap();
        assert_eq!(reply.content, "Hi there.", "{encoding}");
        let exchange = reply.exchange.unwrap();
        assert!(exchange.response.get().contains("Hi there."), "{encoding}");
        assert_eq!(server.requests()[0].header("accept-encoding"), None);
    }
    let refusal = gzip(br#"{"error": {"message": "no such model"}}"#);
    let act = Act::Answer(404, Vec::new(), refusal).with("content-encoding", "gzip");
    fails(act, ModelErrorKind::Permanent, &["no such model"]).await;
}

#[tokio::test]
async fn a_compressed_reply_that_cannot_be_read_says_so() {
    use ModelErrorKind::{Malformed, Transient};
    let act = Act::json(200, "x").with("content-encoding", "br");
    fails(act, Malformed, &["content-encoding: br", "proxy"]).await;
    let torn = gzip(&[b'x'; 1000])[..12].to_vec();
    let act = Act::Answer(200, Vec::new(), torn).with("content-encoding", "gzip");
    fails(act, Transient, &["broke the connection off", "Gzip"]).await;
}

/// 100 MB of zeros are 100 kB of gzip.
#[tokio::test]
async fn a_reply_that_decodes_to_more_than_a_reply_may_have_is_refused() {
    let bomb = gzip(&vec![b' '; 100 << 20]);
    assert!(bomb.len() < 1 << 20);
    let act = Act::Answer(200, Vec::new(), bomb).with("content-encoding", "gzip");
    fails(act, ModelErrorKind::Malformed, &["more than 8 MiB"]).await;
}

/// What a server with TLS answers to a request without it: a fatal alert, `unexpected_message`.
#[tokio::test]
async fn plain_http_to_a_server_with_tls_says_so() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 1 << 12];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(&[0x15, 3, 3, 0, 2, 2, 10]).await;
        }
    });
    let settings = ModelSettings::new(ModelId::new("my-model").unwrap(), "wire-model", url);
    let error = ask(&model(settings)).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("does not speak HTTP"), "{text}");
    assert!(
        text.contains("write https:// in front of base_url"),
        "{text}"
    );
}
