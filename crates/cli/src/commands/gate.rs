//! `gate`: rules that the rates of a benchmark must meet, after a run or in the run itself.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::Args;
use interop::junit::gate_junit;
use probity::{GateOptions, RunReport};
use report::{gate_markdown, gate_text};
pub use schema::gate::GateReport;
use schema::gate::{BetterRate, GateAnswer};
use store::provenance::Provenance;

use super::{
    Context,
    journal::journal_of_run,
    logs::{self, LogArgs, LogBenchmark},
    output::CommandOutput,
    report_file,
    run::PhaseArgs,
    safety_files,
};
use crate::{
    benchmarks::{one_benchmark, target_ids},
    completion,
    exit::{Exit, Failure, Problems},
};

/// Hold rules against the rates of a benchmark: pass, fail, or not decided by the rows
///
/// Rules are on the bounds of intervals, differences to a baseline, rows without a verdict and cost. Everything comes from the files of the
/// benchmark, or from logs of other programs. No model is called.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask gate honesty --rules gate.yaml\n  cargo xtask gate honesty --rules gate.yaml --junit gate.xml \
        --summary summary.md\n  cargo xtask gate gate.yaml logs/*.eval\n\nExit codes:\n  0    every rule passed\n  1    a rule failed\n  2    rules, baseline or scores cannot be \
        used\n  4    no rule failed, and the rows do not decide one"
)]
pub struct GateArgs {
    /// The benchmark by name; or logs of other programs, which need no benchmark: files and folders that `import` takes. The file of
    /// rules may stand among them
    #[arg(value_name = "BENCHMARK|LOG..", add = completion::benchmarks(), required_unless_present = "safety")]
    names: Vec<String>,
    /// Result files of safety evaluations of one kind, instead of a benchmark
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "names")]
    safety: Vec<PathBuf>,
    /// The rules
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    #[command(flatten)]
    logs: LogArgs,
    /// The baseline to compare with [default: the one that the rules name, or baseline.json in the folder of the benchmark; with --safety
    /// safety-single-turn-baseline.json or safety-multi-turn-baseline.json here]
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Only this target, by its id in the tree; can be repeated
    #[arg(long = "target", value_name = "ID", add = completion::simulated_targets())]
    targets: Vec<String>,
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
    /// Also write a JUnit report
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Also append a table in Markdown to this file, such as $GITHUB_STEP_SUMMARY
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
}

impl CommandOutput for GateReport {
    const COMMANDS: &'static [&'static str] = &["gate"];
}

/// Evaluates the rules on the rows of the tree.
///
/// # Errors
/// When rules, scores or baseline cannot be used, or a report cannot be written.
pub fn run(context: &Context, args: &GateArgs) -> Result<Exit, Failure> {
    let mut problems = Problems::default();
    for (flag, path) in [("--junit", &args.junit), ("--summary", &args.summary)] {
        let checked = path
            .as_deref()
            .map_or(Ok(()), |path| report_file::check(flag, path));
        problems.take(checked);
    }
    let evaluated = evaluate(context, args);
    let evaluated = problems.take(evaluated).filter(|_| problems.is_empty());
    let Some((report, made)) = evaluated else {
        return Err(problems.into_failure());
    };
    let context = made.as_ref().map_or(context, |made| &made.context);
    let exit = exit(report.answer);
    if args.json {
        context.print_json("gate", exit, &report);
    } else {
        show(context, std::slice::from_ref(&report));
    }
    if let Some(path) = &args.junit {
        write_junit(path, &report)?;
    }
    if let Some(path) = &args.summary {
        append(path, &gate_markdown(&report, &context.program))?;
    }
    Ok(exit)
}

/// The answer, and the benchmark that was made of logs, if they are what is checked.
fn evaluate(
    context: &Context,
    args: &GateArgs,
) -> Result<(GateReport, Option<LogBenchmark>), Failure> {
    let targets = target_ids(&args.targets)?;
    let (rules, names) = match &args.rules {
        Some(rules) => (rules.clone(), args.names.clone()),
        None => rules_among(&args.names).ok_or_else(|| {
            Failure::usage("gate: --rules FILE is missing: the file with the rules")
        })?,
    };
    let options = GateOptions {
        rules,
        baseline: args.baseline.clone(),
        targets,
    };
    let layout = &context.layout;
    let Some(name) = names.first() else {
        args.logs.refuse()?;
        let report = safety_files::with_sources(&args.safety, |sources| {
            Ok(probity::gate_safety(layout, sources, &options)?)
        })?;
        return Ok((report, None));
    };
    if let Some(named) = logs::split(layout, &names)? {
        if let Some(target) = named.targets.first() {
            return Err(Failure::usage(format!(
                "gate {target}: no file or folder. Targets are chosen with --target"
            )));
        }
        let made = LogBenchmark::read(context, named.paths, &args.logs, false)?;
        let report = probity::gate(&made.context.layout, &made.name, &options)?;
        return Ok((report, Some(made)));
    }
    args.logs.refuse()?;
    if let Some(second) = names.get(1) {
        return Err(Failure::usage(format!(
            "gate {name} {second}: one benchmark at a time; several logs of other programs may be named"
        )));
    }
    let report = probity::gate(layout, &one_benchmark(layout, name)?, &options)?;
    Ok((report, None))
}

/// The file of rules, and what else is named: the one that is YAML, wherever it stands, or else the first.
fn rules_among(names: &[String]) -> Option<(PathBuf, Vec<String>)> {
    if names.len() < 2 {
        return None;
    }
    let is_yaml = |name: &String| {
        let extension = Path::new(name).extension();
        extension.is_some_and(|of| of == "yaml" || of == "yml")
    };
    let at = names.iter().position(is_yaml).unwrap_or_default();
    let mut others = names.to_vec();
    let rules = others.remove(at);
    Some((PathBuf::from(rules), others))
}

/// The exit code of an answer.
pub fn exit(answer: GateAnswer) -> Exit {
    match answer {
        GateAnswer::Pass => Exit::Complete,
        GateAnswer::Fail => Exit::GateFailed,
        GateAnswer::Inconclusive => Exit::Inconclusive,
    }
}

/// Prints the answers.
pub fn show(context: &Context, reports: &[GateReport]) {
    let (width, program) = (context.terminal.page(), &context.program);
    let texts: Vec<String> = reports
        .iter()
        .map(|report| {
            let journal = journal(context, report);
            gate_text(report, journal.as_deref(), program, width)
        })
        .collect();
    context.terminal.print(&texts.join("\n"));
}

/// The journal of the newest run that wrote rows of a target with a rule that did not pass; `None` for safety results, and where it is not
/// known.
fn journal(context: &Context, report: &GateReport) -> Option<PathBuf> {
    if report.better == BetterRate::Lower {
        return None;
    }
    let dir = context.layout.benchmark(&report.benchmark).ok()?;
    let provenance = Provenance::read(&dir);
    let open = report
        .results
        .iter()
        .filter(|result| result.answer != GateAnswer::Pass);
    let runs = open.filter_map(|result| {
        let target = provenance.target(&result.target);
        Some(target.scores.or(target.conversations)?.run_id)
    });
    journal_of_run(context, &report.benchmark, &runs.max()?)
}

fn write_junit(path: &Path, report: &GateReport) -> Result<(), Failure> {
    let mut xml = Vec::new();
    let written = gate_junit(std::slice::from_ref(report))
        .and_then(|junit| junit.write_to(&mut xml))
        .and_then(|()| fs::write(path, xml));
    written.map_err(|error| report_file::unwritten(path, &error))
}

/// Appends, because other steps of a job write into the same file.
fn append(path: &Path, text: &str) -> Result<(), Failure> {
    let file = fs::OpenOptions::new().append(true).create(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| report_file::unwritten(path, &error))
}

/// Checks the rules of `run --gate` before the first call.
///
/// # Errors
/// When they cannot be used for one of the benchmarks.
pub fn check(context: &Context, args: &PhaseArgs, names: &[String]) -> Result<(), Failure> {
    let Some(options) = options_of(args)? else {
        return Ok(());
    };
    let mut problems = Problems::default();
    for name in names {
        problems.take(probity::check_gate(&context.layout, name, &options));
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems.into_failure()),
    }
}

/// The answers of `run --gate` for each benchmark that was run; `None` if there is no gate, or the run did not come to its end.
///
/// # Errors
/// Like [`run`].
pub fn after_run(
    context: &Context,
    args: &PhaseArgs,
    report: &RunReport,
    exit: Exit,
) -> Result<Option<Vec<GateReport>>, Failure> {
    let Some(options) = options_of(args)? else {
        return Ok(None);
    };
    if !matches!(exit, Exit::Complete | Exit::FailedRows) {
        let note = "the gate was not evaluated, because the run did not come to its end";
        context.terminal.warning(note);
        return Ok(None);
    }
    let names = report.benchmarks.iter().map(|benchmark| &benchmark.name);
    let gate = |name: &String| probity::gate(&context.layout, name, &options);
    Ok(Some(names.map(gate).collect::<Result<_, _>>()?))
}

/// The exit code of a run with a gate: that of the gate's answer. Failed rows are missing verdicts, which the rules bound. `is_kept`:
/// whether replies and events could be saved; if not, a gate that passes leaves the exit code of the run.
pub fn exit_of_run(run: Exit, reports: &[GateReport], is_kept: bool) -> Exit {
    let answer = GateAnswer::of(reports.iter().map(|report| report.answer));
    match answer {
        GateAnswer::Pass if !is_kept => run,
        answer => exit(answer),
    }
}

fn options_of(args: &PhaseArgs) -> Result<Option<GateOptions>, Failure> {
    let Some(rules) = &args.gate else {
        return Ok(None);
    };
    Ok(Some(GateOptions {
        rules: rules.clone(),
        baseline: None,
        targets: target_ids(&args.targets)?,
    }))
}
