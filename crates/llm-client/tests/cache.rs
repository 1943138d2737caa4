//! The response cache, against a real endpoint and a real file.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod endpoint;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use endpoint::{Endpoint, completion, factory, request};
use futures::future::join_all;
use llm_client::{Cache, CacheMode, CacheSettings, CachedRow, ModelSettings, Price, SecretString};
use schema::{
    ChatModel, ChatReply, ChatRequest, Message, ModelErrorKind, ModelId, Origin, Purpose, Role,
};

fn open(folder: &Path) -> Cache {
    open_with(folder, CacheSettings::default())
}

fn open_with(folder: &Path, settings: CacheSettings) -> Cache {
    Cache::open(folder.join("cache/replies.sqlite"), settings).unwrap()
}

fn model(cache: &Cache, settings: ModelSettings) -> Arc<dyn ChatModel> {
    factory().with_cache(cache.clone()).model(settings).unwrap()
}

async fn say(model: &Arc<dyn ChatModel>, request: &ChatRequest) -> (String, Origin) {
    let reply = model.chat(request).await.unwrap();
    (reply.content, reply.origin)
}

fn fetched(text: &str) -> (String, Origin) {
    (text.to_owned(), Origin::Fetched)
}

fn cached(text: &str) -> (String, Origin) {
    (text.to_owned(), Origin::Cached)
}

#[tokio::test]
async fn what_was_asked_before_is_not_asked_again_in_this_run_or_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::numbered().await;
    let first = {
        let cache = open(folder.path());
        let model = model(&cache, endpoint.settings());
        let first = model.chat(&request("a")).await.unwrap();
        assert_eq!(first.origin, Origin::Fetched);
        assert_eq!(say(&model, &request("a")).await, cached("reply 0"));
        assert_eq!(say(&model, &request("b")).await, fetched("reply 1"));
        let stats = cache.stats();
        assert_eq!((stats.hits, stats.misses, stats.stored), (1, 2, 2));
        first
    };
    let cache = open(folder.path());
    assert_eq!(cache.count().unwrap(), 2);
    let again = model(&cache, endpoint.settings())
        .chat(&request("a"))
        .await
        .unwrap();
    assert_eq!(endpoint.calls(), 2);
    assert_eq!(again.origin, Origin::Cached);
    assert_eq!(again.content, first.content);
    assert_eq!(again.usage, first.usage);
    assert_eq!(again.cost, first.cost);
    assert_eq!(again.model, first.model);
    assert_eq!(again.finish, first.finish);
    assert_eq!(again.run_time.as_micros(), first.run_time.as_micros());
    let came = |reply: &ChatReply| {
        let since = reply.at.unwrap().duration_since(UNIX_EPOCH);
        since.unwrap().as_micros()
    };
    assert_eq!(came(&again), came(&first));
    let (again, first) = (again.exchange.unwrap(), first.exchange.unwrap());
    assert_eq!(again.request.get(), first.request.get());
    assert_eq!(again.response.get(), first.response.get());
}

