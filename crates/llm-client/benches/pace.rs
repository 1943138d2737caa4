//! How near to the rate that a server allows the client comes over HTTP, and how many attempts the server refuses: 200 rows at once, for a
//! minute, as at an endpoint that is not on this machine.
//!
//! `cargo bench --package probity-llm-client --bench pace`
#![allow(
    clippy::expect_used,
    clippy::cast_precision_loss,
    clippy::print_stdout,
    reason = "a bench"
)]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::join_all;
use llm_client::{
    HttpClient, LimitSettings, Limited, Limiter, ModelSettings, OpenAi, Retried, RetryPolicy, Stop,
};
use schema::{CallContext, ChatModel, ChatRequest, Message, ModelId, NoJournal, Purpose, Role};
use scripted_llm::ScriptedServer;

const ROWS: usize = 200;
const MINUTE: Duration = Duration::from_secs(60);

/// Requests a second, and the limit that comes to that.
const LIMITS: [(f64, &str); 15] = [
    (5.0, "5"),
    (20.0, "20"),
    (200.0, "200"),
    (5.0, "5; retry-after"),
    (20.0, "20; retry-after; status=529"),
    (200.0, "200; retry-after"),
    (5.0, "5; headers=openai"),
    (20.0, "20; headers=openai"),
    (200.0, "200; headers=openai"),
    (5.0, "300; per=60; headers=openai"),
    (20.0, "1200; per=60; headers=openai"),
    (200.0, "12000; per=60; headers=openai"),
    (5.0, "300; per=60; headers=anthropic; retry-after"),
    (20.0, "1200; per=60; window; headers=anthropic; retry-after"),
    (
        200.0,
        "12000; per=60; window; headers=anthropic; retry-after",
    ),
];

#[tokio::main]
async fn main() {
    // `cargo test --benches` only builds it.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let lines = join_all(LIMITS.map(|(rate, limit)| measured(rate, limit))).await;
    for line in lines {
        println!("{line}");
    }
}

async fn measured(rate: f64, limit: &str) -> String {
    let server = ScriptedServer::builder()
        .limit(limit.parse().expect("a limit"))
        .latency(Duration::from_millis(300))
        .record_bodies(false)
        .start()
        .await
        .expect("a free port");
    let id = ModelId::new("careful").expect("an id");
    let settings = ModelSettings::new(id, "scripted-careful", server.base_url());
    let model = OpenAi::new(settings, &HttpClient::default()).expect("settings for a call");
    let limiter = Limiter::new(limit, LimitSettings::up_to(ROWS), Arc::new(NoJournal));
    let limited = Limited::new(model, limiter, None, Stop::new());
    let policy = RetryPolicy::default();
    let model = Retried::new(limited, policy, Arc::new(NoJournal), Stop::new());
    let until = Instant::now() + MINUTE;
    let rows = join_all((0..ROWS).map(|_| row(&model, until)));
    // What is begun at the end is left.
    let _ = tokio::time::timeout_at(until.into(), rows).await;
    let stats = server.stats();
    let (answered, refused) = (stats.answered as f64, stats.faults as f64);
    format!(
        "{:5.1}% used, {:4.1}% refused: {limit}",
        100.0 * answered / (rate * MINUTE.as_secs_f64()),
        100.0 * refused / (answered + refused)
    )
}

async fn row(model: &impl ChatModel, until: Instant) {
    while Instant::now() < until {
        let context = CallContext::new(Purpose::TargetTurn, "row");
        let request = ChatRequest::new(vec![Message::new(Role::User, "hello")], context);
        // A call that fails for good is as good as one that was refused.
        let _ = model.chat(&request).await;
    }
}
