//! Requests in batches, with a server that serves both interfaces.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod common;

use std::{path::Path, sync::Arc, time::Duration};

use common::{Record, http, quick};
use futures::future::join_all;
use llm_client::{
    Api, BatchSettings, Cache, CacheSettings, ModelFactory, ModelSettings, NativeModel, Price, Stop,
};
use schema::{
    CallContext, Caller, ChatModel, ChatReply, ChatRequest, EventKind, Message, ModelError,
    ModelErrorKind, ModelId, Purpose, Role,
};
use scripted_llm::{BatchEnd, BatchScript, BatchStep, FailingItems, Fault, ScriptedServer};

const PRICE: Price = Price {
    input: 2.0,
    output: 8.0,
    cached_input: None,
    cache_write: None,
};

/// A model that judges, and what a run has beside it.
struct Run {
    model: Arc<dyn ChatModel>,
    record: Arc<Record>,
    stop: Stop,
}

async fn server(script: BatchScript) -> ScriptedServer {
    let server = ScriptedServer::builder().batches(script);
    server.start().await.unwrap()
}

fn settings(api: Api, server: &ScriptedServer) -> ModelSettings {
    let id = ModelId::new("judge").unwrap();
    let mut settings = ModelSettings::new(id, "scripted-careful", server.base_url());
    settings.price = Some(PRICE);
    // The same model wherever it is.
    settings.cache_name = Some("one".to_owned());
    if api != Api::ChatCompletions {
        settings.max_tokens = Some(400);
        let native = NativeModel::new(api, &settings, http()).unwrap();
        settings.wire = Some(Arc::new(native));
    }
    settings
}

fn run(api: Api, server: &ScriptedServer, folder: &Path, most: usize) -> Run {
    let (record, stop) = (Arc::new(Record::default()), Stop::new());
    let cache = Cache::open(folder.join("replies.sqlite"), CacheSettings::default()).unwrap();
    let batches = BatchSettings {
        most,
        linger: Duration::from_millis(60),
        poll: Duration::from_millis(10),
        ..BatchSettings::new(
            folder.join("batches"),
            [Purpose::Judge, Purpose::TargetTurn],
        )
    };
    let factory = ModelFactory::new(http())
        .with_cache(cache)
        .with_retries(quick())
        .with_journal(Arc::<Record>::clone(&record) as _)
        .with_stop(stop.clone())
        .with_batches(batches);
    Run {
        model: factory.model(settings(api, server)).unwrap(),
        record,
        stop,
    }
}

fn request(row: usize) -> ChatRequest {
    let context = CallContext::new(Purpose::Judge, format!("row-{row}"));
    let text = format!("Is number {row} even?");
    ChatRequest::new(vec![Message::new(Role::User, text)], context)
}

async fn judge(model: &dyn ChatModel, rows: usize) -> Vec<Result<ChatReply, ModelError>> {
    let requests: Vec<ChatRequest> = (0..rows).map(request).collect();
    join_all(requests.iter().map(|request| model.chat(request))).await
}

fn contents(replies: &[Result<ChatReply, ModelError>]) -> Vec<String> {
    let replies = replies.iter();
    replies
        .map(|reply| reply.as_ref().unwrap().content.clone())
        .collect()
}

/// The replies that direct calls get.
async fn direct(api: Api, server: &ScriptedServer, rows: usize) -> Vec<String> {
    let factory = ModelFactory::new(http());
    let model = factory.model(settings(api, server)).unwrap();
    contents(&judge(&*model, rows).await)
}

fn states(record: &Record) -> Vec<String> {
    let events = record.events(EventKind::BatchChanged);
    let states = events.iter().map(|event| event["state"].as_str().unwrap());
    states.map(str::to_owned).collect()
}

#[tokio::test]
async fn a_batch_answers_as_direct_calls_do_at_half_the_price() {
    for api in [Api::ChatCompletions, Api::Responses, Api::Messages] {
        let server = server(BatchScript::default()).await;
        let folder = tempfile::tempdir().unwrap();
        let run = run(api, &server, folder.path(), 100);
        let replies = judge(&*run.model, 30).await;
        let stats = server.stats();
        assert_eq!(
            (
                stats.requests,
                stats.batches.created,
                stats.batches.answered
            ),
            (0, 1, 30),
            "{api:?}"
        );
        for reply in &replies {
            let reply = reply.as_ref().unwrap();
            let whole = PRICE.cost(&reply.usage.unwrap());
            assert!(whole > 0.0 && (reply.cost.unwrap() - whole / 2.0).abs() < 1e-12);
            assert!(reply.exchange.is_some());
        }
        assert_eq!(
            contents(&replies),
            direct(api, &server, 30).await,
            "{api:?}"
        );
        assert_eq!(states(&run.record), ["sent", "ended"]);
        let ended = &run.record.events(EventKind::BatchChanged)[1];
        assert_eq!(
            (&ended["requests"], &ended["done"]),
            (&30.into(), &30.into())
        );
    }
}