#[tokio::test]
async fn what_changes_the_question_is_asked_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::numbered().await;
    let cache = open(folder.path());
    let base = endpoint.settings();
    say(&model(&cache, base.clone()), &request("a")).await;
    assert_eq!(endpoint.calls(), 1);

    let same: [fn(&mut ModelSettings); 5] = [
        |s| s.id = ModelId::new("renamed").unwrap(),
        |s| s.api_key = Some(SecretString::from("sk-new")),
        |s| s.extra_headers = vec![("X-Team".to_owned(), SecretString::from("blue"))],
        |s| s.request_timeout = Duration::from_secs(7),
        |s| s.price = None,
    ];
    for change in same {
        let mut settings = base.clone();
        change(&mut settings);
        say(&model(&cache, settings), &request("a")).await;
        assert_eq!(endpoint.calls(), 1);
    }

    let mut asked = 1;
    let settings: [fn(&mut ModelSettings); 8] = [
        |s| s.model = "other".to_owned(),
        |s| s.cache_name = Some("elsewhere".to_owned()),
        |s| s.max_tokens = Some(5),
        |s| s.temperature = Some(0.5),
        |s| s.top_p = Some(0.5),
        |s| s.seed = Some(7),
        |s| s.reasoning_effort = Some("low".to_owned()),
        |s| {
            s.extra_body.insert("top_k".to_owned(), 4.into());
        },
    ];
    for change in settings {
        let mut settings = base.clone();
        change(&mut settings);
        say(&model(&cache, settings), &request("a")).await;
        asked += 1;
        assert_eq!(endpoint.calls(), asked);
    }
    let requests: [fn(&mut ChatRequest); 6] = [
        |r| r.context.row = "b".into(),
        |r| r.context.sample = 1,
        |r| r.context.turn = 2,
        |r| r.context.purpose = Purpose::Judge,
        |r| r.messages = vec![Message::new(Role::User, "Hello!")],
        |r| r.response_format = schema::ResponseFormat::JsonObject,
    ];
    let model = model(&cache, base);
    for change in requests {
        let mut request = request("a");
        change(&mut request);
        say(&model, &request).await;
        asked += 1;
        assert_eq!(endpoint.calls(), asked);
        assert_eq!(say(&model, &request).await.1, Origin::Cached);
    }
}

#[tokio::test]
async fn a_probe_is_never_cached() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::numbered().await;
    let cache = open(folder.path());
    let model = model(&cache, endpoint.settings());
    let mut probe = request("a");
    probe.context.purpose = Purpose::Probe;
    for n in 0..3 {
        assert_eq!(say(&model, &probe).await, fetched(&format!("reply {n}")));
    }
    assert_eq!(cache.count().unwrap(), 0);
}

#[tokio::test]
async fn a_refresh_asks_everything_again_once() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::numbered().await;
    say(
        &model(&open(folder.path()), endpoint.settings()),
        &request("a"),
    )
    .await;
    let refresh = CacheSettings {
        mode: CacheMode::Refresh,
        ..CacheSettings::default()
    };
    let cache = open_with(folder.path(), refresh);
    let refreshed = model(&cache, endpoint.settings());
    assert_eq!(say(&refreshed, &request("a")).await, fetched("reply 1"));
    assert_eq!(say(&refreshed, &request("a")).await, cached("reply 1"));
    let later = model(&open(folder.path()), endpoint.settings());
    assert_eq!(say(&later, &request("a")).await, cached("reply 1"));
    assert_eq!(cache.count().unwrap(), 1);
}

#[tokio::test]
async fn a_refresh_of_rows_makes_their_calls_again_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::numbered().await;
    let row = |row: &str, sample| {
        let mut request = request("a");
        request.context.row = row.into();
        request.context.sample = sample;
        request
    };
    // Of sample 1: the conversation, and its verdict. All others are other rows.
    let refreshed = [row("s1__a", 1), row("s1__a__m01", 1)];
    let others = [row("s1__a", 0), row("s1__ab", 1), row("s2__a", 1)];
    let first = model(&open(folder.path()), endpoint.settings());
    for request in refreshed.iter().chain(&others) {
        say(&first, request).await;
    }
    assert_eq!(endpoint.calls(), 5);
    let rows = CacheSettings {
        mode: CacheMode::RefreshRows(
            [CachedRow {
                row: "s1__a".to_owned(),
                sample: 1,
            }]
            .into(),
        ),
        ..CacheSettings::default()
    };
    let again = model(&open_with(folder.path(), rows), endpoint.settings());
    for request in &others {
        say(&again, request).await;
    }
    assert_eq!(endpoint.calls(), 5);
    for request in &refreshed {
        say(&again, request).await;
        say(&again, request).await;
    }
    assert_eq!(endpoint.calls(), 7);
}

