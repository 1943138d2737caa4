//! `validate`: checks files.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use clap::Args;
use schema::{
    Notice,
    numbers::grouped,
    text::{counted, spell_bidi},
};
use schemars::JsonSchema;
use serde::Serialize;
use validate::{FileReport, Finding, Kind, Options, Report, Severity, check};

use super::{
    Context,
    output::{self, CommandOutput},
    workflow,
};
use crate::{
    config::{self, ConfigProblem},
    exit::{Exit, Failure},
};

/// The most findings of a file that are printed.
const SHOWN: usize = 100;

/// The most findings of a file in the JSON output.
const LISTED: usize = 1_000_000;

/// The number of annotations of one kind that GitHub shows for each step.
const ANNOTATED: usize = 10;

/// Check files: a benchmark, a run, a configuration, or any other file of Probity
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Every problem is reported with file, line, key and reason. No model is called, and nothing is written.\n\nExamples:\n  cargo xtask validate benchmarks/honesty\n  cargo xtask validate config.yaml .probity --json\n  cargo \
        xtask validate --as scores mine.json\n\nExit codes:\n  0    no problems\n  1    there are problems\n  2    something could \
        not be checked: no such path, or not recognised"
)]
pub struct ValidateArgs {
    /// Files and folders: a benchmark, a folder of them, .probity or a run in it, or any file of Probity
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// The kind of the files, where neither name nor content shows it
    #[arg(long = "as", value_name = "KIND")]
    kind: Option<Kind>,
    /// All problems as JSON on standard output
    #[arg(long)]
    json: bool,
    /// Also print the first problems as annotations of GitHub Actions
    #[arg(long)]
    github: bool,
}

/// The output of `validate`.
#[derive(Serialize, JsonSchema)]
pub struct ValidateOutput<'a> {
    /// Problems in all files.
    problems: u64,
    /// Notes on all files.
    notes: u64,
    /// The checked files.
    files: &'a [FileReport],
    /// Why paths could not be checked.
    unchecked: &'a [String],
}

impl CommandOutput for ValidateOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["validate"];
}

/// Checks the paths and reports all problems.
///
/// # Errors
/// When a path cannot be checked; the others are checked before.
pub fn run(context: &Context, args: &ValidateArgs) -> Result<Exit, Failure> {
    let options = Options {
        kind: args.kind,
        keep: if args.json { LISTED } else { SHOWN },
        config: Some(&configuration),
        output: Some(output::schema),
    };
    let mut report = Report::default();
    let mut unchecked = Vec::new();
    for path in &args.paths {
        match check(path, &options) {
            Ok(checked) => report.files.extend(checked.files),
            Err(error) => unchecked.push(error.to_string()),
        }
    }
    for file in &mut report.files {
        file.name_commands(&context.program);
    }
    let exit = match (unchecked.is_empty(), report.problems()) {
        (false, _) => Exit::Usage,
        (true, 0) => Exit::Complete,
        (true, _) => Exit::FailedRows,
    };
    if args.json {
        let output = ValidateOutput {
            problems: report.problems(),
            notes: report.notes(),
            files: &report.files,
            unchecked: &unchecked,
        };
        context.print_json("validate", exit, &output);
    } else {
        let text: String = report.files.iter().map(file).collect();
        context.terminal.print(&text);
        if !report.files.is_empty() {
            context.terminal.print(&summary(&report));
        }
    }
    if args.github {
        let text = annotations(&report);
        match args.json {
            true => context.terminal.write(spell_bidi(&text).as_bytes()),
            false => context.terminal.print(&text),
        }
    }
    if unchecked.is_empty() {
        note_journals(context, &report);
        return Ok(exit);
    }
    Err(Failure::usage(unchecked.join("\n")))
}

/// The problems of a configuration file, as its reader reports them.
fn configuration(path: &Path) -> Vec<Finding> {
    let (problems, warnings) = config::problems(path);
    let name = path.display().to_string();
    let problem = |problem: &ConfigProblem| finding(problem, &name);
    let note = |problem: &ConfigProblem| Finding {
        severity: Severity::Note,
        ..finding(problem, &name)
    };
    let mut findings: Vec<Finding> = problems.iter().map(problem).collect();
    findings.extend(warnings.iter().map(note));
    findings.sort_by_key(|finding| (finding.line, finding.column));
    findings
}