#[tokio::test]
async fn requests_that_a_batch_does_not_answer_are_made_directly() {
    let scripts = [
        BatchScript {
            failing: Some(FailingItems {
                share: 0.3,
                status: 500,
            }),
            reversed: true,
            ..BatchScript::default()
        },
        BatchScript {
            duplicated: 5,
            missing: 4,
            ..BatchScript::default()
        },
        BatchScript {
            end: BatchEnd::Expired { after: 7 },
            ..BatchScript::default()
        },
        BatchScript {
            end: BatchEnd::Cancelled { after: 0 },
            ..BatchScript::default()
        },
    ];
    for api in [Api::ChatCompletions, Api::Messages] {
        for script in &scripts {
            let server = server(script.clone()).await;
            let folder = tempfile::tempdir().unwrap();
            let run = run(api, &server, folder.path(), 100);
            let replies = contents(&judge(&*run.model, 20).await);
            let called = server.stats().requests;
            assert!((1..=20).contains(&called), "{called} {script:?}");
            assert_eq!(
                replies,
                direct(api, &server, 20).await,
                "{api:?} {script:?}"
            );
            let ended = &run.record.events(EventKind::BatchChanged)[1];
            assert_eq!(ended["done"].as_u64().unwrap() + called, 20, "{script:?}");
        }
    }
}

#[tokio::test]
async fn a_batch_that_is_refused_says_why_and_nothing_is_called_instead() {
    let unauthorized = || {
        vec![
            (BatchStep::Upload, Fault::status(401).unwrap()),
            (BatchStep::Create, Fault::status(401).unwrap()),
        ]
    };
    for api in [Api::ChatCompletions, Api::Messages] {
        for (script, words) in [
            (
                BatchScript {
                    served: false,
                    ..BatchScript::default()
                },
                "404",
            ),
            (
                BatchScript {
                    end: BatchEnd::Failed,
                    ..BatchScript::default()
                },
                "batch was refused",
            ),
            (
                BatchScript {
                    faults: unauthorized(),
                    ..BatchScript::default()
                },
                "401",
            ),
        ] {
            let server = server(script).await;
            let folder = tempfile::tempdir().unwrap();
            let run = run(api, &server, folder.path(), 100);
            for reply in judge(&*run.model, 3).await {
                let error = reply.unwrap_err();
                assert_eq!(error.kind(), ModelErrorKind::Permanent);
                let text = error.to_string();
                assert!(
                    text.contains(words) && text.contains("without --batch"),
                    "{text}"
                );
            }
            assert_eq!(server.stats().requests, 0);
            assert_eq!(states(&run.record).last().unwrap(), "refused");
        }
    }
}

#[tokio::test]
async fn what_fails_for_a_while_is_tried_again() {
    let refused = || {
        Fault::status(429)
            .unwrap()
            .header("retry-after", "0.01")
            .unwrap()
            .first(2)
    };
    let lost = || {
        Fault::status(503)
            .unwrap()
            .header("retry-after", "0.01")
            .unwrap()
            .first(2)
    };
    for api in [Api::ChatCompletions, Api::Messages] {
        let faults = vec![
            (BatchStep::Upload, refused()),
            (BatchStep::Create, refused()),
            (BatchStep::Poll, lost()),
            (BatchStep::Results, lost()),
        ];
        let server = server(BatchScript {
            faults,
            ..BatchScript::default()
        })
        .await;
        let folder = tempfile::tempdir().unwrap();
        let run = run(api, &server, folder.path(), 100);
        contents(&judge(&*run.model, 5).await);
        let stats = server.stats();
        assert_eq!((stats.requests, stats.batches.created), (0, 1));
        assert!(stats.batches.refused >= 6, "{stats:?}");
    }
}

