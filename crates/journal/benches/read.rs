//! Reading and checking a journal as a run writes it: 1,000,000 lines of some 0.7 KB in the mean.

use std::{error::Error, hint::black_box, io::Write, path::Path};

use criterion::{Criterion, Throughput};
use journal::{
    JournalReader,
    check::{Verdict, check},
};
use schema::EventKind;
use serde_json::json;

const ITEMS: u64 = 100_000;
const TESTS: u64 = 10;
/// Lines of an item, and those around all items.
const LINES: u64 = ITEMS * 10 + 6 + 3 * TESTS;

/// A journal of Probity's that passes: each item has two turns and one judge.
fn write_journal(mut out: impl Write) -> std::io::Result<()> {
    let mut time = 0;
    let mut put = |event: serde_json::Value| -> std::io::Result<()> {
        time += 1;
        let text = event.to_string();
        let (seconds, micros) = (time / 1_000_000, time % 1_000_000);
        writeln!(
            out,
            "{{\"timestamp\":\"2026-11-21T01:{:02}:{:02}.{micros:06}+00:00\",{}",
            seconds / 60,
            seconds % 60,
            text.trim_start_matches('{')
        )
    };
    let tests: Vec<String> = (0..TESTS).map(|n| format!("m{n:02}")).collect();
    let says = "I \"cannot\" know that, and I would rather say so than guess.\n".repeat(14);
    put(
        json!({"message": EventKind::StartingJournal, "class": "JournalWriter", "method": "create", "format_version": "1.0.0"}),
    )?;
    put(
        json!({"message": EventKind::StartingRun, "class": "Pipeline", "method": "run", "run_id": "run-20261121-010000-000000",
        "benchmarks": ["b"], "tests": tests, "suts": ["careful"], "max_items": null, "thread_count": 8}),
    )?;
    put(
        json!({"message": EventKind::HazardInfo, "hazard": "h", "benchmark": "b", "tests": tests}),
    )?;
    for number in 0..ITEMS {
        let test = &tests[usize::try_from(number % TESTS).unwrap_or_default()];
        let prompt = format!("{test}_s{number:06}_v01");
        let mut item = |message: &str, fields: serde_json::Value| {
            let mut event = json!({"message": message, "class": "Play", "method": "play", "test": test, "prompt_id": prompt,
                "sut": "careful"});
            if let (Some(event), serde_json::Value::Object(fields)) =
                (event.as_object_mut(), fields)
            {
                event.extend(fields);
            }
            put(event)
        };
        item(
            EventKind::QueuingItem.message(),
            json!({"prompt_text": "What is best?", "context": {"persona": says}}),
        )?;
        for turn in 1..=2 {
            let exchange = json!({"messages": [{"role": "user", "content": says}]});
            item(
                EventKind::FetchedSutResponse.message(),
                json!({"turn": turn, "run_time": 0.2, "request": exchange, "response": {"text": "r"}}),
            )?;
            item(
                EventKind::TranslatedSutResponse.message(),
                json!({"response_text": says, "turn": turn}),
            )?;
        }
        item(
            EventKind::FetchedAnnotatorResponse.message(),
            json!({"annotator": "judge", "run_time": 0.1, "request": {"text": says}, "response": {"text": says}}),
        )?;
        item(
            EventKind::TranslatedAnnotation.message(),
            json!({"annotator": "judge", "annotation": {"is_safe": true, "is_valid": true, "metadata": {}}}),
        )?;
        item(
            EventKind::MeasuredItemQuality.message(),
            json!({"measurements": {"is_safe": 1.0}, "run_time": 0.1}),
        )?;
        item(EventKind::ItemFinished.message(), json!({}))?;
        item("conversation cost", json!({"tokens": 1000}))?;
    }
    let each = ITEMS / TESTS;
    let counts: serde_json::Map<String, serde_json::Value> = tests
        .iter()
        .map(|test| (test.clone(), json!(each)))
        .collect();
    put(
        json!({"message": EventKind::FinishedPipeline, "total_finished": ITEMS, "finished_counts": {"careful": counts}}),
    )?;
    for test in &tests {
        put(
            json!({"message": EventKind::UsingTestItems, "test": test, "using": each, "total": each}),
        )?;
        put(
            json!({"message": EventKind::TestScored, "test": test, "sut": "careful", "items_finished": each}),
        )?;
        put(json!({"message": EventKind::LimiterChanged, "limit": 3}))?;
    }
    put(
        json!({"message": EventKind::HazardScored, "hazard": "h", "sut": "careful", "score": 1.0}),
    )?;
    put(json!({"message": EventKind::FinishedRun}))?;
    out.flush()
}

fn lines(path: &Path) -> Result<u64, Box<dyn Error>> {
    let mut reader = JournalReader::open(path)?;
    let mut lines = 0;
    while let Some(line) = reader.next_line() {
        black_box(line?);
        lines += 1;
    }
    Ok(lines)
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let plain = dir.path().join("journal.jsonl");
    write_journal(std::io::BufWriter::new(std::fs::File::create(&plain)?))?;
    let packed = dir.path().join("journal.jsonl.zst");
    std::fs::write(&packed, zstd::encode_all(std::fs::File::open(&plain)?, 1)?)?;
    assert_eq!(lines(&plain)?, LINES);
    let report = check(&plain);
    assert_eq!(report.verdict(), Verdict::Passed, "{report:?}");
    println!("{} MB", std::fs::metadata(&plain)?.len() / 1_000_000);

    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("a million lines");
    group
        .sample_size(10)
        .throughput(Throughput::Elements(LINES));
    for (form, path) in [("plain", &plain), ("zstd", &packed)] {
        group.bench_function(format!("read, {form}"), |bencher| {
            bencher.iter(|| lines(path).ok())
        });
        group.bench_function(format!("check, {form}"), |bencher| {
            bencher.iter(|| check(path))
        });
    }
    group.bench_function("read owned entries, plain", |bencher| {
        bencher.iter(|| JournalReader::open(&plain).ok().map(Iterator::count));
    });
    group.finish();
    criterion.final_summary();
    Ok(())
}
