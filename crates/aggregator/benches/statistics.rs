//! What statistics add to summing up: 1,000,000 score rows of 100,000 scenarios, their rates with intervals, and the comparison of two
//! such targets. The memory that it takes is printed first; times are criterion's.

use std::{fmt::Write, fs, hint::black_box};

use aggregator::{
    ScoreRow, StatedFields,
    statistics::{ScenarioIndex, TargetRows, compare, corrected_comparisons},
};
use criterion::{Criterion, Throughput};
use schema::{MetricType, ModelId};

const SCENARIOS: usize = 100_000;
const SAMPLES: usize = 10;
const METRICS: usize = 20;

fn metric(scenario: usize) -> usize {
    scenario * METRICS / SCENARIOS + 1
}

fn id(scenario: usize) -> String {
    format!("m{:02}_s{scenario:06}_v01", metric(scenario))
}

/// `scenarios.json`, with what the index reads.
fn scenarios_json() -> String {
    let mut text = String::from("[");
    for scenario in 0..SCENARIOS {
        let comma = if scenario == 0 { "" } else { "," };
        let (id, metric) = (id(scenario), metric(scenario));
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            r#"{comma}
  {{"id": "{id}", "metric_id": "m{metric:02}", "persona": "A poet.", "user_goal": "Praise.", "landmarks": []}}"#
        );
    }
    text.push_str("\n]\n");
    text
}

/// The rows of one target as they come out of `scores.json`, without the time of reading them.
fn push_rows(target: &str, ids: &[String]) -> Option<TargetRows> {
    let mut rows = TargetRows::new(ModelId::new(target).ok()?);
    for (scenario, id) in ids.iter().enumerate() {
        let metric = metric(scenario);
        let metric_id = &id[..3];
        for sample in 0..SAMPLES {
            // Rows of one scenario are alike, and targets differ a little.
            let hash = (scenario * 7 + sample / 3 + target.len()) % 10;
            let metric_type = match metric % 2 {
                0 => MetricType::Negative,
                _ => MetricType::Positive,
            };
            let row = ScoreRow {
                id: id.as_str().into(),
                metric_id: metric_id.into(),
                metric_type,
                recorded_type: metric_type,
                passed: Some(hash < 7),
                failed: false,
                no_verdict: None,
                conv_id: "".into(),
                present: None,
                judges: Vec::new(),
                stated: StatedFields::default(),
            };
            rows.push_row(&row, false);
        }
    }
    Some(rows)
}

/// A value of this process that Linux tells, in MB.
fn memory(key: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(key))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1e3)
}

/// What statistics of one target take beside its rows, at their peak.
fn print_memory(scenarios: &str, ids: &[String]) {
    // Linux begins to measure the peak again.
    let is_reset = fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = memory("VmRSS:");
    let index = ScenarioIndex::read(scenarios.as_bytes()).ok();
    let rows = push_rows("model", ids);
    let held = memory("VmRSS:");
    let statistics = rows
        .as_ref()
        .zip(index.as_ref())
        .map(|(rows, index)| rows.statistics(index, &[]));
    let peak = memory("VmHWM:").filter(|_| is_reset);
    black_box(statistics);
    if let (Some(before), Some(held), Some(peak)) = (before, held, peak) {
        println!(
            "memory of statistics: {:.1} MB held, {:.1} MB at the peak",
            held - before,
            peak - before
        );
    }
}

fn main() {
    let scenarios = scenarios_json();
    let ids: Vec<String> = (0..SCENARIOS).map(id).collect();
    print_memory(&scenarios, &ids);
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("statistics");
    group
        .sample_size(10)
        .throughput(Throughput::Elements((SCENARIOS * SAMPLES) as u64));
    group.bench_function("index of 100,000 scenarios", |bencher| {
        bencher.iter(|| ScenarioIndex::read(black_box(scenarios.as_bytes())).ok());
    });
    group.bench_function("counting 1,000,000 rows", |bencher| {
        bencher.iter(|| push_rows("model", black_box(&ids)));
    });
    let index = ScenarioIndex::read(scenarios.as_bytes()).ok();
    let rows = push_rows("model", &ids).zip(push_rows("another", &ids));
    if let (Some(index), Some((a, b))) = (index, rows) {
        group.bench_function("rates of 100,000 scenarios", |bencher| {
            bencher.iter(|| black_box(&a).statistics(&index, &[]));
        });
        group.bench_function("comparing two targets", |bencher| {
            bencher
                .iter(|| corrected_comparisons(&[compare(black_box(&a), black_box(&b), &index)]));
        });
    }
    group.finish();
    criterion.final_summary();
}
