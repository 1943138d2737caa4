//! A journal of one's own in a whole pipeline: it counts events by message and keeps nothing else.
//!
//! Run it with `cargo run -p probity --example custom_journal`.

use std::{
    collections::BTreeMap,
    error::Error,
    sync::{Arc, Mutex, PoisonError},
};

use probity::{PhaseSettings, Pipeline, RunOptions, Session, demo, standard_phases};
use schema::{Event, Journal};

/// Counts events by message.
#[derive(Default)]
struct CountingJournal {
    counts: Mutex<BTreeMap<&'static str, u64>>,
}

impl Journal for CountingJournal {
    fn record(&self, event: Event) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(event.message()).or_default() += 1;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = scripted_llm::ScriptedServer::start().await?;
    let folder = tempfile::tempdir()?;
    let layout = demo::layout(folder.path())?;

    let counting = Arc::new(CountingJournal::default());
    let journal: Arc<dyn Journal> = counting.clone();
    // The pipeline records the run and its items, calls of items among them. The models record the other calls.
    let session = Arc::new(Session::default().with_journal(journal));
    let models = demo::models(&session, server.base_url())?;
    let phases = standard_phases(models, PhaseSettings::default())?;
    let pipeline = Pipeline::new(session, layout, phases, RunOptions::default());

    let report = demo::run(&pipeline).await?;
    print!("{}", demo::rates(&report));
    let counts = counting
        .counts
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    for (message, count) in counts.iter() {
        println!("{count:>5}  {message}");
    }
    Ok(())
}
