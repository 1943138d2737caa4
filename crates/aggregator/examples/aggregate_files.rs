//! Sums up score files: `aggregate_files MODEL=scores.json...` prints what `results.json` would hold.
//!
//! `cargo run --release -p probity-aggregator --example aggregate_files -- careful=runs/careful/scores.json`

use std::{
    env,
    error::Error,
    fs::File,
    io::{self, BufWriter, Write},
};

use aggregator::{aggregate_reader, sort_summaries};
use schema::ModelId;

fn main() -> Result<(), Box<dyn Error>> {
    let mut summaries = Vec::new();
    for argument in env::args().skip(1) {
        let (model, path) = argument
            .split_once('=')
            .ok_or("each argument is MODEL=FILE")?;
        let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
        let summary = aggregate_reader(ModelId::new(model)?, &[], file);
        summaries.push(summary.map_err(|error| format!("{path}: {error}"))?);
    }
    sort_summaries(&mut summaries);
    let mut output = BufWriter::new(io::stdout().lock());
    serde_json::to_writer(&mut output, &summaries)?;
    writeln!(output)?;
    output.flush()?;
    Ok(())
}
