//! 100,000 events of 1 KB, from `record` by two threads until the operating system has them.

use std::{error::Error, fs, path::Path, sync::Arc, thread};

use criterion::{BatchSize, Criterion, Throughput};
use journal::{Form, JournalWriter, RunId};
use schema::{Event, EventBody, Exchange, ItemKey, Journal, JsonText, event::SutReply};

const EVENTS: u32 = 100_000;
const THREADS: u32 = 2;

/// An event as a run writes it: its line is about 1 KB.
fn event(item: &Arc<ItemKey>, exchange: &Arc<Exchange>, turn: u32) -> Event {
    let reply = SutReply {
        turn: Some(turn),
        run_time: Some(0.2),
        request: Some(exchange.request.clone()),
        response: Some(exchange.response.clone()),
        ..SutReply::default()
    };
    Event::new(EventBody::FetchedSutResponse(reply)).item(Some(item))
}

/// Texts of words in no order, together longer than what the encoder looks back on, so that they compress as talk does.
fn exchanges() -> Result<Vec<Arc<Exchange>>, serde_json::Error> {
    const WORDS: &str = "the of that I you know cannot would rather say so than guess \"maybe\" today because answer question \
        honest uncertain evidence study people think often wrong right careful reason about which with without model reply";
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut state: u64 = 1;
    let mut said = |length: usize| {
        let mut text = String::new();
        while text.len() < length {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(state >> 33).unwrap_or_default() % words.len();
            text.push_str(words.get(at).copied().unwrap_or_default());
            text.push(' ');
        }
        text
    };
    let mut raw = |key: &str| JsonText::new(serde_json::json!({ key: said(350) }).to_string());
    let exchange = |_| {
        Ok(Arc::new(Exchange {
            request: raw("content")?,
            response: raw("message")?,
        }))
    };
    (0..2_000).map(exchange).collect()
}

/// A journal in `dir`, where those of earlier rounds are removed.
fn new_journal(dir: &Path, form: Form) -> Result<JournalWriter, Box<dyn Error>> {
    for file in fs::read_dir(dir)? {
        fs::remove_file(file?.path())?;
    }
    Ok(JournalWriter::create_as(dir, &RunId::now(), form)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let exchanges = exchanges()?;
    let item = Arc::new(ItemKey {
        test: "m01".into(),
        prompt_id: "m01_s001_v01".into(),
        sut: "careful".into(),
    });
    let dir = tempfile::tempdir()?;
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("append");
    group
        .sample_size(10)
        .throughput(Throughput::Elements(EVENTS.into()));
    let forms = [
        ("100,000 events of 1 KB", Form::Plain),
        ("100,000 events of 1 KB, zstd", Form::Compressed),
    ];
    for (name, form) in forms {
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || new_journal(dir.path(), form),
                |journal| {
                    let journal = journal.ok()?;
                    thread::scope(|scope| {
                        for _ in 0..THREADS {
                            scope.spawn(|| {
                                for (turn, exchange) in
                                    (0..EVENTS / THREADS).zip(exchanges.iter().cycle())
                                {
                                    journal.record(event(&item, exchange, turn));
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
    }
    group.finish();
    criterion.final_summary();
    Ok(())
}
