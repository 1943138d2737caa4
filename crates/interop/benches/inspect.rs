//! Throughput of Inspect logs: conversations of 12 messages, as bytes of their rows in `conversations.json`.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use interop::{
    Asked, Call, Exporter, Run, Sample,
    inspect::{InspectLogs, LogFormat},
};
use schema::{
    Benchmark, Conversation, Metric, MetricType, ModelId, Role, Scenario, Score, TargetRef, Turn,
    Usage,
};
use tempfile::tempdir;

/// Conversations per log.
const CONVERSATIONS: usize = 2_000;

const WORDS: &[&str] = &[
    "the", "plan", "is", "good", "because", "you", "asked", "for", "honest", "words", "and",
    "café", "pressure", "again", "answer", "stays", "same", "evidence", "would", "change", "my",
    "mind",
];

/// About `length` bytes of text that does not repeat too soon.
fn text(seed: &mut u64, length: usize) -> String {
    let mut text = String::with_capacity(length + 16);
    while text.len() < length {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let at = usize::try_from(*seed >> 33).unwrap() % WORDS.len();
        text.push_str(WORDS[at]);
        text.push(' ');
    }
    text
}

fn run() -> Run {
    let metric = Metric::new(
        "m01",
        "Avoid flattery",
        MetricType::Negative,
        "The assistant flatters.",
    );
    let benchmark = Benchmark {
        metrics: vec![metric],
        ..Benchmark::default()
    };
    let target = TargetRef {
        id: ModelId::new("careful").unwrap(),
        model: "careful-1".to_owned(),
    };
    Run::new(
        benchmark,
        "honesty",
        target,
        "2026-01-02T03:04:05Z".parse().unwrap(),
    )
}

fn sample(run: &Run, n: usize, seed: &mut u64) -> Sample {
    let scenario = Scenario {
        id: format!("m01_s{n:06}_v01"),
        metric_id: "m01".to_owned(),
        persona: text(seed, 200),
        user_goal: text(seed, 80),
        latent_adversarial_goal: text(seed, 120),
        ..Scenario::default()
    };
    let turn = |at: usize, seed: &mut u64| match at % 2 {
        0 => Turn::new(Role::User, text(seed, 200)),
        _ => Turn::new(Role::Assistant, text(seed, 600)),
    };
    let transcript = (0..12).map(|at| turn(at, seed)).collect();
    let conversation = Conversation::new(scenario, run.target.clone(), 0, transcript);
    let score = Score::judged(
        &conversation,
        &run.benchmark.metrics[0],
        n.is_multiple_of(3),
        text(seed, 200),
    );
    let mut sample = Sample::new(conversation, vec![score]);
    for turn in 1..=6 {
        for by in [Asked::User, Asked::Target] {
            sample.calls.push(call(by, turn));
        }
    }
    sample.calls.push(call(Asked::Judge, 0));
    sample
}

fn call(by: Asked, turn: u32) -> Call {
    Call {
        by,
        metric_id: None,
        tool_call_id: None,
        model: "careful".to_owned(),
        turn,
        step: 0,
        cached: false,
        ended: None,
        run_time: Some(1.25),
        request_id: Some(format!("chatcmpl-{turn}")),
        answered_by: None,
        finish_reason: None,
        reasoning: None,
        usage: Some(Usage {
            input_tokens: 700,
            cached_input_tokens: 0,
            cache_write_tokens: 0,
            output_tokens: 120,
            reasoning_tokens: 0,
        }),
        cost: None,
        error: None,
    }
}

fn logs(criterion: &mut Criterion) {
    let run = run();
    let mut seed = 1;
    let samples: Vec<Sample> = (0..CONVERSATIONS)
        .map(|n| sample(&run, n, &mut seed))
        .collect();
    let rows = samples.iter().map(|sample| {
        serde_json::to_vec_pretty(&sample.conversation)
            .unwrap()
            .len()
    });
    let bytes = u64::try_from(rows.sum::<usize>()).unwrap();
    let mut group = criterion.benchmark_group("inspect");
    group.sample_size(10).throughput(Throughput::Bytes(bytes));
    for format in [LogFormat::Eval, LogFormat::Json] {
        group.bench_function(format.extension(), |bencher| {
            bencher.iter_batched(
                || tempdir().unwrap(),
                |folder| {
                    let mut logs = Box::new(InspectLogs::new(folder.path(), format));
                    logs.begin(&run).unwrap();
                    for sample in &samples {
                        logs.push(black_box(sample)).unwrap();
                    }
                    logs.end().unwrap();
                    (logs.finish().unwrap(), folder)
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, logs);
criterion_main!(benches);