/// A problem of the configuration file `name`. A problem in another place includes that place.
fn finding(problem: &ConfigProblem, name: &str) -> Finding {
    let origin = problem.place.origin.as_ref();
    let Some(origin) = origin.filter(|origin| origin.name == name) else {
        return Finding::problem("", problem.to_string());
    };
    let finding = Finding::problem(&problem.place.key, &problem.reason).at_line(origin.line);
    Finding {
        column: origin.column,
        ..finding
    }
}

/// The findings of a file, one per line, with their advice.
fn file(file: &FileReport) -> String {
    let mut text = String::new();
    for finding in &file.findings {
        text.push_str(&line(file, finding));
    }
    let help = file
        .findings
        .iter()
        .filter_map(|finding| finding.help.as_ref().map(Notice::to_string));
    for help in help.collect::<BTreeSet<_>>() {
        text.push_str(&format!("help: {help}\n"));
    }
    let shown = u64::try_from(file.findings.len()).unwrap_or(u64::MAX);
    let more = (file.problems + file.notes).saturating_sub(shown);
    if more > 0 {
        text.push_str(&format!(
            "{}: and {} more; --json lists them\n",
            file.path.display(),
            grouped(more)
        ));
    }
    text
}

/// `path:3:7`.
pub fn place(path: &Path, finding: &Finding) -> String {
    let mut text = path.display().to_string();
    for number in [finding.line, finding.column].into_iter().flatten() {
        text.push_str(&format!(":{number}"));
    }
    text
}

/// `path:3:7: metrics[0].type: …`.
fn line(file: &FileReport, finding: &Finding) -> String {
    let mut text = place(&file.path, finding);
    if finding.severity == Severity::Note {
        text.push_str(": note");
    }
    for part in [&finding.key, &finding.reason] {
        if !part.is_empty() {
            text.push_str(": ");
            text.push_str(part);
        }
    }
    text.push('\n');
    text
}

fn summary(report: &Report) -> String {
    let (problems, notes) = (report.problems(), report.notes());
    let files = report.files.len();
    let noted = match notes {
        0 => String::new(),
        notes => format!(", {}", counted(notes, "note", "notes")),
    };
    let checked = counted(files as u64, "file", "files");
    match problems {
        0 => format!("{checked}: no problems{noted}\n"),
        problems => format!(
            "{checked}: {}{noted}\n",
            counted(problems, "problem", "problems")
        ),
    }
}

fn note_journals(context: &Context, report: &Report) {
    let mut journals = report.files.iter();
    if journals.any(|file| file.kind == Kind::Journal.name()) {
        context.terminal.note(&format!(
            "only the form of journals was checked; `{} journal check` checks the rules between their lines",
            context.program.start()
        ));
    }
}

/// Workflow commands: problems as errors, notes as warnings.
fn annotations(report: &Report) -> String {
    let mut text = String::new();
    for (severity, command) in [(Severity::Problem, "error"), (Severity::Note, "warning")] {
        let of_file = |file: &FileReport| {
            let findings = file
                .findings
                .iter()
                .filter(|finding| finding.severity == severity);
            findings
                .map(|finding| annotation(command, file, finding))
                .collect::<Vec<_>>()
        };
        let all = report.files.iter().flat_map(of_file);
        text.extend(all.take(ANNOTATED));
    }
    text
}

fn annotation(command: &str, file: &FileReport, finding: &Finding) -> String {
    let mut place = format!(
        "file={}",
        workflow::property(&file.path.display().to_string())
    );
    for (name, number) in [("line", finding.line), ("col", finding.column)] {
        if let Some(number) = number {
            place.push_str(&format!(",{name}={number}"));
        }
    }
    let mut said = match finding.key.is_empty() {
        true => finding.reason.clone(),
        false => format!("{}: {}", finding.key, finding.reason),
    };
    if let Some(help) = &finding.help {
        said.push_str(&format!("\nhelp: {help}"));
    }
    format!("::{command} {place}::{}\n", workflow::data(&said))
}
