//! What programs do wrong costs the request that they have, and no other.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot start its program fails"
)]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use llm_client::{HostModels, Wire as _};
use process::{ErrorKind, ProcessError, ProcessPhase, ProcessPool, ProcessSettings, Request};
use serde_json::{Value, json};

fn settings(mode: &str) -> ProcessSettings {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/misbehaves.py");
    ProcessSettings {
        processes: 3,
        timeout: Duration::from_secs(2),
        start_timeout: Duration::from_secs(20),
        inherited: process::INHERITED
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
            .collect(),
        ..ProcessSettings::new("misbehaves", ["python3", file, mode], "judge")
    }
}

async fn judged(pool: &ProcessPool, row: &str) -> Result<Value, ProcessError> {
    pool.request(Request::new("judge", json!({"row": row})))
        .await
}

/// The outcome of one bad row among good ones, which have to be good.
async fn bad_one(mode: &str) -> Result<Value, ProcessError> {
    let pool = Arc::new(ProcessPool::start(settings(mode)).unwrap());
    let bad = {
        let pool = Arc::clone(&pool);
        tokio::spawn(async move { judged(&pool, "bad").await })
    };
    for row in 0..6 {
        let good = judged(&pool, &format!("good-{row}")).await;
        assert_eq!(good.unwrap()["present"], false, "{mode}");
    }
    let outcome = bad.await.unwrap();
    assert_eq!(
        judged(&pool, "last").await.unwrap()["present"],
        false,
        "{mode}"
    );
    outcome
}

#[tokio::test]
async fn a_misbehaving_row_costs_itself() {
    for mode in ["good", "noise", "crlf", "double", "stderr_flood"] {
        assert_eq!(bad_one(mode).await.unwrap()["reason"], "Nothing.", "{mode}");
    }
    for (mode, kind, words) in [
        ("rubbish", ErrorKind::Malformed, "is not JSON"),
        ("two_keys", ErrorKind::Malformed, "one of result and error"),
        ("odd_error", ErrorKind::Permanent, "x"),
        (
            "dies",
            ErrorKind::Permanent,
            "the process died twice on this row: misbehaves: it ended",
        ),
        ("dies", ErrorKind::Permanent, "Traceback: boom"),
        ("flood", ErrorKind::Permanent, "floods its standard output"),
        (
            "long_line",
            ErrorKind::Permanent,
            "a line of more than 16 MiB",
        ),
        (
            "closes_output",
            ErrorKind::Permanent,
            "closed its standard output",
        ),
        ("hangs", ErrorKind::Retryable, "no reply within 2 s"),
        ("closes_input", ErrorKind::Retryable, "no reply within 2 s"),
    ] {
        let error = bad_one(mode).await.unwrap_err();
        assert_eq!(error.kind, kind, "{mode}: {error}");
        assert!(error.message.contains(words), "{mode}: {error}");
    }
}

/// One process that has up to a hundred requests at once.
fn one_process() -> Arc<ProcessPool> {
    let settings = ProcessSettings {
        processes: 1,
        timeout: Duration::from_secs(20),
        ..settings("poison")
    };
    Arc::new(ProcessPool::start(settings).unwrap())
}

#[tokio::test]
async fn a_row_that_kills_its_process_costs_no_other_of_a_hundred() {
    let pool = one_process();
    let requests = (0..100).map(|row| {
        let pool = Arc::clone(&pool);
        let row = match row {
            41 => "bad".to_owned(),
            row => format!("good-{row}"),
        };
        tokio::spawn(async move { (judged(&pool, &row).await, row) })
    });
    for request in requests.collect::<Vec<_>>() {
        let (outcome, row) = request.await.unwrap();
        match row.as_str() {
            "bad" => assert!(outcome.unwrap_err().message.contains("died twice"), "{row}"),
            _ => assert_eq!(outcome.unwrap()["present"], false, "{row}"),
        }
    }
}

/// Their process died once with all of them, and once for each alone: four deaths, where five in a row are the bound.
#[tokio::test]
async fn a_process_that_dies_with_many_rows_has_died_once() {
    let pool = one_process();
    let requests = (0..3).map(|_| {
        let pool = Arc::clone(&pool);
        tokio::spawn(async move { judged(&pool, "bad").await })
    });
    for request in requests.collect::<Vec<_>>() {
        let error = request.await.unwrap().unwrap_err();
        assert!(error.message.contains("died twice"), "{error}");
    }
}

#[tokio::test]
async fn a_program_that_cannot_be_used_is_refused_at_the_start() {
    for (mode, words) in [
        ("no_hello", "no reply within 0.5 s"),
        ("oracle", "hello: kind: expected one of judge, target"),
        ("old", "the program speaks protocol 0"),
        (
            "secret",
            "hello: settings.api_key: a fingerprint holds no secrets",
        ),
        ("refuses", "setting `threshold`: expected a number"),
    ] {
        let mut settings = settings(mode);
        if mode == "no_hello" {
            settings.start_timeout = Duration::from_millis(500);
        }
        let error = ProcessPool::start(settings).unwrap_err().to_string();
        assert!(error.contains(words), "{mode}: {error}");
    }
    let error =
        ProcessPool::start(ProcessSettings::new("gone", ["./gone.py"], "judge")).unwrap_err();
    assert!(error.to_string().contains("was not found"), "{error}");
}

#[tokio::test]
async fn calls_of_a_program_are_answered_and_its_environment_is_listed() {
    let outcome = bad_one("calls").await.unwrap();
    assert_eq!(outcome["reason"], "permanent");
    let mut settings = settings("environment");
    settings.env = vec![("JUDGE_KEY".to_owned(), "x".to_owned().into())];
    let pool = ProcessPool::start(settings).unwrap();
    let names = judged(&pool, "bad").await.unwrap()["reason"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        names.contains("JUDGE_KEY") && names.contains("PROBITY_PROTOCOL"),
        "{names}"
    );
    // Cargo sets this one in every test.
    assert!(
        std::env::var_os("CARGO_MANIFEST_DIR").is_some() && !names.contains("CARGO"),
        "{names}"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_process_tree_ends_with_the_pool() {
    let pool = ProcessPool::start(settings("child")).unwrap();
    let pid = judged(&pool, "bad").await.unwrap()["reason"]
        .as_str()
        .unwrap()
        .to_owned();
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(')').next()?.trim().chars().next()
    };
    let is_gone = || matches!(state(), None | Some('Z' | 'X'));
    assert!(!is_gone(), "{:?}", state());
    drop(pool);
    // The system removes what was killed in its own time.
    let begin = Instant::now();
    while !is_gone() && begin.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(is_gone(), "{:?}", state());
}

#[tokio::test]
async fn the_version_is_the_users_else_the_programs_else_that_of_its_files() {
    let pool = ProcessPool::start(settings("good")).unwrap();
    assert_eq!(pool.version(), Some("1"));
    let judge = || {
        let pool = ProcessPool::start(settings("good")).unwrap();
        ProcessPhase::new(pool, &HostModels::default()).unwrap()
    };
    assert_eq!(judge().canonical(), judge().canonical());
    let mut own = settings("good");
    own.version = Some("a1b2".to_owned());
    assert_eq!(ProcessPool::start(own).unwrap().version(), Some("a1b2"));
}
