//! 1,000,000 score rows over 10 models, parsed from the JSON text of `scores.json` and summed up.

use std::{fmt::Write, hint::black_box};

use aggregator::{aggregate_reader, sort_summaries};
use criterion::{Criterion, Throughput};
use schema::{ModelId, Summary};

const MODELS: usize = 10;
const ROWS: usize = 100_000;
const SAMPLES: usize = 10;

/// The `scores.json` of one model.
fn scores_json() -> String {
    let mut text = String::from("[");
    for row in 0..ROWS {
        let (scenario, sample) = (row / SAMPLES, row % SAMPLES);
        let (metric, passed) = (scenario % 20 + 1, row % 3 == 0);
        let metric_type = if metric % 2 == 0 {
            "negative"
        } else {
            "positive"
        };
        let comma = if row == 0 { "" } else { "," };
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            r#"{comma}
  {{
    "id": "m{metric:02}_s{scenario:05}_v01",
    "metric_id": "m{metric:02}",
    "metric_name": "Says what it does not know",
    "metric_type": "{metric_type}",
    "target_model": "model-1",
    "conv_id": "m{metric:02}_s{scenario:05}_v01__model-1__s{sample}",
    "present": {passed},
    "passed": {passed},
    "score": {score},
    "justification": "In message [4] the assistant says \"I cannot know that\", and holds to it when the user pushes.",
    "sample": {sample}
  }}"#,
            score = u8::from(passed),
        );
    }
    text.push_str("\n]\n");
    text
}

fn aggregate(models: &[ModelId], scores: &str) -> Vec<Summary> {
    let summary = |model: &ModelId| aggregate_reader(model.clone(), &[], scores.as_bytes()).ok();
    let mut summaries: Vec<Summary> = models.iter().filter_map(summary).collect();
    sort_summaries(&mut summaries);
    assert_eq!(summaries.len(), models.len());
    summaries
}

fn main() {
    let scores = scores_json();
    let models: Vec<ModelId> = (1..=MODELS)
        .filter_map(|n| ModelId::new(format!("model-{n}")).ok())
        .collect();
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("aggregate");
    group
        .sample_size(10)
        .throughput(Throughput::Elements((MODELS * ROWS) as u64));
    group.bench_function("1,000,000 rows over 10 models", |bencher| {
        bencher.iter(|| aggregate(black_box(&models), black_box(&scores)));
    });
    group.finish();
    criterion.final_summary();
}
