//! Attempts in flight, connections, rates and stopping.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod common;

use std::{
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

use common::{Act, Record, Server, ask, http, quick};
use futures::future::join_all;
use llm_client::{
    LimitSettings, LimitShare, Limited, Limiter, ModelFactory, OpenAi, Retried, Stop,
};
use schema::{ChatModel, EventKind, ModelErrorKind};

struct Set {
    model: Limited<OpenAi>,
    limiter: Arc<Limiter>,
    record: Arc<Record>,
    stop: Stop,
}

fn limited(server: &Server, settings: LimitSettings) -> Set {
    let record = Arc::new(Record::default());
    let limiter = Limiter::new("endpoint", settings, Arc::<Record>::clone(&record) as _);
    let stop = Stop::new();
    let model = Limited::new(server.model(), Arc::clone(&limiter), None, stop.clone());
    Set {
        model,
        limiter,
        record,
        stop,
    }
}

fn settings(initial: usize, max: usize) -> LimitSettings {
    LimitSettings {
        initial_concurrency: initial,
        max_concurrency: max,
        ..LimitSettings::default()
    }
}

async fn ask_many(model: &(impl ChatModel + ?Sized), n: usize) -> usize {
    let calls = (0..n).map(|_| ask(model));
    join_all(calls)
        .await
        .iter()
        .filter(|result| result.is_ok())
        .count()
}

#[tokio::test]
async fn no_more_are_in_flight_than_allowed_and_connections_are_kept() {
    let server = Server::always(Act::say("x").later(Duration::from_millis(2))).await;
    let set = limited(&server, settings(8, 8));
    assert_eq!(ask_many(&set.model, 400).await, 400);
    assert!(server.most_in_flight() <= 8, "{}", server.most_in_flight());
    assert!(
        server.connections() <= 16,
        "{} connections",
        server.connections()
    );
    assert_eq!(set.limiter.in_flight(), 0);
}

/// An endpoint of which nothing is known gets few attempts at first, and all when it has answered.
#[tokio::test]
async fn few_are_in_flight_at_first() {
    let server = Server::always(Act::say("x").later(Duration::from_millis(40))).await;
    let set = limited(&server, settings(2, 20));
    let began = Instant::now();
    let look = async {
        tokio::time::sleep(Duration::from_millis(30)).await;
        (server.most_in_flight(), began.elapsed())
    };
    let (answered, (first, looked)) = tokio::join!(ask_many(&set.model, 300), look);
    assert_eq!(answered, 300);
    // Four more after a quarter of a second, and so on: on a busy machine the look comes late.
    let most = match looked.as_secs_f64() {
        seconds @ ..0.3 => 3.0 + 4.0 * ((seconds / 0.25).exp2() - 1.0),
        _ => 20.0,
    };
    assert!(
        first >= 1 && first as f64 <= most,
        "{first} after {looked:?}"
    );
    assert_eq!(server.most_in_flight(), 20);
    assert_eq!(set.limiter.pace(), None);
}

#[tokio::test]
async fn other_failures_change_nothing() {
    for act in [Act::json(500, "x"), Act::json(200, "{}"), Act::Close] {
        let server = Server::always(act).await;
        let set = limited(&server, settings(10, 10));
        ask_many(&set.model, 20).await;
        assert_eq!(set.limiter.pace(), None);
        assert!(set.record.events(EventKind::PaceChanged).is_empty());
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_returns_its_permit() {
    let server = Server::always(Act::Hang).await;
    let set = limited(&server, settings(1, 1));
    tokio::time::timeout(Duration::from_millis(20), ask(&set.model))
        .await
        .unwrap_err();
    assert_eq!(set.limiter.in_flight(), 0);
}

#[tokio::test]
async fn a_sleeping_retry_holds_no_permit() {
    let server = Server::start(|n, _| match n {
        0 => Act::json(429, "x").with("retry-after", "0.2"),
        _ => Act::say("x"),
    })
    .await;
    let set = limited(&server, settings(1, 1));
    let limiter = Arc::clone(&set.limiter);
    let model = Retried::new(
        set.model,
        quick(),
        Arc::<Record>::clone(&set.record),
        set.stop,
    );
    let first = ask(&model);
    let second = async {
        while set.record.events(EventKind::RetryingCall).is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(limiter.in_flight(), 0);
        ask(&model).await
    };
    let (first, second) = tokio::join!(first, second);
    first.unwrap();
    second.unwrap();
}

#[tokio::test]
async fn once_stopped_nothing_starts_and_what_is_in_flight_finishes() {
    let server = Server::always(Act::say("x").later(Duration::from_millis(100))).await;
    let set = limited(&server, settings(2, 2));
    let stopper = async {
        while server.count() < 2 {
            tokio::task::yield_now().await;
        }
        set.stop.stop();
    };
    let (results, ()) = tokio::join!(join_all((0..10).map(|_| ask(&set.model))), stopper);
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 2);
    for error in results.into_iter().filter_map(Result::err) {
        assert_eq!(error.kind(), ModelErrorKind::Cancelled);
    }
    assert_eq!(server.count(), 2);
    let error = ask(&set.model).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Cancelled);
}

#[tokio::test]
async fn requests_and_tokens_per_minute_are_kept() {
    let server = Server::always(Act::say("x")).await;
    // 600 a minute is one every 100 ms after a burst of 60.
    let requests = LimitSettings {
        requests_per_minute: NonZeroU32::new(600),
        ..settings(100, 100)
    };
    let set = limited(&server, requests);
    let started = Instant::now();
    ask_many(&set.model, 63).await;
    assert!(
        started.elapsed() >= Duration::from_millis(250),
        "{:?}",
        started.elapsed()
    );
    // "hello" is 2 tokens and a reply at most 98: 100 a call, 10 a ms after a burst of 60,000.
    let tokens = LimitSettings {
        tokens_per_minute: NonZeroU32::new(600_000),
        ..settings(1000, 1000)
    };
    let limiter = Limiter::new("endpoint", tokens, Arc::new(schema::NoJournal));
    let model = OpenAi::new(server.settings(), &http()).unwrap();
    let model = Limited::new(model, limiter, Some(98), Stop::new());
    let started = Instant::now();
    ask_many(&model, 630).await;
    assert!(
        started.elapsed() >= Duration::from_millis(250),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn a_process_has_its_share_of_limits_which_can_change() {
    let server = Server::always(Act::say("x").later(Duration::from_millis(5))).await;
    let share = LimitShare::one(3);
    let model = |limits| {
        let factory = ModelFactory::new(http()).with_limits(limits);
        let model = factory.with_share(share.clone()).model(server.settings());
        model.unwrap()
    };
    let six = model(LimitSettings {
        shares_concurrency: true,
        ..settings(6, 6)
    });
    ask_many(six.as_ref(), 30).await;
    assert_eq!(server.most_in_flight(), 2);
    share.set(10);
    assert_eq!(ask_many(six.as_ref(), 3).await, 3, "one is always allowed");
    share.set(1);
    ask_many(six.as_ref(), 30).await;
    assert_eq!(server.most_in_flight(), 6);
    // 600 a minute for three is one every 300 ms after a burst of 20.
    share.set(3);
    let rated = model(LimitSettings {
        requests_per_minute: NonZeroU32::new(600),
        ..settings(100, 100)
    });
    let started = Instant::now();
    ask_many(rated.as_ref(), 22).await;
    assert!(
        started.elapsed() >= Duration::from_millis(500),
        "{:?}",
        started.elapsed()
    );
    assert!(
        server.most_in_flight() > 6,
        "no limit on those in flight is shared"
    );
}
