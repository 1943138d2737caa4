//! 100,000 events of 1 KB, from `record` by two threads until the operating system has them.

use std::{error::Error, fs, path::Path, sync::Arc, thread};

use criterion::{BatchSize, Criterion, Throughput};
use journal::{JournalWriter, RunId};
use schema::{Event, Exchange, Item, Journal, ModelId, RawField};
use serde_json::value::RawValue;

const EVENTS: u64 = 100_000;
const THREADS: u64 = 2;

/// An event as a run writes it: its line is about 1 KB.
fn event(item: &Arc<Item>, exchange: &Arc<Exchange>, turn: u64) -> Event {
    Event::new("fetched sut response", "Journaled", "chat")
        .item(Some(item))
        .with("turn", turn)
        .with("run_time", 0.2)
        .with("request", RawField::Request(Arc::clone(exchange)))
        .with("response", RawField::Response(Arc::clone(exchange)))
}

/// A journal in `dir`, where those of earlier rounds are removed.
fn new_journal(dir: &Path) -> Result<JournalWriter, Box<dyn Error>> {
    for file in fs::read_dir(dir)? {
        fs::remove_file(file?.path())?;
    }
    Ok(JournalWriter::create(dir, &RunId::now())?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let said = "I \"cannot\" know that, and I would rather say so than guess. ".repeat(6);
    let raw = |key: &str| RawValue::from_string(serde_json::json!({ key: said }).to_string());
    let exchange = Arc::new(Exchange {
        request: raw("content")?,
        response: raw("message")?,
    });
    let item = Arc::new(Item {
        test: "m01".into(),
        prompt_id: "m01_s001_v01".into(),
        sut: ModelId::new("careful")?,
    });
    let dir = tempfile::tempdir()?;
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("append");
    group
        .sample_size(10)
        .throughput(Throughput::Elements(EVENTS));
    group.bench_function("100,000 events of 1 KB", |bencher| {
        bencher.iter_batched(
            || new_journal(dir.path()),
            |journal| {
                let journal = journal.ok()?;
                thread::scope(|scope| {
                    for _ in 0..THREADS {
                        scope.spawn(|| {
                            for turn in 0..EVENTS / THREADS {
                                journal.record(event(&item, &exchange, turn));
                            }
                        });
                    }
                });
                journal.flush().ok()?;
                // Closing it, which waits for the disk, is not measured.
                Some(journal)
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
    criterion.final_summary();
    Ok(())
}
