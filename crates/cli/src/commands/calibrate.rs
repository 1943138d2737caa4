//! `calibrate`: the standards that a benchmark's grades compare with.

use std::path::PathBuf;

use clap::Args;
use probity::{CalibrateOptions, Calibration};
use report::{sheets_text, standards_sheet};
use schema::{BenchmarkScore, Finding, Standards};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Context, findings,
    output::{CommandOutput, path_text},
};
use crate::{
    benchmarks::{one_benchmark, target_ids},
    completion,
    exit::{Exit, Failure},
    flags::Overrides,
};

/// Write the standards that grades compare with, from the scores of reference systems
///
/// The scores come from the benchmark tree: run the benchmark with the reference systems first. No model is called.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask run honesty --target gpt-4.1\n  cargo xtask calibrate honesty --reference gpt-4.1"
)]
pub struct CalibrateArgs {
    /// The benchmark by name
    #[arg(value_name = "BENCHMARK", add = completion::benchmarks())]
    name: String,
    /// A reference system, by its id in the tree; can be repeated, and the lowest score counts
    #[arg(long = "reference", value_name = "ID", add = completion::simulated_targets(), required = true)]
    references: Vec<String>,
    /// The file to write [default: standards.json of the benchmark]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace existing standards
    #[arg(long)]
    force: bool,
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// The output of `calibrate`.
#[derive(Serialize, JsonSchema)]
pub struct CalibrateOutput<'a> {
    /// The benchmark's folder.
    benchmark: &'a str,
    /// The written file.
    standards_file: String,
    /// The journal of the calibration.
    journal: String,
    /// The content of the file.
    standards: &'a Standards,
    /// The scores of the reference systems.
    scores: &'a [BenchmarkScore],
    /// Warnings about the standards.
    warnings: &'a [String],
    /// What limits the conclusions from the references' results, the worst first.
    findings: &'a [Finding],
}

impl CommandOutput for CalibrateOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["calibrate"];
}

/// Writes the standards of a benchmark from scores in the tree.
///
/// # Errors
/// When there are no such scores, or the file already exists and must not be replaced.
pub fn run(context: &Context, args: &CalibrateArgs) -> Result<Exit, Failure> {
    let config = context.configure(&Overrides::default())?;
    let name = &one_benchmark(&context.layout, &args.name)?;
    let options = CalibrateOptions {
        references: target_ids(&args.references)?,
        out: args.out.clone(),
        force: args.force,
        command: command(context.program.name(), args),
    };
    let calibration = probity::calibrate(&context.layout, name, &options)?;
    context.warn_of(&calibration.findings);
    for warning in &calibration.warnings {
        context.terminal.warning(warning);
    }
    if args.out.is_none() && config.settings.standards.is_some() {
        context.terminal.warning(
            "`standards` in the config names another path, which is used instead of this file",
        );
    }
    if args.json {
        let output = CalibrateOutput {
            benchmark: name,
            standards_file: path_text(&calibration.path),
            journal: path_text(&calibration.journal),
            standards: &calibration.file.standards,
            scores: &calibration.scores,
            warnings: &calibration.warnings,
            findings: &calibration.findings,
        };
        context.print_json("calibrate", Exit::Complete, &output);
    } else {
        context
            .terminal
            .print(&text(context, name, args, &calibration));
    }
    Ok(Exit::Complete)
}

fn text(context: &Context, name: &str, args: &CalibrateArgs, done: &Calibration) -> String {
    let width = context.terminal.page();
    let sheet = standards_sheet(name, &done.file.standards, &done.scores);
    let mut text = sheets_text([&sheet], width);
    text.push_str(&findings::notes(context, &done.findings, width));
    text.push_str(&format!(
        "\nwrote {}\njournal {}\n",
        done.path.display(),
        done.journal.display()
    ));
    text.push_str(&match args.out {
        None => format!(
            "Every run of {name} is graded from now on; `{} aggregate {name}` grades the existing scores.\n",
            context.program.start()
        ),
        Some(_) => "Set `standards` in the config to this file to grade by it.\n".to_owned(),
    });
    text
}

/// The command, as the user could type it again.
fn command(program: &str, args: &CalibrateArgs) -> String {
    let mut words = vec![format!("{program} calibrate"), args.name.clone()];
    for reference in &args.references {
        words.push(format!("--reference {reference}"));
    }
    words.join(" ")
}