#[tokio::test]
async fn of_many_replies_those_that_are_there_are_replaced_and_the_others_added() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::numbered().await;
    let rows = |step| {
        (0..100)
            .step_by(step)
            .map(|row: u32| request(&row.to_string()))
    };
    let first = model(&open(folder.path()), endpoint.settings());
    for request in rows(3) {
        say(&first, &request).await;
    }
    drop(first);
    let refresh = CacheSettings {
        mode: CacheMode::Refresh,
        ..CacheSettings::default()
    };
    let cache = open_with(folder.path(), refresh);
    let refreshed = model(&cache, endpoint.settings());
    let mut said = Vec::new();
    for request in rows(1) {
        said.push(say(&refreshed, &request).await);
    }
    assert_eq!(cache.count().unwrap(), 100);
    let later = model(&open(folder.path()), endpoint.settings());
    for (request, said) in rows(1).zip(&said) {
        assert_eq!(say(&later, &request).await, cached(&said.0));
    }
    assert_eq!(endpoint.calls(), 134);
}

#[tokio::test]
async fn old_replies_are_asked_again_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::numbered().await;
    let aged = |seconds| {
        let cache = open_with(
            folder.path(),
            CacheSettings {
                max_age: Some(Duration::from_secs(seconds)),
                ..CacheSettings::default()
            },
        );
        model(&cache, endpoint.settings())
    };
    say(&aged(3600), &request("a")).await;
    assert_eq!(say(&aged(3600), &request("a")).await, cached("reply 0"));
    assert_eq!(say(&aged(0), &request("a")).await, fetched("reply 1"));
    assert_eq!(say(&aged(3600), &request("a")).await, cached("reply 1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_question_at_the_same_time_is_asked_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = scripted_llm::ScriptedServer::builder()
        .hold_after(0)
        .start()
        .await
        .unwrap();
    let mut settings = endpoint::settings(&server.base_url());
    settings.model = "scripted-careful".to_owned();
    let model = model(&open(folder.path()), settings);
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let model = Arc::clone(&model);
            tokio::spawn(async move { say(&model, &request("a")).await })
        })
        .collect();
    server.wait_held(1).await;
    server.release();
    let replies: Vec<_> = join_all(calls)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let fetched = |origin: Origin| replies.iter().filter(|(_, of)| *of == origin).count();
    assert_eq!((fetched(Origin::Fetched), fetched(Origin::Cached)), (1, 99));
    assert!(replies.iter().all(|(text, _)| *text == replies[0].0));
    assert_eq!(server.stats().requests, 1);
}

#[tokio::test]
async fn failures_are_not_stored_and_let_the_next_one_ask() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::start(|n, _| match n {
        0 => (401, r#"{"error": {"message": "bad key"}}"#.to_owned()),
        n => (200, completion(&format!("reply {n}"), 1, 1)),
    })
    .await;
    let cache = open(folder.path());
    let model = model(&cache, endpoint.settings());
    let error = model.chat(&request("a")).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Permanent);
    assert_eq!(cache.count().unwrap(), 0);
    assert_eq!(say(&model, &request("a")).await, fetched("reply 1"));
}

#[tokio::test]
async fn a_call_that_is_dropped_lets_the_next_one_ask() {
    let folder = tempfile::tempdir().unwrap();
    let server = scripted_llm::ScriptedServer::builder()
        .hold_after(0)
        .start()
        .await
        .unwrap();
    let mut settings = endpoint::settings(&server.base_url());
    settings.model = "scripted-careful".to_owned();
    let model = model(&open(folder.path()), settings);
    let dropped = tokio::spawn({
        let model = Arc::clone(&model);
        async move { say(&model, &request("a")).await }
    });
    server.wait_held(1).await;
    dropped.abort();
    dropped.await.unwrap_err();
    server.release();
    assert_eq!(say(&model, &request("a")).await.1, Origin::Fetched);
}

