//! What the limiter makes of servers that refuse some attempts, in virtual time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod common;
mod simulated;

use std::{
    sync::{Mutex, atomic::Ordering},
    time::Duration,
};

use schema::EventKind;
use serde_json::json;
use simulated::{Asked, Does, stack};

const MINUTE: Duration = Duration::from_secs(60);

/// How long answer `number` takes: around a second, in no order.
fn about_a_second(number: usize) -> Duration {
    let mixed = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48;
    Duration::from_millis(700 + mixed % 600)
}

/// Refuses one of `every` attempts, whatever the load.
fn refusing(every: usize) -> impl Fn(&Asked<'_>) -> Does + Send + Sync {
    move |asked| {
        let mixed = (asked.number as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 40;
        if (mixed as usize).is_multiple_of(every) {
            Does::Refuse(None)
        } else {
            Does::Answer(about_a_second(asked.number))
        }
    }
}

/// Takes `rate` attempts a second, and after a pause `burst` at once.
fn bucket(rate: f64, burst: f64) -> impl Fn(&Asked<'_>) -> Does + Send + Sync {
    let bucket = Mutex::new((burst, 0.0));
    move |asked| {
        let mut bucket = bucket.lock().unwrap();
        let now = asked.time.as_secs_f64();
        let filled = (bucket.0 + (now - bucket.1) * rate).min(burst);
        *bucket = (filled, now);
        if filled < 1.0 {
            return Does::Refuse(None);
        }
        bucket.0 -= 1.0;
        Does::Answer(about_a_second(asked.number))
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_that_do_not_come_from_the_load_cost_next_to_nothing() {
    for (rows, every) in [(200, 100), (1000, 100), (20, 100), (200, 33)] {
        let free = stack(rows, |asked| Does::Answer(about_a_second(asked.number)));
        assert_eq!(free.load(rows, MINUTE).await, 0);
        let refused = stack(rows, refusing(every));
        assert_eq!(refused.load(rows, MINUTE).await, 0);
        let (got, possible) = (refused.seen.answered(), free.seen.answered());
        assert!(refused.seen.refused() > 0);
        assert!(
            got * 100 >= possible * 85,
            "{rows} rows, one of {every} refused: {got} answers of {possible} without refusals"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_rate_that_a_server_allows_is_used_up_with_few_refusals() {
    for (rate, rows) in [(20.0, 200), (100.0, 1000)] {
        let stack = stack(rows, bucket(rate, rate));
        let time = 3 * MINUTE;
        assert_eq!(stack.load(rows, time).await, 0, "no call fails");
        let (answered, refused) = (stack.seen.answered(), stack.seen.refused());
        let allowed = rate * time.as_secs_f64();
        assert!(
            answered as f64 >= 0.95 * allowed,
            "{answered} answers, {allowed} allowed"
        );
        assert!(
            refused * 4 <= answered,
            "{refused} refusals beside {answered} answers"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_few_at_once_is_asked_by_few() {
    // Two of three are refused at first.
    let stack = stack(60, |asked| {
        if asked.time < MINUTE && !asked.number.is_multiple_of(3) {
            Does::Refuse(None)
        } else {
            Does::Answer(about_a_second(asked.number))
        }
    });
    let load = stack.load(60, 2 * MINUTE);
    let watch = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(stack.limiter.limit() < 60);
        tokio::time::sleep(2 * MINUTE).await;
        stack.limiter.limit()
    };
    let (failed, limit) = tokio::join!(load, watch);
    assert_eq!((failed, limit), (0, 60), "it grows to the most again");
    let cut = &stack.record.events(EventKind::LimiterChanged)[0];
    assert_eq!(
        (&cut["before"], &cut["reason"]),
        (&json!(60), &json!("rate limited"))
    );
    assert_eq!(stack.limiter.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_refusals_cuts_once_in_a_round_trip() {
    let stack = stack(200, |asked| match asked.time.as_secs() {
        4 => Does::Refuse(None),
        _ => Does::Answer(Duration::from_secs(2)),
    });
    let failed = stack.load(200, Duration::from_secs(12)).await;
    assert_eq!(failed, 0);
    let events = stack.record.events(EventKind::LimiterChanged);
    let cuts: Vec<_> = events
        .iter()
        .filter(|event| event["reason"] == "rate limited")
        .map(|event| {
            (
                event["before"].as_u64().unwrap(),
                event["limit"].as_u64().unwrap(),
            )
        })
        .collect();
    let [(before, limit)] = cuts[..] else {
        panic!("{events:?}");
    };
    assert!(2 * limit >= before, "no deeper than half: {cuts:?}");
    assert!(stack.seen.refused.load(Ordering::SeqCst) > 100);
}

#[tokio::test(start_paused = true)]
async fn a_refused_attempt_keeps_its_place_for_as_long_as_an_answer_takes() {
    // The answers show that a place is worth a second; from then on everything is refused at once.
    let stack = stack(4, |asked| match asked.time.as_secs() {
        0..10 => Does::Answer(Duration::from_secs(1)),
        _ => Does::Refuse(None),
    });
    let load = tokio::time::timeout(Duration::from_secs(14), stack.load(200, MINUTE));
    load.await.unwrap_err();
    // Four places, four seconds, and not each of 200 rows at once.
    assert!(
        (4..=20).contains(&stack.seen.refused()),
        "{}",
        stack.seen.refused()
    );
}
