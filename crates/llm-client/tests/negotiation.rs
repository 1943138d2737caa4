//! Endpoints that do not know every part of a request.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod common;

use std::sync::Arc;

use common::{Act, Got, Record, Server, ask, http, request};
use llm_client::OpenAi;
use schema::{ChatModel, ChatRequest, EventKind, ModelErrorKind, ResponseFormat};
use serde_json::json;

/// Refuses a request that holds `field`, with `message`.
fn unless(field: &'static str, message: &'static str) -> impl Fn(usize, &Got) -> Act {
    move |_, got| match got.body.get(field) {
        Some(_) => Act::json(400, json!({"error": {"message": message, "param": field}})),
        None => Act::say("ok"),
    }
}

fn structured() -> ChatRequest {
    ChatRequest {
        response_format: ResponseFormat::JsonSchema {
            name: "verdict".into(),
            schema: Arc::new(json!({"type": "object"})),
        },
        ..request()
    }
}

#[tokio::test]
async fn the_other_name_of_the_token_limit_is_found_and_remembered() {
    for (first, second, message) in [
        (
            "max_tokens",
            "max_completion_tokens",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        ),
        (
            "max_completion_tokens",
            "max_tokens",
            "Extra inputs are not permitted",
        ),
    ] {
        let server = Server::start(unless(first, message)).await;
        let mut settings = server.settings();
        settings.max_tokens = Some(9);
        if first == "max_completion_tokens" {
            settings.token_limit = llm_client::TokenLimitName::MaxCompletionTokens;
        }
        let record = Arc::new(Record::default());
        let model = OpenAi::new(settings, &http())
            .unwrap()
            .with_journal(Arc::<Record>::clone(&record));
        ask(&model).await.unwrap();
        ask(&model).await.unwrap();
        let requests = server.requests();
        assert_eq!(requests.len(), 3, "one extra attempt in all");
        assert_eq!(requests[0].body[first], 9);
        assert_eq!(
            (&requests[1].body[second], &requests[2].body[second]),
            (&json!(9), &json!(9))
        );
        let events = record.events(EventKind::RequestFormChanged);
        assert_eq!(events.len(), 1);
        assert_eq!(events[0]["change"], format!("{second} instead of {first}"));
        assert_eq!(events[0]["model"], "my-model");
    }
}

#[tokio::test]
async fn a_limit_that_is_too_high_is_no_matter_of_names() {
    let message =
        "max_tokens is too large: 9000. This model supports at most 4096 completion tokens";
    let server = Server::start(unless("max_tokens", message)).await;
    let mut settings = server.settings();
    settings.max_tokens = Some(9000);
    let error = ask(&common::model(settings)).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Permanent);
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn response_formats_get_weaker_step_by_step() {
    let server = Server::start(unless(
        "response_format",
        "This response_format type is unavailable now",
    ))
    .await;
    let model = server.model();
    model.chat(&structured()).await.unwrap();
    model.chat(&structured()).await.unwrap();
    let formats: Vec<_> = server
        .requests()
        .iter()
        .map(|got| got.body["response_format"]["type"].clone())
        .collect();
    assert_eq!(
        formats,
        [
            json!("json_schema"),
            json!("json_object"),
            json!(null),
            json!(null)
        ]
    );
}

#[tokio::test]
async fn a_sampling_setting_that_is_refused_is_left_out() {
    let server = Server::start(unless(
        "temperature",
        "Unsupported value: 'temperature' does not support 0.7 with this model.",
    ))
    .await;
    let mut settings = server.settings();
    settings.temperature = Some(0.7);
    settings.top_p = Some(0.9);
    ask(&common::model(settings)).await.unwrap();
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1].body.get("temperature"), None);
    assert_eq!(requests[1].body["top_p"], 0.9);
}

#[tokio::test]
async fn what_the_user_put_into_extra_body_is_never_taken_out() {
    let server = Server::start(unless("temperature", "Unsupported parameter: temperature")).await;
    let mut settings = server.settings();
    settings
        .extra_body
        .insert("temperature".to_owned(), 1.into());
    let error = ask(&common::model(settings)).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Permanent);
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn an_endpoint_that_refuses_everything_is_given_up() {
    let message = "unsupported: max_tokens max_completion_tokens response_format temperature top_p seed reasoning_effort";
    let server = Server::always(Act::json(400, json!({"error": message}))).await;
    let mut settings = server.settings();
    settings.max_tokens = Some(1);
    settings.temperature = Some(1.0);
    settings.top_p = Some(1.0);
    settings.seed = Some(1);
    settings.reasoning_effort = Some("low".to_owned());
    let error = common::model(settings)
        .chat(&structured())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Permanent);
    assert!(server.count() <= 8);
}
