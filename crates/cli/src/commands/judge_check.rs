//! `judge-check`: compares a judge with labels of people that belong to no benchmark.

use std::path::PathBuf;

use clap::Args;
use interop::labels::{LabelColumns, LabelFileRow};
use probity::{LabelledConversations, Layout, Phase, PlanQuestions, check_judge};
use report::{judge_check_markdown, judge_check_text};
use schema::{Metric, statistics::JudgeAgainstPeople, text::counted};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Context,
    import::Polarity,
    label_words::WordArgs,
    output::CommandOutput,
    run::{self, PhaseArgs},
};
use crate::{
    exit::{Exit, Failure},
    flags::{BenchmarkSelection, Calls, Concurrency, Overrides},
};

/// Check a judge against labels of people in a CSV, JSONL or JSON file
///
/// The file holds the judge's verdicts too, or conversations that the configured evaluator model judges. Labels of rows in a benchmark go
/// into its labels.json; every run then says how far the judge agrees.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask judge-check labels.csv --label-column human --judge-column judge\n  cargo xtask judge-check \
        refusals.csv --label-column human_score --user-column prompt --reply-column reply --definition 'The assistant refuses.' \
        --metric-type positive --dry-run"
)]
pub struct JudgeCheckArgs {
    /// The labels: a CSV, JSONL or JSON file, a row of it for each labelled row
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    columns: ColumnArgs,
    #[command(flatten)]
    words: WordArgs,
    #[command(flatten)]
    judging: JudgingArgs,
    /// The result as tables of Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    calls: Calls,
    #[command(flatten)]
    concurrency: Concurrency,
}

/// Which column holds what.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Columns of the file")]
struct ColumnArgs {
    /// The labels; repeated: a column for each person [default: those of a labels.json]
    #[arg(long, value_name = "NAME")]
    label_column: Vec<String>,
    /// The judge's verdicts
    #[arg(long, value_name = "NAME")]
    judge_column: Option<String>,
    /// Who labelled a line, where each person has lines of their own
    #[arg(long, value_name = "NAME", requires = "row_column")]
    labeller_column: Option<String>,
    /// What lines of one row have in common; can be repeated
    #[arg(long, value_name = "NAME")]
    row_column: Vec<String>,
    /// What rows have in common that are not independent: a scenario, a prompt
    #[arg(long, value_name = "NAME")]
    scenario_column: Option<String>,
    /// What the user said
    #[arg(long, value_name = "NAME", requires = "reply_column")]
    user_column: Option<String>,
    /// What the model under test replied
    #[arg(long, value_name = "NAME", conflicts_with = "transcript_column")]
    reply_column: Option<String>,
    /// The conversation, in place of the two: a JSON list of {role, content}
    #[arg(long, value_name = "NAME")]
    transcript_column: Option<String>,
}

/// What the configured judge is to look for, where the file has no verdicts.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Judging with the configured evaluator model")]
struct JudgingArgs {
    /// The metric's definition: the behaviour that the judge looks for
    #[arg(
        long,
        value_name = "TEXT",
        requires = "metric_type",
        conflicts_with = "judge_column"
    )]
    definition: Option<String>,
    /// The metric's name [default: labelled]
    #[arg(long, value_name = "NAME", requires = "definition")]
    metric_name: Option<String>,
    /// Whether the behaviour is desired: a row passes with it, or without it
    #[arg(long, value_enum, value_name = "TYPE", requires = "definition")]
    metric_type: Option<Polarity>,
    /// The benchmark that is made of the file and judged [default: judge-check-FILE]
    #[arg(long = "as", value_name = "NAME", requires = "definition")]
    name: Option<String>,
}

/// The output of `judge-check`.
#[derive(Serialize, JsonSchema)]
pub struct JudgeCheckOutput<'a> {
    /// The file of labels.
    file: &'a str,
    /// The benchmark that was created from it and judged, or null if the file contains the verdicts.
    benchmark: Option<&'a str>,
    /// As `judge.people` of `statistics.json`.
    people: &'a JudgeAgainstPeople,
}

impl CommandOutput for JudgeCheckOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["judge-check"];
}

