//! A target that refuses its key: nobody pays for what would be said to it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod common;

use std::{sync::Arc, time::Duration};

use common::{Act, Record, Server, http, quick};
use llm_client::{Cache, CacheSettings, CallFailure, ModelFactory};
use schema::{ChatRequest, Item, Message, ModelErrorKind, ModelId, Purpose, Role, Scenario};

fn item(sut: &str) -> Item {
    let scenario = Scenario {
        id: "m01_s001".to_owned(),
        ..Scenario::default()
    };
    Item::new(
        &scenario,
        &ModelId::new(sut).unwrap(),
        0,
        Arc::new(Record::default()),
    )
}

fn says(item: &Item, purpose: Purpose, text: &str) -> ChatRequest {
    ChatRequest::new(vec![Message::new(Role::User, text)], item.call(purpose, 1))
}

#[tokio::test]
async fn after_a_401_only_stored_replies_of_its_users_are_returned() {
    let denies = Server::start(|n, _| match n {
        0 => Act::json(401, "wrong key"),
        _ => Act::say("ok"),
    })
    .await;
    let users = Server::always(Act::say("hello")).await;
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path().join("c.sqlite"), CacheSettings::default()).unwrap();
    let factory = ModelFactory::new(http())
        .with_retries(quick())
        .with_cache(cache);
    let target = factory.model(denies.settings()).unwrap();
    let user = factory.model(users.settings()).unwrap();
    let (denied, other) = (item("a"), item("b"));
    let user_says = |item: &Item, text: &str| {
        let request = says(item, Purpose::UserTurn, text);
        let user = Arc::clone(&user);
        async move { user.chat(&request).await }
    };
    user_says(&denied, "one").await.unwrap();
    target
        .chat(&says(&denied, Purpose::TargetTurn, "x"))
        .await
        .unwrap_err();

    let error = user_says(&denied, "two").await.unwrap_err();
    assert_eq!(
        (error.kind(), error.attempts()),
        (ModelErrorKind::Permanent, 0)
    );
    assert_eq!(CallFailure::of(&error).unwrap().status, Some(401));
    let text = error.to_string();
    assert!(
        text.starts_with("not called, because target my-model at http://127.0.0.1")
            && text.contains("401 Unauthorized: wrong key"),
        "{text}"
    );
    assert_eq!(users.count(), 1, "nothing was paid");
    // Stored replies cost nothing, other targets have users, and judges have something to judge.
    user_says(&denied, "one").await.unwrap();
    user_says(&other, "two").await.unwrap();
    user.chat(&says(&denied, Purpose::Judge, "verdict?"))
        .await
        .unwrap();

    // The target may always be called; an answer ends it.
    target
        .chat(&says(&denied, Purpose::TargetTurn, "y"))
        .await
        .unwrap();
    user_says(&denied, "two").await.unwrap();
}

/// Moves the clock of the runtime, whose other tasks keep the real one.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn after_half_a_minute_one_call_is_let_through() {
    let denies = Server::always(Act::json(401, "wrong key")).await;
    let users = Server::always(Act::say("hello")).await;
    let factory = ModelFactory::new(http()).with_retries(quick());
    let target = factory.model(denies.settings()).unwrap();
    let user = factory.model(users.settings()).unwrap();
    let denied = item("a");
    let user_says = async || user.chat(&says(&denied, Purpose::UserTurn, "one")).await;
    let request = says(&denied, Purpose::TargetTurn, "x");
    target.chat(&request).await.unwrap_err();

    user_says().await.unwrap_err();
    pass(Duration::from_secs(29)).await;
    user_says().await.unwrap_err();
    assert_eq!(users.count(), 0);
    pass(Duration::from_secs(2)).await;
    user_says().await.unwrap();
    // Only one: what it says may be refused again.
    user_says().await.unwrap_err();
    assert_eq!(users.count(), 1);
    target.chat(&request).await.unwrap_err();
    pass(Duration::from_secs(29)).await;
    user_says().await.unwrap_err();
    pass(Duration::from_secs(2)).await;
    user_says().await.unwrap();
    assert_eq!(users.count(), 2);
}
