//! The budget, against a real endpoint.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod endpoint;

use std::sync::Arc;

use endpoint::{Endpoint, completion, factory, request};
use futures::future::join_all;
use llm_client::{Budget, BudgetLimits, Cache, CacheSettings, ModelFactory};
use schema::{ChatModel, ModelErrorKind};

/// What a request of these tests is reckoned to take: "Hello." and 50 tokens of reply.
const RECKONED: u64 = 1 + 4 + 50;

fn tokens(limit: u64) -> Budget {
    Budget::new(BudgetLimits {
        tokens: Some(limit),
        dollars: None,
    })
}

fn dollars(limit: f64) -> Budget {
    Budget::new(BudgetLimits {
        tokens: None,
        dollars: Some(limit),
    })
}

fn model(factory: &ModelFactory, endpoint: &Endpoint) -> Arc<dyn ChatModel> {
    let mut settings = endpoint.settings();
    settings.max_tokens = Some(50);
    factory.model(settings).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_at_once_never_pass_the_ceiling_and_use_it_to_the_end() {
    // Each call takes less than it is reckoned for.
    let endpoint = Endpoint::start(|_, _| (200, completion("hi", 5, 20))).await;
    let budget = tokens(1000);
    let factory = factory().with_budget(budget.clone());
    let model = model(&factory, &endpoint);
    let calls = (0..200).map(|row| {
        let model = Arc::clone(&model);
        tokio::spawn(async move { model.chat(&request(&row.to_string())).await })
    });
    let mut answered = 0;
    for call in join_all(calls).await {
        match call.unwrap() {
            Ok(_) => answered += 1,
            Err(error) => {
                assert_eq!(error.kind(), ModelErrorKind::OverBudget);
                let text = error.to_string();
                assert!(text.contains("of 1,000 tokens are used"), "{text}");
                assert!(text.contains("my-model"), "{text}");
            }
        }
    }
    let spent = budget.spent().tokens;
    assert_eq!(spent, 25 * answered);
    assert!(spent <= 1000, "{spent}");
    // What is left is less than a call is reckoned for.
    assert!(spent > 1000 - RECKONED, "{spent}");
    assert!(budget.exceeded());
    assert_eq!(budget.refused(), 200 - answered);
    assert_eq!(endpoint.calls() as u64, answered);
}

#[tokio::test]
async fn a_call_that_takes_more_than_reckoned_passes_by_that_much_only() {
    let endpoint = Endpoint::start(|_, _| (200, completion("hi", 5, 200))).await;
    let budget = tokens(RECKONED * 2);
    let factory = factory().with_budget(budget.clone());
    let model = model(&factory, &endpoint);
    model.chat(&request("a")).await.unwrap();
    let error = model.chat(&request("b")).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::OverBudget);
    assert_eq!(budget.spent().tokens, 205);
}

#[tokio::test]
async fn dollars_are_counted_at_the_price_failed_attempts_included() {
    let endpoint = Endpoint::start(|n, _| match n {
        0 => (
            200,
            r#"{"usage": {"prompt_tokens": 1000000, "completion_tokens": 0}}"#.to_owned(),
        ),
        _ => (200, completion("hi", 500_000, 250_000)),
    })
    .await;
    let budget = dollars(1.5);
    let factory = factory().with_budget(budget.clone());
    let model = model(&factory, &endpoint);
    // Attempt one: a million tokens at 1 dollar; attempt two: half a million, and a quarter million at 2 dollars.
    model.chat(&request("a")).await.unwrap();
    assert!((budget.spent().dollars - 2.0).abs() < 1e-9);
    let error = model.chat(&request("b")).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("$2.00 of $1.50 are spent"), "{text}");
}

#[tokio::test]
async fn a_call_that_fails_for_good_is_settled_too() {
    let endpoint = Endpoint::start(|_, _| {
        (
            200,
            r#"{"usage": {"prompt_tokens": 10, "completion_tokens": 0}}"#.to_owned(),
        )
    })
    .await;
    let budget = tokens(1000);
    let factory = factory().with_budget(budget.clone());
    model(&factory, &endpoint)
        .chat(&request("a"))
        .await
        .unwrap_err();
    assert_eq!(
        budget.spent().tokens,
        10 * u64::try_from(endpoint.calls()).unwrap()
    );
    assert_eq!(
        budget.spent().dollars,
        factory.meter().total().paid.priced_cost
    );
}

#[tokio::test]
async fn a_reply_without_usage_takes_what_was_reckoned() {
    let endpoint = Endpoint::start(|_, _| {
        (
            200,
            r#"{"choices": [{"message": {"content": "hi"}}]}"#.to_owned(),
        )
    })
    .await;
    let budget = tokens(1000);
    let factory = factory().with_budget(budget.clone());
    let model = model(&factory, &endpoint);
    model.chat(&request("a")).await.unwrap();
    assert_eq!(budget.spent().tokens, RECKONED);
}

#[tokio::test]
async fn cached_replies_spend_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::numbered().await;
    let path = folder.path().join("replies.sqlite");
    let run = |budget: Budget| {
        let cache = Cache::open(&path, CacheSettings::default()).unwrap();
        factory().with_cache(cache).with_budget(budget)
    };
    let first = run(tokens(1000));
    model(&first, &endpoint).chat(&request("a")).await.unwrap();
    let before = first.meter().total();
    drop(first);
    let nothing = tokens(0);
    let second = run(nothing.clone());
    model(&second, &endpoint).chat(&request("a")).await.unwrap();
    assert_eq!(nothing.spent().tokens, 0);
    assert!(!nothing.exceeded());
    let now = second.meter().total();
    assert_eq!(now.spend, before.spend);
    assert_eq!(now.paid.calls, 0);
}

#[tokio::test]
async fn a_budget_in_dollars_wants_a_price() {
    let endpoint = Endpoint::numbered().await;
    let mut settings = endpoint.settings();
    settings.price = None;
    let error = factory()
        .with_budget(dollars(1.0))
        .model(settings.clone())
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("my-model (wire)"), "{error}");
    assert!(error.contains("give the model a price"), "{error}");
    factory()
        .with_budget(tokens(10_000))
        .model(settings)
        .unwrap()
        .chat(&request("a"))
        .await
        .unwrap();
}
