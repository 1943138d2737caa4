//! Limits of requests and tokens, and their headers.

use std::time::{Duration, SystemTime};

use crate::client::{JUDGE, ask};
use scripted_llm::ScriptedServer;

async fn limited(limit: &str) -> ScriptedServer {
    let limit = limit.parse().unwrap();
    let server = ScriptedServer::builder().limit(limit).start().await;
    server.unwrap()
}

#[tokio::test]
async fn requests_above_the_limit_are_refused_until_they_come_again() {
    let server = limited("2; per=60; window; headers=openai; retry-after").await;
    for left in ["1", "0"] {
        let answer = ask(&server, "scripted-judge", JUDGE).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("x-ratelimit-limit-requests"), "2");
        assert_eq!(answer.header("x-ratelimit-remaining-requests"), left);
        let reset = answer.header("x-ratelimit-reset-requests");
        let reset: u32 = reset.strip_suffix("ms").unwrap().parse().unwrap();
        assert!((50_000..=60_000).contains(&reset), "{reset}");
    }
    let refused = ask(&server, "scripted-judge", JUDGE).await;
    assert_eq!(refused.status, 429);
    let seconds: u32 = refused.header("retry-after").parse().unwrap();
    assert!((50..=60).contains(&seconds), "{seconds}");
    assert_eq!(refused.header("x-ratelimit-remaining-requests"), "0");
    let stats = server.stats();
    assert_eq!((stats.answered, stats.faults), (2, 1));

    let server = limited("20; status=529").await;
    let mut statuses = Vec::new();
    for _ in 0..30 {
        statuses.push(ask(&server, "scripted-judge", JUDGE).await.status.as_u16());
    }
    assert!(statuses.contains(&529), "{statuses:?}");
    // One comes back every 50 ms.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(ask(&server, "scripted-judge", JUDGE).await.status, 200);
}

#[tokio::test]
async fn tokens_are_those_of_usage() {
    let server = limited("none; tokens=1000; per=60; headers=anthropic").await;
    let mut left: i64 = 1000;
    for _ in 0..100 {
        let answer = ask(&server, "scripted-judge", JUDGE).await;
        if answer.status == 429 {
            assert!(left < 1000);
            return;
        }
        let used = answer.json()["usage"]["total_tokens"].as_i64().unwrap();
        let remaining = answer.header("anthropic-ratelimit-tokens-remaining");
        let remaining: i64 = remaining.parse().unwrap();
        // Some came back meanwhile.
        assert!((left - used..=left - used + 20).contains(&remaining));
        left = remaining;
        let reset = answer.header("anthropic-ratelimit-tokens-reset");
        let reset: jiff::Timestamp = reset.parse().unwrap();
        assert!(SystemTime::from(reset) > SystemTime::now());
    }
    panic!("never refused: {left} left");
}
