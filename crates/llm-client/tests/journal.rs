//! The events of calls in the journal.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod endpoint;

use std::sync::{Arc, Mutex};

use endpoint::{Endpoint, completion, factory, request};
use llm_client::{Budget, BudgetLimits, Cache, CacheSettings, LimitSettings, Stop};
use schema::{ChatRequest, Event, EventKind, Item, ItemKey, Journal, Purpose};
use serde_json::Value;

/// Keeps the lines it is given.
#[derive(Default)]
struct Lines(Mutex<Vec<Value>>);

impl Journal for Lines {
    fn record(&self, event: Event) {
        let line = serde_json::to_value(&event).unwrap();
        self.0.lock().unwrap().push(line);
    }
}

impl Lines {
    fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// The one line of this message, with its keys in order.
    fn only(&self, message: EventKind) -> (Value, String) {
        let mut lines = self.take();
        lines.retain(|line| line["message"] == message);
        assert_eq!(lines.len(), 1, "{message}: {lines:?}");
        let line = lines.remove(0);
        let keys: Vec<&str> = line
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let keys = keys.join(" ");
        (line, keys)
    }
}

fn item_request(purpose: Purpose, lines: &Arc<Lines>) -> ChatRequest {
    let mut request = request("m01_s001_v01__t");
    request.context.purpose = purpose;
    request.context.turn = 2;
    let key = ItemKey {
        test: "m01".into(),
        prompt_id: "m01_s001_v01".into(),
        sut: "t".into(),
    };
    let journal = Arc::clone(lines) as Arc<dyn Journal>;
    request.context.item = Some(Item::with_key(key, "m01_s001_v01__t", 0, journal));
    request
}

#[tokio::test]
async fn every_call_has_its_event_with_the_raw_exchange() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::numbered().await;
    let lines = Arc::new(Lines::default());
    let cache = Cache::open(
        folder.path().join("replies.sqlite"),
        CacheSettings::default(),
    )
    .unwrap();
    let model = factory()
        .with_cache(cache)
        .with_journal(lines.clone())
        .model(endpoint.settings())
        .unwrap();
    for (purpose, [fetched, cached], fetched_keys, cached_keys) in [
        (
            Purpose::TargetTurn,
            [
                EventKind::FetchedSutResponse,
                EventKind::UsingCachedSutResponse,
            ],
            "turn run_time request response spend",
            "turn request response spend original_run_time",
        ),
        (
            Purpose::Judge,
            [
                EventKind::FetchedAnnotatorResponse,
                EventKind::UsingCachedAnnotatorResponse,
            ],
            "annotator run_time request response spend",
            "annotator annotator_request response spend original_run_time",
        ),
        (
            Purpose::UserTurn,
            [
                EventKind::FetchedUserResponse,
                EventKind::UsingCachedUserResponse,
            ],
            "model purpose row turn run_time request response spend",
            "model purpose row turn request response spend original_run_time",
        ),
        (
            Purpose::GenScenarios,
            [
                EventKind::FetchedGeneratorResponse,
                EventKind::UsingCachedGeneratorResponse,
            ],
            "model purpose row turn run_time request response spend",
            "model purpose row turn request response spend original_run_time",
        ),
    ] {
        let request = item_request(purpose, &lines);
        let common = "message class method test prompt_id sut";
        model.chat(&request).await.unwrap();
        let (line, keys) = lines.only(fetched);
        assert_eq!(keys, format!("{common} {fetched_keys}"));
        assert_eq!(line["class"], "Journaled");
        assert_eq!(line["sut"], "t");
        assert_eq!(line["request"]["messages"][0]["content"], "Hello.");
        assert_eq!(line["response"]["model"], "wire-2026-01-01");
        assert!(line["run_time"].as_f64().unwrap() > 0.0);
        let response = line["response"].clone();

        model.chat(&request).await.unwrap();
        let (line, keys) = lines.only(cached);
        assert_eq!(keys, format!("{common} {cached_keys}"));
        assert_eq!(line["response"], response);
    }
}

#[tokio::test]
async fn a_call_that_fails_for_good_is_an_exception() {
    let endpoint = Endpoint::start(|_, _| {
        (
            401,
            r#"{"error": {"message": "Incorrect API key"}}"#.to_owned(),
        )
    })
    .await;
    let lines = Arc::new(Lines::default());
    let mut settings = endpoint.settings();
    settings.api_key = Some("sk-very-secret".into());
    let factory = factory().with_journal(lines.clone());
    let model = factory.model(settings).unwrap();
    for (purpose, message) in [
        (Purpose::TargetTurn, EventKind::SutException),
        (Purpose::Judge, EventKind::AnnotatorException),
        (Purpose::UserTurn, EventKind::UserException),
        (Purpose::GenMetrics, EventKind::GeneratorException),
        (Purpose::Probe, EventKind::ProbeException),
    ] {
        model
            .chat(&item_request(purpose, &lines))
            .await
            .unwrap_err();
        let (line, _) = lines.only(message);
        assert_eq!(line["exception"]["class"], "schema::ModelError");
        assert_eq!(line["exception"]["kind"], "permanent");
        assert!(
            line["exception"]["message"]
                .as_str()
                .unwrap()
                .contains("my-model")
        );
        assert!(!line.to_string().contains("sk-very-secret"));
    }
    assert_eq!(factory.meter().total().failures, 5);
}