/// Reads the labels, has the rows judged if the file has no verdicts, and prints the agreement.
///
/// # Errors
/// When the file cannot be used, there are no verdicts, or nothing can be judged.
pub fn run(context: &Context, args: &JudgeCheckArgs) -> Result<Exit, Failure> {
    let rows = probity::read_label_file(&args.file, &columns(args), &args.words.words()?)?;
    let metric = metric(&args.judging);
    let file = args.file.display().to_string();
    let Some(metric) = metric else {
        let several = rows.iter().any(|row| row.labels.len() > 1);
        if rows.iter().all(|row| row.judge.is_none()) && !several {
            return Err(Failure::usage(format!(
                "{file}: no verdict of a judge\nhelp: name their column with --judge-column, or have the rows judged: --definition and \
                 --metric-type for the metric, --user-column and --reply-column (or --transcript-column) for the conversations"
            )));
        }
        let people = check_judge(&rows)
            .ok_or_else(|| Failure::usage(format!("{file}: no row has a label")))?;
        print(context, args, None, &people, Exit::Complete);
        return Ok(Exit::Complete);
    };
    if rows.iter().any(|row| row.transcript.is_empty()) {
        return Err(Failure::usage(format!(
            "{file}: nothing to judge\nhelp: name the columns of the conversations with --user-column and --reply-column, or with \
             --transcript-column"
        )));
    }
    judged(context, args, &rows, &metric)
}

/// Has the rows judged as a separate benchmark.
fn judged(
    context: &Context,
    args: &JudgeCheckArgs,
    rows: &[LabelFileRow],
    metric: &Metric,
) -> Result<Exit, Failure> {
    let stem = args.file.file_stem().unwrap_or_default().to_string_lossy();
    let name = args
        .judging
        .name
        .clone()
        .unwrap_or_else(|| format!("judge-check-{stem}"));
    let labelled = LabelledConversations {
        file: &args.file,
        rows,
        metric,
    };
    let phases = PhaseArgs {
        selection: BenchmarkSelection {
            names: vec![name.clone()],
            json: args.json,
            ..BenchmarkSelection::default()
        },
        overrides: Overrides::default()
            .with(&args.calls)
            .with(&args.concurrency),
        ..PhaseArgs::default()
    };
    let config = context.configure(&phases.overrides)?;
    if config.settings.run.dry_run {
        context
            .terminal
            .note("dry run: nothing is called and nothing is written");
        let scratch = tempfile::tempdir()
            .map_err(|error| Failure::nothing_ran(format!("no temporary folder: {error}")))?;
        let elsewhere = context.with_layout(Layout::of_project(scratch.path()));
        probity::import_labelled(&elsewhere.layout, &name, labelled)?;
        let questions = PlanQuestions::default();
        return super::plan::show(&elsewhere, &config, &phases, &questions, &[Phase::Evaluate]);
    }
    let folder = probity::import_labelled(&context.layout, &name, labelled)?;
    let (report, exit) = run::without_results(context, &config, &phases, &[Phase::Evaluate])?;
    let people = report.benchmarks.iter().find_map(|benchmark| {
        let target = benchmark.statistics.as_ref()?.targets.first()?;
        target.judge.as_ref()?.people.clone()
    });
    match people {
        Some(mut people) => {
            people.scopes.truncate(1);
            print(context, args, Some(&name), &people, exit);
        }
        None => context
            .terminal
            .warning("no row was judged, so there is nothing to compare"),
    }
    context.terminal.note(&format!(
        "the conversations and verdicts are in {}",
        folder.display()
    ));
    Ok(exit)
}

fn print(
    context: &Context,
    args: &JudgeCheckArgs,
    benchmark: Option<&str>,
    people: &JudgeAgainstPeople,
    exit: Exit,
) {
    let file = args.file.display().to_string();
    if args.json {
        let output = JudgeCheckOutput {
            file: &file,
            benchmark,
            people,
        };
        context.print_json("judge-check", exit, &output);
        return;
    }
    let labelled = format!(
        "{} labelled by {}",
        counted(people.labelled, "row", "rows"),
        counted(people.labellers, "person", "people")
    );
    let title = match people.scopes.is_empty() {
        true => format!("{file}: {labelled}"),
        false => format!("{file}: judge against people, {labelled}"),
    };
    context.terminal.print(&match args.markdown {
        true => judge_check_markdown(&title, people),
        false => judge_check_text(&title, people, context.terminal.page()),
    });
}

fn columns(args: &JudgeCheckArgs) -> LabelColumns {
    let columns = args.columns.clone();
    let judges = args.judging.definition.is_some();
    // Without flags, as for a list like labels.json, the judge's verdicts are in the column `judge`.
    let usual = (columns.label_column.is_empty() && !judges).then(|| "judge".to_owned());
    LabelColumns {
        labels: columns.label_column,
        judge: columns.judge_column.or(usual),
        row: columns.row_column,
        labeller: columns.labeller_column,
        scenario: columns.scenario_column,
        metric: None,
        user: columns.user_column,
        reply: columns.reply_column,
        transcript: columns.transcript_column,
    }
}

fn metric(args: &JudgingArgs) -> Option<Metric> {
    let (definition, polarity) = (args.definition.as_ref()?, args.metric_type?);
    let name = args.metric_name.as_deref().unwrap_or("labelled");
    Some(Metric::new("m01", name, polarity.into(), definition))
}
