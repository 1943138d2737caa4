//! An endpoint that sends back what it got: keys come out of nothing that is kept or shown.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod endpoint;

use std::sync::{Arc, Mutex};

use endpoint::{completion, request};
use llm_client::{CallFailure, HttpClient, ModelFactory, ModelSettings, RetryPolicy};
use schema::{ChatModel, Event, Journal, ModelId};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// What must not come out, in the forms in which it goes out and comes back.
const SECRETS: [&str; 12] = [
    "p@ss/w0rd-Xy",
    "p%40ss%2Fw0rd-Xy",
    "p%40ss%2fw0rd-Xy",
    "p@ss\\/w0rd-Xy",
    // `al/ice:p@ss/w0rd-Xy`, as the header has it.
    "YWwvaWNlOnBAc3MvdzByZC1YeQ",
    "pathkey-9f8e7d6c5b4a",
    "a+b/1c==&d9e8",
    "a%2Bb%2F1c%3D%3D%26d9e8",
    "sk-live-\"quoted\"-0123456789",
    "sk-live-\\\"quoted\\\"-0123456789",
    "hidden-in-the-path",
    "token-of-the-body-1",
];

/// Makes status and body of a request.
type Answer = fn(&str) -> (u16, String);

#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Journal for Lines {
    fn record(&self, event: Event) {
        self.0.lock().unwrap().push(format!("{event:?}"));
    }
}

/// Sends back the request, in the status and the form that `answer` makes of it.
async fn echo(answer: Answer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut got = Vec::new();
            let mut room = [0; 4096];
            while !got.ends_with(b"}") {
                match stream.read(&mut room).await {
                    Ok(n @ 1..) => got.extend_from_slice(&room[..n]),
                    _ => break,
                }
            }
            let (status, body) = answer(&String::from_utf8(got).unwrap());
            let reply = format!(
                "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(reply.as_bytes()).await;
        }
    });
    address
}

fn settings(address: &str) -> ModelSettings {
    let url = format!(
        "http://al%2Fice:p%40ss%2Fw0rd-Xy@{address}/hidden-in-the-path/pathkey-9f8e7d6c5b4a/v1?sig=a%2Bb%2F1c%3D%3D%26d9e8"
    );
    let mut settings = ModelSettings::new(ModelId::new("my-model").unwrap(), "wire", url);
    settings.extra_headers = vec![("X-Key".to_owned(), "sk-live-\"quoted\"-0123456789".into())];
    settings.hidden = vec!["hidden-in-the-path".into()];
    settings
        .extra_body
        .insert("user_token".to_owned(), "token-of-the-body-1".into());
    settings
}

/// Everything that is left of a call to an endpoint that answers so.
async fn left_of_a_call(answer: Answer) -> Vec<String> {
    let settings = settings(&echo(answer).await);
    let journal = Arc::new(Lines::default());
    let factory = ModelFactory::new(HttpClient::default())
        .with_journal(Arc::clone(&journal) as _)
        .with_retries(RetryPolicy {
            max_attempts: 2,
            base_delay: std::time::Duration::from_millis(1),
            ..RetryPolicy::default()
        });
    let mut left = vec![settings.endpoint(), format!("{settings:?}")];
    let model: Arc<dyn ChatModel> = factory.model(settings).unwrap();
    match model.chat(&request("a")).await {
        Ok(reply) => {
            let exchange = reply.exchange.clone().unwrap();
            left.push(exchange.request.get().to_owned());
            left.push(exchange.response.get().to_owned());
            left.push(format!("{reply:?}"));
        }
        Err(error) => {
            left.push(
                CallFailure::of(&error).map_or_else(String::new, |failure| failure.reason.clone()),
            );
            left.push(format!("{error} {error:?}"));
        }
    }
    left.extend(journal.0.lock().unwrap().drain(..));
    left
}

#[tokio::test]
async fn nothing_that_an_endpoint_echoes_holds_a_key() {
    let answers: [Answer; 6] = [
        |got| (200, completion(got, 1, 1)),
        |got| {
            (
                200,
                completion(&format!("{got:?} {}", SECRETS.join(" ")), 1, 1),
            )
        },
        |got| (500, got.to_owned()),
        |got| {
            (
                400,
                serde_json::json!({"error": {"message": got}}).to_string(),
            )
        },
        |got| {
            (401, serde_json::json!({"error": {"message": serde_json::json!({"got": got}).to_string()}}).to_string())
        },
        |_| (500, format!("{}{}", " ".repeat(1190), SECRETS.join(", "))),
    ];
    for (at, answer) in answers.into_iter().enumerate() {
        let left = left_of_a_call(answer).await;
        assert!(left.len() >= 4);
        for secret in SECRETS {
            for text in &left {
                // The debug form of an event escapes a second time.
                let once = text.replace("\\\"", "\"").replace("\\\\", "\\");
                assert!(
                    !text.contains(secret) && !once.contains(secret),
                    "answer {at}: {secret} in {text}"
                );
            }
        }
    }
}

#[tokio::test]
async fn what_is_no_key_stays() {
    let left = left_of_a_call(|got| {
        let words = "ollama and v1 and p@ss and wire and api-version 2024-02-01";
        (200, completion(&format!("{words} {}", got.len()), 1, 1))
    })
    .await;
    let kept = left
        .iter()
        .filter(|text| text.contains("ollama and v1 and p@ss and wire"));
    assert!(kept.count() >= 2, "{left:?}");
    assert!(left[0].ends_with("/***/***/v1"), "{}", left[0]);
}
