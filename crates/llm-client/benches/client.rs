//! The client's hot pieces: making a cache key, answering from the cache, and storing new replies.
//!
//! `cargo bench --package probity-llm-client`
#![allow(clippy::expect_used, reason = "benches may fail so")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use async_trait::async_trait;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use llm_client::{
    Cache, CacheSettings, Cached, HttpClient, KeyMaker, LimitSettings, ModelFactory, ModelSettings,
};
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, Exchange, JsonText, Message, ModelError,
    ModelId, Purpose, Role,
};

/// Replies in the cache.
const ROWS: usize = 2_000;

fn settings(base_url: &str) -> ModelSettings {
    let id = ModelId::new("careful").expect("a good id");
    let mut settings = ModelSettings::new(id, "scripted-careful", base_url);
    settings.temperature = Some(0.7);
    settings
}

/// A request in the third turn of a conversation, about 4 KB of text.
fn request(row: usize) -> ChatRequest {
    let said = "The quick brown fox said that the \"lazy\" dog was right.\n".repeat(14);
    let roles = [
        Role::System,
        Role::User,
        Role::Assistant,
        Role::User,
        Role::Assistant,
    ];
    let mut messages: Vec<_> = roles
        .iter()
        .map(|role| Message::new(*role, said.as_str()))
        .collect();
    messages.push(Message::new(Role::User, "Do you agree?"));
    let context = CallContext::new(Purpose::TargetTurn, format!("m01_s{row:03}_v01__careful"));
    ChatRequest::new(messages, context)
}

fn key(criterion: &mut Criterion) {
    let maker = KeyMaker::new(&settings("http://127.0.0.1:1/v1"));
    let request = request(0);
    criterion.bench_function("cache key of a 4 KB request", |bencher| {
        bencher.iter(|| maker.key(&request));
    });
}

/// A model all of whose replies are stored.
async fn filled(folder: &std::path::Path) -> Arc<dyn ChatModel> {
    let server = scripted_llm::ScriptedServer::start()
        .await
        .expect("a free port");
    let cache =
        Cache::open(folder.join("replies.sqlite"), CacheSettings::default()).expect("a new cache");
    let limits = LimitSettings::default();
    let model = ModelFactory::new(HttpClient::default())
        .with_cache(cache)
        .with_limits(limits)
        .model(settings(&server.base_url()))
        .expect("good settings");
    let tasks: Vec<_> = (0..ROWS)
        .map(|row| {
            let model = Arc::clone(&model);
            tokio::spawn(async move { model.chat(&request(row)).await })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic").expect("a reply");
    }
    model
}

fn cached(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let model = runtime.block_on(filled(folder.path()));
    let requests: Arc<Vec<_>> = Arc::new((0..ROWS).map(request).collect());

    let mut group = criterion.benchmark_group("cached replies");
    group.throughput(Throughput::Elements(1));
    let mut row = 0;
    group.bench_function("one after another", |bencher| {
        bencher.iter(|| {
            row = (row + 1) % ROWS;
            runtime
                .block_on(model.chat(&requests[row]))
                .expect("a reply")
        });
    });
    group.throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("all cores", |bencher| {
        bencher.iter(|| {
            let workers = std::thread::available_parallelism().map_or(1, usize::from);
            let tasks: Vec<_> = (0..workers)
                .map(|worker| {
                    let (model, requests) = (Arc::clone(&model), Arc::clone(&requests));
                    runtime.spawn(async move {
                        for request in requests.iter().skip(worker).step_by(workers) {
                            model.chat(request).await.expect("a reply");
                        }
                    })
                })
                .collect();
            for task in tasks {
                runtime.block_on(task).expect("no panic");
            }
        });
    });
    group.finish();
}

/// Answers at once with 2 KB of wire text.
struct Instantly {
    id: ModelId,
    exchange: Arc<Exchange>,
}

#[async_trait]
impl ChatModel for Instantly {
    fn id(&self) -> &ModelId {
        &self.id
    }

    async fn chat(&self, _request: &ChatRequest) -> Result<ChatReply, ModelError> {
        Ok(ChatReply {
            exchange: Some(Arc::clone(&self.exchange)),
            ..ChatReply::text("The quick brown fox said so. ".repeat(52))
        })
    }
}

/// Calls at the same time.
const CALLERS: usize = 64;
/// Calls of each of them in a measurement.
const EACH: usize = 50;

/// New replies: a look-up that finds nothing, and a put that waits for its commit.
fn stored(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("replies.sqlite");
    let cache = Cache::open(path, CacheSettings::default()).expect("a new cache");
    let wire = format!("{{\"choices\": \"{}\"}}", "x".repeat(2_000));
    let model = Instantly {
        id: ModelId::new("instantly").expect("a good id"),
        exchange: Arc::new(Exchange {
            request: JsonText::of(&serde_json::json!({})),
            response: JsonText::new(wire).expect("JSON"),
        }),
    };
    let model = Arc::new(Cached::new(
        model,
        cache,
        &settings("http://127.0.0.1:1/v1"),
    ));
    let next = Arc::new(AtomicUsize::new(0));
    let round = async || {
        let tasks: Vec<_> = (0..CALLERS)
            .map(|_| {
                let (model, next) = (Arc::clone(&model), Arc::clone(&next));
                tokio::spawn(async move {
                    for _ in 0..EACH {
                        let request = request(next.fetch_add(1, Relaxed));
                        model.chat(&request).await.expect("a reply");
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no panic");
        }
    };
    // One thread, as in the command.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let mut group = criterion.benchmark_group("new replies, 64 callers");
    // Briefly: a second of it stores some 100 MB.
    group.sample_size(10);
    group.warm_up_time(Duration::from_millis(100));
    group.measurement_time(Duration::from_secs(1));
    group.throughput(Throughput::Elements((CALLERS * EACH) as u64));
    group.bench_function("wall", |bencher| bencher.iter(|| runtime.block_on(round())));
    #[cfg(unix)]
    group.bench_function("CPU of all threads", |bencher| {
        bencher.iter_custom(|rounds| {
            let before = cpu();
            for _ in 0..rounds {
                runtime.block_on(round());
            }
            cpu().saturating_sub(before)
        });
    });
    group.finish();
}

/// What the process has used so far.
#[cfg(unix)]
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

criterion_group!(benches, key, cached, stored);
criterion_main!(benches);