#[tokio::test]
async fn a_call_that_was_not_made_is_no_exception() {
    let endpoint = Endpoint::numbered().await;
    let lines = Arc::new(Lines::default());
    let budget = Budget::new(BudgetLimits {
        tokens: Some(1),
        dollars: None,
    });
    let model = factory()
        .with_journal(lines.clone())
        .with_budget(budget)
        .model(endpoint.settings())
        .unwrap();
    model.chat(&request("a")).await.unwrap_err();
    let (line, _) = lines.only(EventKind::CallNotMade);
    assert_eq!(
        (&line["reason"], &line["row"]),
        (&"over_budget".into(), &"a".into())
    );

    let stop = Stop::new();
    let model = factory()
        .with_journal(lines.clone())
        .with_stop(stop.clone())
        .model(endpoint.settings())
        .unwrap();
    stop.stop();
    model.chat(&request("a")).await.unwrap_err();
    let (line, _) = lines.only(EventKind::CallNotMade);
    assert_eq!(line["reason"], "cancelled");
    assert_eq!(endpoint.calls(), 0);
}

#[tokio::test]
async fn cached_replies_are_served_after_the_stop() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::numbered().await;
    let stop = Stop::new();
    let cache = Cache::open(
        folder.path().join("replies.sqlite"),
        CacheSettings::default(),
    )
    .unwrap();
    let model = factory()
        .with_cache(cache)
        .with_stop(stop.clone())
        .model(endpoint.settings())
        .unwrap();
    model.chat(&request("a")).await.unwrap();
    stop.stop();
    model.chat(&request("a")).await.unwrap();
    model.chat(&request("b")).await.unwrap_err();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn models_of_one_endpoint_and_key_share_its_limits() {
    let server = scripted_llm::ScriptedServer::builder()
        .hold_after(0)
        .start()
        .await
        .unwrap();
    let one = LimitSettings {
        max_concurrency: 1,
        initial_concurrency: 1,
        ..LimitSettings::default()
    };
    let many = LimitSettings {
        max_concurrency: 50,
        initial_concurrency: 50,
        ..LimitSettings::default()
    };
    let base_url = server.base_url();
    let factory = factory()
        .with_limits(many)
        .with_endpoint_limits(base_url.clone(), one);
    let model = |name: &str, key: Option<&str>| {
        let mut settings = endpoint::settings(&format!("{base_url}/"));
        settings.model = name.to_owned();
        settings.api_key = key.map(Into::into);
        factory.model(settings).unwrap()
    };
    let models = [
        model("scripted-careful", None),
        model("scripted-agreeable", None),
        model("scripted-careful", Some("other-key")),
    ];
    let calls: Vec<_> = models
        .into_iter()
        .flat_map(|model| (0..5).map(move |row: i32| (Arc::clone(&model), row)))
        .map(|(model, row)| {
            tokio::spawn(async move { model.chat(&request(&row.to_string())).await })
        })
        .collect();
    server.wait_held(2).await;
    server.release();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    // One for each key.
    assert_eq!(server.stats().max_in_flight, 2);
    assert_eq!(server.stats().requests, 15);
}

/// Nobody else uses an endpoint on this machine, so its limit has not to be found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_on_this_machine_begins_with_its_full_limit() {
    let server = scripted_llm::ScriptedServer::builder()
        .hold_after(0)
        .start()
        .await
        .unwrap();
    let limits = LimitSettings {
        initial_concurrency: 2,
        ..LimitSettings::up_to(100)
    };
    let factory = factory().with_limits(limits);
    let mut settings = endpoint::settings(&server.base_url());
    settings.model = "scripted-careful".to_owned();
    let model = factory.model(settings).unwrap();
    let call = |row: i32| {
        let model = Arc::clone(&model);
        tokio::spawn(async move { model.chat(&request(&row.to_string())).await })
    };
    let calls: Vec<_> = (0..100).map(call).collect();
    let held = tokio::time::timeout(std::time::Duration::from_secs(30), server.wait_held(100));
    held.await.unwrap();
    server.release();
    for call in calls {
        call.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn endpoints_model_names_are_known() {
    let endpoint = Endpoint::start(|_, _| (200, completion("hi", 1, 1))).await;
    let factory = factory();
    let model = factory.model(endpoint.settings()).unwrap();
    model.chat(&request("a")).await.unwrap();
    let names = factory.meter().model_names();
    let names: Vec<_> = names[model.id()].iter().collect();
    assert_eq!(names, ["wire-2026-01-01"]);
}
