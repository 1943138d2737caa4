//! What the limiter makes of servers that refuse some attempts, in virtual time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod common;
mod simulated;

use std::time::Duration;

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

#[tokio::test(start_paused = true)]
async fn refusals_that_do_not_come_from_the_load_cost_next_to_nothing() {
    // At one of 33, the share is about what shows a limit of the rate, until a slower pace turns out not to help.
    for (rows, every, least) in [
        (200, 100, 85),
        (1000, 100, 85),
        (20, 100, 85),
        (200, 33, 75),
    ] {
        let free = stack(rows, |asked| Does::Answer(about_a_second(asked.number)));
        assert_eq!(free.load(rows, MINUTE).await, 0);
        let refused = stack(rows, refusing(every));
        assert_eq!(refused.load(rows, MINUTE).await, 0);
        let (got, possible) = (refused.seen.answered(), free.seen.answered());
        assert!(refused.seen.refused() > 0);
        assert!(
            got * 100 >= possible * least,
            "{rows} rows, one of {every} refused: {got} answers of {possible} without refusals"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_most_is_asked_less_and_recovers() {
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
        let slow = stack.limiter.pace().unwrap();
        assert!(slow < 30.0, "{slow}");
        tokio::time::sleep(58 * Duration::from_secs(1)).await;
        let before = stack.seen.answered();
        tokio::time::sleep(MINUTE).await;
        stack.seen.answered() - before
    };
    let (failed, answered) = tokio::join!(load, watch);
    assert_eq!(failed, 0);
    // 60 rows could have some 3,600 answers in the second minute. The pace doubles every few seconds.
    assert!(answered > 1500, "{answered}");
    let cut = &stack.record.events(EventKind::PaceChanged)[0];
    assert_eq!(
        (&cut["before"], &cut["reason"]),
        (&json!(null), &json!("rate limited"))
    );
    assert_eq!(stack.limiter.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn after_a_second_of_refusals_the_load_is_soon_what_it_was() {
    let stack = stack(200, |asked| match asked.time.as_secs() {
        4 => Does::Refuse(None),
        _ => Does::Answer(Duration::from_secs(2)),
    });
    let watch = async {
        tokio::time::sleep(Duration::from_secs(12)).await;
        let before = stack.seen.answered();
        tokio::time::sleep(Duration::from_secs(10)).await;
        stack.seen.answered() - before
    };
    let (failed, answered) = tokio::join!(stack.load(200, Duration::from_secs(22)), watch);
    assert_eq!(failed, 0);
    // 200 rows have 100 answers a second.
    assert!(answered > 900, "{answered}");
    assert!(stack.seen.refused() < 400, "{}", stack.seen.refused());
}

#[tokio::test(start_paused = true)]
async fn while_all_is_refused_few_attempts_are_made() {
    // The answers show that a place is worth a second; from then on everything is refused at once.
    let stack = stack(4, |asked| match asked.time.as_secs() {
        0..10 => Does::Answer(Duration::from_secs(1)),
        _ => Does::Refuse(None),
    });
    let load = tokio::time::timeout(Duration::from_secs(20), stack.load(200, MINUTE));
    load.await.unwrap_err();
    // Ten seconds, and not each of 200 rows at once.
    assert!(
        (4..=30).contains(&stack.seen.refused()),
        "{}",
        stack.seen.refused()
    );
}
