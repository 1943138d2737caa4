//! What it costs to leave out the messages that a call shares with the one before it, and to put them back: conversations of 6 and of 48
//! turns, with whole requests and as a run records them.

use std::{
    error::Error,
    hint::black_box,
    io::Cursor,
    sync::{Arc, Mutex, PoisonError},
};

use criterion::{Criterion, Throughput};
use journal::{FORMAT_VERSION, ItemTurns, JournalReader};
use schema::{
    Event, EventBody, ItemKey, Journal, JsonText,
    event::{ItemFinished, QueuingItem, StartingJournal, SutReply},
};
use serde_json::{Value, json};

/// Keeps the lines as text.
#[derive(Default)]
struct Lines(Mutex<Vec<u8>>);

impl Journal for Lines {
    fn record(&self, event: Event) {
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if serde_json::to_writer(&mut *text, &event).is_ok() {
            text.push(b'\n');
        }
    }
}

/// The calls of a conversation, each with all messages before it.
fn calls(turns: usize) -> Vec<EventBody> {
    let says = "I \"cannot\" know that, and I would rather say so than guess.\n".repeat(4);
    let mut messages: Vec<Value> = vec![json!({"role": "system", "content": says})];
    let mut calls = Vec::new();
    for turn in 0..turns {
        messages.push(json!({"role": "user", "content": format!("{turn} {says}")}));
        calls.push(EventBody::FetchedSutResponse(SutReply {
            request: Some(JsonText::of(&json!({"messages": messages, "model": "m"}))),
            response: Some(JsonText::of(
                &json!({"choices": [{"message": {"content": says}}]}),
            )),
            ..SutReply::default()
        }));
        messages.push(json!({"role": "assistant", "content": says}));
    }
    calls
}

/// Records the conversation as one item, with `journal` around the lines.
fn record(journal: &impl Journal, calls: &[EventBody]) {
    let item = Arc::new(ItemKey {
        test: "m01".into(),
        prompt_id: "m01_s001_v01".into(),
        sut: "careful".into(),
    });
    journal.record(Event::new(EventBody::StartingJournal(StartingJournal {
        format_version: Some(FORMAT_VERSION.into()),
    })));
    let queued = EventBody::QueuingItem(QueuingItem::default());
    let finished = EventBody::ItemFinished(ItemFinished {});
    for body in [queued]
        .into_iter()
        .chain(calls.iter().cloned())
        .chain([finished])
    {
        journal.record(Event::new(body).item(Some(&item)));
    }
}

fn read(text: &[u8]) -> Result<u64, Box<dyn Error>> {
    let mut reader = JournalReader::new(Cursor::new(text), "conversation");
    let mut lines = 0;
    while let Some(line) = reader.next_line() {
        let line = line?;
        assert!(line.raw("shared").is_none(), "a request is not whole");
        black_box(line);
        lines += 1;
    }
    Ok(lines)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut criterion = Criterion::default().configure_from_args();
    for turns in [6, 48] {
        let calls = calls(turns);
        let (whole, shared) = (Lines::default(), ItemTurns::new(Lines::default()));
        record(&whole, &calls);
        record(&shared, &calls);
        let text = |lines: &Lines| {
            let text = lines.0.lock().unwrap_or_else(PoisonError::into_inner);
            text.clone()
        };
        let texts = [("whole", text(&whole)), ("shared", text(shared.inner()))];
        for (form, text) in &texts {
            println!("{turns} turns, {form}: {} bytes a call", text.len() / turns);
        }
        let mut group = criterion.benchmark_group(format!("{turns} turns"));
        group.throughput(Throughput::Elements(turns as u64));
        group.bench_function("record, whole", |bencher| {
            bencher.iter(|| record(&Lines::default(), &calls));
        });
        group.bench_function("record, shared", |bencher| {
            bencher.iter(|| record(&ItemTurns::new(Lines::default()), &calls));
        });
        for (form, text) in &texts {
            group.bench_function(format!("read, {form}"), |bencher| {
                bencher.iter(|| read(text).ok());
            });
        }
        group.finish();
    }
    criterion.final_summary();
    Ok(())
}
