//! A journal of one's own: it counts events by message and keeps nothing else.
//!
//! `cargo run -p probity-journal --example custom_journal`

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use schema::{Event, Journal};

/// Counts events by message.
#[derive(Default)]
struct CountingJournal {
    counts: Mutex<BTreeMap<&'static str, u64>>,
}

impl CountingJournal {
    fn count(&self, message: &str) -> u64 {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(message).copied().unwrap_or_default()
    }
}

impl Journal for CountingJournal {
    fn record(&self, event: Event) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(event.message).or_default() += 1;
    }
}

/// Stands for a run: anything that is given a journal.
fn run(journal: &dyn Journal) {
    for turn in 1..=3_u32 {
        let event = Event::new("fetched sut response", "Demo", "run");
        journal.record(event.with("turn", turn));
    }
    journal.record(Event::new("finished pipeline", "Demo", "run"));
}

fn main() {
    let journal = CountingJournal::default();
    run(&journal);
    assert_eq!(journal.count("fetched sut response"), 3);
    println!(
        "fetched sut response: {}",
        journal.count("fetched sut response")
    );
    println!("finished pipeline: {}", journal.count("finished pipeline"));
}
