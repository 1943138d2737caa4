//! `baseline`: the counts that a gate compares later runs with.

use std::path::PathBuf;

use clap::Args;
use probity::BaselineOptions;
use schema::{ModelId, text::counted};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Context,
    output::{CommandOutput, path_text},
    safety_files,
};
use crate::{
    benchmarks::{one_benchmark, target_ids},
    completion,
    exit::{Exit, Failure},
};

/// Write baseline.json, the counts that a gate compares later runs with
///
/// The counts come from the scores in the tree. Keep the file in git. No model is called.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask baseline honesty\n  cargo xtask baseline honesty --target gpt-4.1 --out ci/honesty.json"
)]
pub struct BaselineArgs {
    /// The benchmark by name
    #[arg(value_name = "BENCHMARK", add = completion::benchmarks(), required_unless_present = "safety")]
    name: Option<String>,
    /// Result files of safety evaluations of one kind, instead of a benchmark
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "name")]
    safety: Vec<PathBuf>,
    /// Only this target, by its id in the tree; can be repeated
    #[arg(long = "target", value_name = "ID", add = completion::simulated_targets())]
    targets: Vec<String>,
    /// The file to write [default: baseline.json in the folder of the benchmark; with --safety safety-single-turn-baseline.json or
    /// safety-multi-turn-baseline.json here]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// The output of `baseline`.
#[derive(Serialize, JsonSchema)]
pub struct BaselineOutput<'a> {
    /// The benchmark's folder.
    benchmark: &'a str,
    /// The written file.
    path: String,
    /// The ids of its targets.
    targets: &'a [&'a ModelId],
}

impl CommandOutput for BaselineOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["baseline"];
}

/// Writes the baseline.
///
/// # Errors
/// When there are no scores, or the file cannot be written.
pub fn run(context: &Context, args: &BaselineArgs) -> Result<Exit, Failure> {
    let options = BaselineOptions {
        targets: target_ids(&args.targets)?,
        out: args.out.clone(),
    };
    let layout = &context.layout;
    let (name, written) = match &args.name {
        Some(name) => {
            let name = one_benchmark(layout, name)?;
            let written = probity::baseline(layout, &name, &options)?;
            (name, written)
        }
        None => {
            let written = safety_files::with_sources(&args.safety, |sources| {
                Ok(probity::baseline_safety(layout, sources, &options)?)
            })?;
            (written.baseline.benchmark.uid.clone(), written)
        }
    };
    for note in &written.notes {
        context.terminal.warning(&format!("{name}: {note}"));
    }
    let targets: Vec<&ModelId> = written.baseline.targets.keys().collect();
    if args.json {
        let output = BaselineOutput {
            benchmark: &name,
            path: path_text(&written.path),
            targets: &targets,
        };
        context.print_json("baseline", Exit::Complete, &output);
    } else {
        context.terminal.print(&format!(
            "{}: {} of {}\n",
            written.path.display(),
            counted(targets.len() as u64, "target", "targets"),
            name
        ));
    }
    Ok(Exit::Complete)
}