#[tokio::test]
async fn a_batch_has_at_most_so_many_requests() {
    let server = server(BatchScript::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let run = run(Api::ChatCompletions, &server, folder.path(), 10);
    contents(&judge(&*run.model, 25).await);
    let stats = server.stats();
    assert_eq!(
        (stats.batches.created, stats.batches.items, stats.requests),
        (3, 25, 0)
    );
}

#[tokio::test]
async fn a_later_run_takes_up_the_batches_of_one_that_was_stopped() {
    for api in [Api::ChatCompletions, Api::Messages] {
        let stalled = BatchScript {
            end: BatchEnd::Stalled { after: 0 },
            ..BatchScript::default()
        };
        let server = server(stalled).await;
        let folder = tempfile::tempdir().unwrap();
        let first = run(api, &server, folder.path(), 100);
        let stop = first.stop.clone();
        let stopping = async {
            while server.stats().batches.polls < 2 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            stop.stop();
        };
        let (replies, ()) = futures::join!(judge(&*first.model, 12), stopping);
        for reply in replies {
            assert_eq!(reply.unwrap_err().kind(), ModelErrorKind::Cancelled);
        }
        drop(first);
        server.finish_batches();
        // Two rows more than before: they go into a batch of their own.
        server.set_batches(BatchScript::default());
        let second = run(api, &server, folder.path(), 100);
        let replies = judge(&*second.model, 14).await;
        let costs = replies.iter().map(|reply| reply.as_ref().unwrap().cost);
        assert!(
            costs
                .into_iter()
                .all(|cost| cost.is_some_and(|cost| cost > 0.0))
        );
        let stats = server.stats();
        assert_eq!(
            (stats.requests, stats.batches.created, stats.batches.items),
            (0, 2, 14),
            "{api:?}"
        );
        let mut known = states(&second.record);
        known.sort();
        assert_eq!(known, ["ended", "ended", "sent", "taken up"]);
        // Then all replies are in the cache.
        let third = run(api, &server, folder.path(), 100);
        contents(&judge(&*third.model, 14).await);
        assert_eq!(server.stats().batches.polls, stats.batches.polls);
        assert!(states(&third.record).is_empty());
    }
}

#[tokio::test]
async fn what_a_provider_no_longer_knows_goes_into_another_batch() {
    for api in [Api::ChatCompletions, Api::Messages] {
        let stalled = BatchScript {
            end: BatchEnd::Stalled { after: 0 },
            ..BatchScript::default()
        };
        let known = server(stalled).await;
        let folder = tempfile::tempdir().unwrap();
        let first = run(api, &known, folder.path(), 100);
        let stop = first.stop.clone();
        let stopping = async {
            while known.stats().batches.polls == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            stop.stop();
        };
        futures::join!(judge(&*first.model, 3), stopping);
        let other = server(BatchScript::default()).await;
        let second = run(api, &other, folder.path(), 100);
        contents(&judge(&*second.model, 3).await);
        let stats = other.stats();
        assert_eq!((stats.requests, stats.batches.created), (0, 1), "{api:?}");
        assert_eq!(
            states(&second.record),
            ["taken up", "refused", "sent", "ended"]
        );
        // The file of the first is not there any more.
        let files = std::fs::read_dir(folder.path().join("batches")).unwrap();
        assert_eq!(files.count(), 1);
    }
}

#[tokio::test]
async fn what_cannot_wait_is_called_directly() {
    let server = server(BatchScript::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let run = run(Api::ChatCompletions, &server, folder.path(), 100);
    let mut target = request(1);
    target.context = CallContext::new(Purpose::TargetTurn, "row");
    target.repeated.in_conversation = true;
    let mut corrected = request(2);
    corrected
        .messages
        .push(Message::new(Role::Assistant, "Perhaps."));
    corrected
        .messages
        .push(Message::new(Role::User, "As JSON, please."));
    let mut of_program = request(3);
    of_program.context.caller = Some(Caller {
        name: "flattery".into(),
        n: 0,
        unusable: 0,
    });
    for request in [target, corrected, of_program] {
        let reply = run.model.chat(&request).await.unwrap();
        let whole = PRICE.cost(&reply.usage.unwrap());
        assert!((reply.cost.unwrap() - whole).abs() < 1e-12);
    }
    let stats = server.stats();
    assert_eq!((stats.requests, stats.batches.created), (3, 0));
}
