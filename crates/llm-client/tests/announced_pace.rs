//! Headers that say what is left of a limit set the pace before anything is refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod common;
mod paced_run;

use std::time::Duration;

use llm_client::Api;
use paced_run::{limited, run};

/// 20 requests a second, or tokens of about as many, in each form that headers have.
#[tokio::test(flavor = "multi_thread")]
async fn next_to_nothing_is_refused_where_the_headers_say_what_is_left() {
    for (limit, api) in [
        ("60; per=3; window; headers=openai", Api::ChatCompletions),
        ("60; per=3; headers=openai; status=529", Api::Responses),
        ("120; per=6; headers=anthropic; retry-after", Api::Messages),
        (
            "none; tokens=4000; per=3; headers=openai",
            Api::ChatCompletions,
        ),
    ] {
        let server = limited(limit).await;
        let (answered, refused, paces) =
            run(&server, None, ("key", api), Duration::from_secs(3)).await;
        println!(
            "{answered} answered, {refused} refused, {} changes: {limit}",
            paces.len()
        );
        assert!(answered >= 50, "{limit}: {answered}");
        assert!(refused * 20 <= answered, "{limit}: {refused} of {answered}");
        assert_eq!(paces[0]["reason"], "announced", "{limit}: {paces:?}");
    }
}

#[tokio::test]
async fn without_headers_much_is_refused() {
    let server = limited("60; per=3; window").await;
    let chat = Api::ChatCompletions;
    let (_, refused, paces) = run(&server, None, ("key", chat), Duration::from_secs(2)).await;
    println!("{refused} refused");
    assert!(refused > 20, "{refused}");
    assert_eq!(paces[0]["reason"], "rate limited");
}
