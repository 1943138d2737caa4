//! Endpoints that answer nothing: for a minute, for good, or to one request alone.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod common;
mod simulated;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use common::{Act, Record, Server, http, quick};
use llm_client::{CallFailure, Health, ModelFactory, NoReply};
use schema::{EventKind, ModelErrorKind};
use simulated::{Does, TIMEOUT, stack, stack_open_after};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn an_outage_of_a_minute_costs_no_call() {
    for does in [Does::Fail, Does::Unreachable, Does::Refuse(None)] {
        for begins in [0, 5] {
            let stack = stack(200, move |asked| {
                if (begins..begins + 60).contains(&asked.time.as_secs()) {
                    does
                } else {
                    Does::Answer(2 * SECOND)
                }
            });
            assert_eq!(
                stack.load(200, 90 * SECOND).await,
                0,
                "{does:?} from second {begins}"
            );
            assert!(
                stack
                    .record
                    .events(EventKind::CircuitBreakerOpened)
                    .is_empty()
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn half_an_outage_costs_no_call() {
    // One of two servers behind an address is gone, and says so in the same words each time.
    let stack = stack(100, |asked| {
        let gone = asked.time.as_secs() < 60 && asked.number % 7 % 2 == 0;
        if gone {
            Does::Fail
        } else {
            Does::Answer(SECOND)
        }
    });
    assert_eq!(stack.load(100, 70 * SECOND).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_alone_fails_the_same_way_keeps_all_its_attempts() {
    let failures = AtomicUsize::new(0);
    let stack = stack(20, move |asked| match asked.row {
        "unlucky" if failures.fetch_add(1, Ordering::SeqCst) < 9 => Does::Fail,
        "poison" => Does::Fail,
        _ => Does::Answer(SECOND / 10),
    });
    let others = stack.load(5, 300 * SECOND);
    let (unlucky, poison, failed) =
        tokio::join!(stack.call("unlucky"), stack.call("poison"), others);
    unlucky.unwrap();
    let error = poison.unwrap_err();
    assert_eq!(
        (error.kind(), error.attempts()),
        (ModelErrorKind::Transient, 10)
    );
    assert_eq!(failed, 0);
    assert!(!stack.breaker.is_open());
}

#[tokio::test(start_paused = true)]
async fn where_nothing_ever_listened_ten_seconds_are_enough() {
    for rows in [1, 20] {
        let stack = stack(20, |_| Does::NotThere);
        let ends = stack.calls(rows, 20).await;
        let took = stack.began.elapsed();
        assert!((10 * SECOND..11 * SECOND).contains(&took), "{took:?}");
        let text = ends[0].as_ref().unwrap_err().to_string();
        assert!(
            text.contains("the last with refused. Nothing there has ever answered: is it running, and is `base_url` right?"),
            "{text}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_was_there_or_that_is_waited_for_has_longer() {
    let restarts = stack(20, |asked| match asked.time.as_secs() {
        // Ten attempts cover 75 seconds.
        2..70 => Does::NotThere,
        _ => Does::Answer(SECOND),
    });
    assert_eq!(restarts.load(20, 100 * SECOND).await, 0);
    let hangs_first = stack(20, |asked| match asked.number {
        0 => Does::Refuse(None),
        _ => Does::NotThere,
    });
    hangs_first.calls(1, 1).await;
    assert!(hangs_first.began.elapsed() > 60 * SECOND);
    // An hour is the time for a server that loads a large model.
    let waits = stack_open_after(3600 * SECOND, 20, |_| Does::NotThere);
    waits.calls(1, 1).await;
    assert!(waits.began.elapsed() > 60 * SECOND);
}

#[tokio::test]
async fn over_http_a_refused_connection_is_known() {
    let gone = Server::always(Act::say("ok")).await;
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut settings = gone.settings();
    settings.base_url = format!("http://{}/v1", socket.local_addr().unwrap());
    let factory = ModelFactory::new(http()).with_retries(quick());
    let error = common::ask(&*factory.model(settings).unwrap())
        .await
        .unwrap_err();
    let failure = CallFailure::of(&error).unwrap();
    assert_eq!(failure.no_reply, Some(NoReply::Refused), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_target_that_hangs_costs_minutes_and_not_hours() {
    let stack = stack(20, |_| Does::Hang);
    let ends = stack.calls(1000, 20).await;
    assert!(
        stack.began.elapsed() < 3 * TIMEOUT,
        "{:?}",
        stack.began.elapsed()
    );
    assert!(stack.seen.attempts() < 100, "{}", stack.seen.attempts());
    let error = ends.into_iter().next_back().unwrap().unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::CircuitOpen);
    let text = error.to_string();
    assert!(
        text.contains("circuit breaker is open") && text.contains("timeout"),
        "{text}"
    );
    let opened = &stack.record.events(EventKind::CircuitBreakerOpened)[0];
    assert_eq!(opened["model"], "wire-model");
    assert_eq!(opened["reason"], "timeout");
}

#[tokio::test(start_paused = true)]
async fn a_target_that_always_rate_limits_costs_minutes_and_not_hours() {
    for asks_for in [None, Some(60 * SECOND), Some(3600 * SECOND)] {
        let stack = stack(20, move |_| Does::Refuse(asks_for));
        let ends = stack.calls(1000, 20).await;
        assert!(ends.iter().all(Result::is_err));
        assert!(
            stack.began.elapsed() <= 300 * SECOND,
            "{:?}",
            stack.began.elapsed()
        );
        assert!(stack.breaker.is_open());
        let text = ends[999].as_ref().unwrap_err().to_string();
        assert!(
            text.ends_with("status 429: slow down. Run again later: finished calls are kept"),
            "{text}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_now_and_then_finds_that_the_endpoint_is_back() {
    let stack = stack(20, |asked| match asked.time.as_secs() {
        0..1000 => Does::Unreachable,
        _ => Does::Answer(SECOND),
    });
    stack.calls(100, 20).await;
    assert!(stack.breaker.is_open());
    // Two calls a second for 20 seconds: no attempt, and then one.
    let before = stack.seen.attempts();
    for _ in 0..40 {
        stack.call("row").await.unwrap_err();
        tokio::time::sleep(SECOND / 2).await;
    }
    assert!(stack.seen.attempts() - before <= 1);
    tokio::time::sleep(30 * SECOND).await;
    stack.call("row").await.unwrap_err();
    assert!(stack.seen.attempts() > before);
    tokio::time::sleep_until(stack.began + 1100 * SECOND).await;
    stack.call("row").await.unwrap();
    assert!(!stack.breaker.is_open());
    assert_eq!(
        stack.record.events(EventKind::CircuitBreakerClosed).len(),
        1
    );
    stack.call("row").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn neither_a_slow_model_nor_one_hanging_call_opens_it() {
    let slow = stack(20, |_| Does::Answer(TIMEOUT - SECOND));
    assert_eq!(slow.load(20, 3600 * SECOND).await, 0);
    let beside = stack(20, |asked| match asked.row {
        "hangs" => Does::Hang,
        _ => Does::Answer(SECOND),
    });
    let (error, failed) = tokio::join!(beside.call("hangs"), beside.load(3, 3600 * SECOND));
    assert_eq!((error.unwrap_err().attempts(), failed), (3, 0));
    for stack in [slow, beside] {
        assert!(
            stack
                .record
                .events(EventKind::CircuitBreakerOpened)
                .is_empty()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn failures_far_apart_do_not_open_it() {
    let stack = stack(20, |_| Does::Unreachable);
    for _ in 0..3 {
        // All attempts of one call take less than three minutes.
        stack.call("row").await.unwrap_err();
        tokio::time::sleep(600 * SECOND).await;
    }
    assert!(
        stack
            .record
            .events(EventKind::CircuitBreakerOpened)
            .is_empty()
    );
}

#[tokio::test(start_paused = true)]
async fn who_is_waited_for_and_until_when_can_be_seen() {
    let stack = stack(20, |asked| match asked.row {
        "slow" => Does::Answer(20 * SECOND),
        _ => Does::Refuse(Some(42 * SECOND)),
    });
    let look = async {
        tokio::time::sleep(10 * SECOND).await;
        let status = stack.breaker.status();
        assert_eq!(
            (&*status.model, &*status.endpoint),
            ("wire-model", "endpoint")
        );
        assert_eq!((status.in_flight, status.waiting), (1, 1));
        assert_eq!(status.longest.unwrap().as_secs(), 10);
        let (next, why) = status.next_attempt.unwrap();
        assert!((31..=33).contains(&next.as_secs()), "{next:?}");
        assert_eq!(&*why, "status 429: slow down.");
        let failing = status.failing.unwrap();
        assert_eq!((failing.attempts, failing.lasting.as_secs()), (1, 9));
        assert_eq!(status.next_probe, None);
    };
    let waits = tokio::time::timeout(30 * SECOND, stack.call("refused"));
    let (_, slow, ()) = tokio::join!(waits, stack.call("slow"), look);
    slow.unwrap();
    let status = stack.breaker.status();
    assert_eq!((status.in_flight, status.waiting), (0, 0));
    assert!(status.failing.is_none() && status.next_attempt.is_none());
}

#[tokio::test]
async fn over_http_the_same_503_five_times_costs_no_call_while_nobody_is_answered() {
    for act in [Act::json(503, "<html>restarting</html>"), Act::Close] {
        let server =
            Server::start(move |n, _| if n < 100 { act.clone() } else { Act::say("ok") }).await;
        let factory = ModelFactory::new(http()).with_retries(quick());
        let model = factory.model(server.settings()).unwrap();
        let calls = (0..20).map(|_| common::ask(&*model));
        for reply in futures::future::join_all(calls).await {
            reply.unwrap();
        }
    }
}

#[tokio::test]
async fn over_http_a_dead_model_fails_at_once_beside_one_that_answers() {
    let server = Server::start(|_, got| match got.body["model"].as_str() {
        Some("dead") => Act::json(503, "x"),
        _ => Act::say("ok"),
    })
    .await;
    let (record, health) = (Arc::<Record>::default(), Health::new());
    let factory = ModelFactory::new(http())
        .with_retries(quick())
        .with_journal(Arc::<Record>::clone(&record) as _)
        .with_health(health.clone())
        .with_circuit_breaker(Duration::from_millis(20));
    let model = |name: &str| {
        let mut settings = server.settings();
        settings.model = name.to_owned();
        factory.model(settings).unwrap()
    };
    let (dead, alive) = (model("dead"), model("alive"));
    let asked_until = Instant::now() + 30 * SECOND;
    let error = loop {
        let error = common::ask(&*dead).await.unwrap_err();
        if error.kind() == ModelErrorKind::CircuitOpen {
            break error;
        }
        assert!(Instant::now() < asked_until, "it never opened: {error}");
    };
    let text = error.to_string();
    assert!(
        text.starts_with("target my-model at http://127.0.0.1:"),
        "{text}"
    );
    assert!(text.contains("status 503: x"), "{text}");
    let asked = server.count();
    for _ in 0..50 {
        let error = common::ask(&*model("dead")).await.unwrap_err();
        assert_eq!(error.attempts(), 0, "{error}");
    }
    assert_eq!(server.count(), asked, "no attempt was made");
    common::ask(&*alive).await.unwrap();
    assert_eq!(record.events(EventKind::CircuitBreakerOpened).len(), 1);
    let exceptions = record.events(EventKind::SutException);
    assert_eq!(
        exceptions.last().unwrap()["exception"]["kind"],
        "circuit_open"
    );
    let status = health.status();
    assert_eq!(status.len(), 2);
    assert!(status[0].next_probe.is_some() && status[1].next_probe.is_none());
}
