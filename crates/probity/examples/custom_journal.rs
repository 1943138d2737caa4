//! A journal of one's own in a whole pipeline: it counts events by message and keeps nothing else.
//!
//! Run it with `cargo run -p probity-journal --example custom_journal`.

use std::{
    collections::BTreeMap,
    error::Error,
    sync::{Arc, Mutex, PoisonError},
};

use llm_client::{HttpClient, Provider};
use probity::{PhaseSettings, Pipeline, RunOptions, demo, standard_phases};
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
    let provider = Provider::new(HttpClient::default()).with_journal(Arc::clone(&journal));
    let models = demo::models(&provider, server.base_url())?;
    let phases = standard_phases(models, PhaseSettings::default())?;
    let pipeline = Pipeline::new(layout, phases, RunOptions::default()).journal(journal);

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