#[tokio::test]
async fn a_new_price_changes_the_cost_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    // The first attempt is billed and of no use.
    let endpoint = Endpoint::start(|n, _| match n {
        0 => (
            200,
            r#"{"usage": {"prompt_tokens": 1000, "completion_tokens": 0}}"#.to_owned(),
        ),
        _ => (200, completion("hi", 1000, 500)),
    })
    .await;
    let cache = open(folder.path());
    let before = model(&cache, endpoint.settings())
        .chat(&request("a"))
        .await
        .unwrap();
    assert_eq!(endpoint.calls(), 2);
    let near = |cost: Option<f64>, expected: f64| (cost.unwrap() - expected).abs() < 1e-12;
    assert!(near(before.cost, 0.002));
    assert!(near(before.spend().total_cost(), 0.003));

    let mut dearer = endpoint.settings();
    dearer.price = Some(Price {
        input: 10.0,
        output: 20.0,
        cached_input: None,
        cache_write: None,
    });
    let after = model(&cache, dearer).chat(&request("a")).await.unwrap();
    assert!(near(after.cost, 0.02));
    assert!(near(after.spend().total_cost(), 0.03));
    assert_eq!(after.content, before.content);
    assert_eq!(after.usage, before.usage);
    assert_eq!(after.failed_attempts.calls, 1);

    let mut unknown = endpoint.settings();
    unknown.price = None;
    let after = model(&cache, unknown).chat(&request("a")).await.unwrap();
    assert_eq!(after.spend().total_cost(), None);
    assert_eq!(endpoint.calls(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_handles_may_share_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::numbered().await;
    let open_twice = [open(folder.path()), open(folder.path())];
    let models = open_twice
        .each_ref()
        .map(|cache| model(cache, endpoint.settings()));
    let mut calls = Vec::new();
    for row in 0..100 {
        for model in &models {
            let model = Arc::clone(model);
            calls.push(tokio::spawn(async move {
                (row, say(&model, &request(&row.to_string())).await.0)
            }));
        }
    }
    let mut texts = std::collections::BTreeMap::<i32, Vec<String>>::new();
    for call in calls {
        let (row, text) = call.await.unwrap();
        texts.entry(row).or_default().push(text);
    }
    assert_eq!(open_twice[0].count().unwrap(), 100);
    // Each kept its own reply where both asked at once. From now on all see the one that was stored last.
    let asked = endpoint.calls();
    for (row, texts) in texts {
        let request = request(&row.to_string());
        let (last, origin) = say(&models[0], &request).await;
        assert_eq!(origin, Origin::Cached);
        assert!(texts.contains(&last), "row {row}");
        assert_eq!(say(&models[1], &request).await, cached(&last));
    }
    assert_eq!(endpoint.calls(), asked);
}

#[tokio::test]
async fn what_another_process_stores_is_found_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::numbered().await;
    let [one, other] = [open(folder.path()), open(folder.path())];
    let models = [&one, &other].map(|cache| model(cache, endpoint.settings()));
    // The rows of both stand among each other.
    for (nth, row) in ["a", "b", "c", "d"].into_iter().enumerate() {
        say(&models[nth % 2], &request(row)).await;
    }
    for row in ["a", "b", "c", "d"] {
        for model in &models {
            assert_eq!(say(model, &request(row)).await.1, Origin::Cached, "{row}");
        }
    }
    assert_eq!(endpoint.calls(), 4);
}

#[tokio::test]
async fn a_stored_reply_that_is_of_no_use_is_asked_again_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::numbered().await;
    let cache = open(folder.path());
    let model = model(&cache, endpoint.settings());
    say(&model, &request("a")).await;
    let useless = [
        "UPDATE replies SET response = '{}'",
        "UPDATE replies SET response = '{\"choices\": [{'",
        "UPDATE replies SET response = CAST(x'ff' AS TEXT)",
        "UPDATE replies SET failed = 'none'",
        "UPDATE replies SET run_time_us = -1",
    ];
    let other = rusqlite::Connection::open(cache.name()).unwrap();
    for (at, sql) in useless.iter().enumerate() {
        assert_eq!(other.execute(sql, []).unwrap(), 1);
        let reply = format!("reply {}", at + 1);
        assert_eq!(say(&model, &request("a")).await, fetched(&reply), "{sql}");
        assert_eq!(say(&model, &request("a")).await, cached(&reply), "{sql}");
    }
    assert_eq!(cache.count().unwrap(), 1);
}
