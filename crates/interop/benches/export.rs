//! Throughput of exports: conversations of 12 messages, in bytes of their rows in `conversations.json`.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

use std::{hint::black_box, path::Path};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use interop::{
    Exporter, Run, Sample,
    csv::Csv,
    eee::{Eee, EeeOptions},
    jsonl::Jsonl,
    junit::JUnit,
    summary::JobSummary,
};
use schema::{Benchmark, Conversation, ModelId, Role, Scenario, Score, TargetRef, Turn};
use tempfile::tempdir;

/// Conversations of an export.
const CONVERSATIONS: usize = 2_000;

const SENTENCE: &str = "Let us take it step by step, café by café: \"what can be tested\" comes first, and my answer stays the same. ";

fn run() -> Run {
    let benchmark: Benchmark = serde_json::from_str(
        r#"{"metrics": [{"id": "m01", "name": "Avoid flattery", "type": "negative", "definition": "It flatters."}]}"#,
    )
    .unwrap();
    let target = TargetRef {
        id: ModelId::new("careful").unwrap(),
        model: "lab/careful-1".to_owned(),
    };
    Run::new(
        benchmark,
        "honesty",
        target,
        "2026-01-02T03:04:05Z".parse().unwrap(),
    )
}

fn sample(run: &Run, n: usize) -> Sample {
    let scenario = Scenario {
        id: format!("m01_s{n:06}_v01"),
        metric_id: "m01".to_owned(),
        persona: SENTENCE.repeat(2),
        user_goal: SENTENCE.to_owned(),
        latent_adversarial_goal: SENTENCE.to_owned(),
        ..Scenario::default()
    };
    let turn = |at: usize| match at % 2 {
        0 => Turn::new(Role::User, SENTENCE.repeat(2)),
        _ => Turn::new(Role::Assistant, SENTENCE.repeat(5)),
    };
    let transcript = (0..12).map(turn).collect();
    let conversation = Conversation::new(scenario, run.target.clone(), 0, transcript);
    let score = Score::judged(
        &conversation,
        &run.benchmark.metrics[0],
        n.is_multiple_of(3),
        SENTENCE,
    );
    Sample::new(conversation, vec![score])
}

/// Makes an exporter that writes into a folder.
type MakeExporter = fn(&Path) -> Box<dyn Exporter>;

fn exports(criterion: &mut Criterion) {
    let run = run();
    let samples: Vec<Sample> = (0..CONVERSATIONS).map(|n| sample(&run, n)).collect();
    let rows = samples.iter().map(|sample| {
        serde_json::to_vec_pretty(&sample.conversation)
            .unwrap()
            .len()
    });
    let bytes = u64::try_from(rows.sum::<usize>()).unwrap();
    let mut group = criterion.benchmark_group("export");
    group.sample_size(10).throughput(Throughput::Bytes(bytes));
    let formats: [(&str, MakeExporter); 5] = [
        ("eee", |out| Box::new(Eee::new(out, EeeOptions::default()))),
        ("jsonl", |out| Box::new(Jsonl::new(out))),
        ("csv", |out| Box::new(Csv::new(out))),
        ("junit", |out| Box::new(JUnit::new(out))),
        ("summary", |out| Box::new(JobSummary::new(out))),
    ];
    for (name, make) in formats {
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || tempdir().unwrap(),
                |folder| {
                    let mut exporter = make(folder.path());
                    exporter.begin(&run).unwrap();
                    for sample in &samples {
                        exporter.push(black_box(sample)).unwrap();
                    }
                    exporter.end().unwrap();
                    (exporter.finish().unwrap(), folder)
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, exports);
criterion_main!(benches);
