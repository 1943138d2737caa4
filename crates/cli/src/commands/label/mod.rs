//! `label`: people label rows that the judge gave a verdict on.

mod answer;
mod import;
mod session;

use std::{io, path::PathBuf};

use clap::Args;
use probity::{LabelOptions, Labelling};
use report::{corrected_width, people_sheet, sheets_text};
use schema::{ModelId, text::is_blank};
use store::{RefreshedPeople, StatisticsState, findings::label_findings};

pub use self::import::LabelOutput;

use self::session::{Input, Session};
use super::{Context, label_words::WordArgs, run_report};
use crate::{
    benchmarks::{one_benchmark, target_ids},
    completion,
    exit::{Exit, Failure},
};

/// With this many labels, a second person on the same rows shows as much as more rows.
const ENOUGH: usize = 40;

/// Label rows by hand, and see how far the judge agrees and the rate that people would give
///
/// Goes through the rows of a target blind, in the order that the corrected rate needs. Each answer is written to labels.json at once; the
/// same command goes on where it was left. No model is called.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask label honesty --target gpt-4.1 --labeller ana\n  cargo xtask label honesty --target gpt-4.1 \
        --metric m02 --limit 20\n  cargo xtask label honesty --target gpt-4.1 --until 0.2\n  cargo xtask label honesty --import labels.csv"
)]
pub struct LabelArgs {
    /// The benchmark by name
    #[arg(value_name = "BENCHMARK", add = completion::benchmarks())]
    name: String,
    /// The target whose rows are labelled, by its id in the tree [default: the only one with scores]
    #[arg(long, value_name = "ID", add = completion::simulated_targets())]
    target: Option<String>,
    /// Who labels: a name or initials, the same each time
    #[arg(long, value_name = "NAME", conflicts_with = "import")]
    labeller: Option<String>,
    /// Show the judge's verdict before the answer
    #[arg(long, conflicts_with = "import")]
    show_verdicts: bool,
    /// Only rows of this metric
    #[arg(long, value_name = "ID", conflicts_with = "import")]
    metric: Option<String>,
    /// Stop after this many answers
    #[arg(long, value_name = "N", conflicts_with = "import", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Stop when the corrected rate's 95% interval is so wide or less, 0 to 1: 0.1 is 10 points. After 20 labels at the earliest
    #[arg(long, value_name = "WIDTH", conflicts_with = "import", value_parser = width)]
    until: Option<f64>,
    /// Import labels in place of asking: a CSV, JSONL or JSON file with conv_id, metric_id, passed, labeller and perhaps note
    #[arg(long, value_name = "FILE")]
    import: Option<PathBuf>,
    /// The result as JSON on standard output
    #[arg(long, requires = "import")]
    json: bool,
    #[command(flatten)]
    words: WordArgs,
}

/// The width of an interval.
fn width(text: &str) -> Result<f64, String> {
    let width = text.parse().ok();
    width
        .filter(|width| *width > 0.0 && *width < 1.0)
        .ok_or_else(|| "expected a width between 0 and 1, such as 0.1 for 10 points".to_owned())
}

/// Has a person label rows, or imports labels, and prints the comparison of the judge with people.
///
/// # Errors
/// When there is nothing to label, nobody to ask, or labels cannot be read or written.
pub fn run(context: &Context, args: &LabelArgs) -> Result<Exit, Failure> {
    let name = one_benchmark(&context.layout, &args.name)?;
    let target: Vec<String> = args.target.iter().cloned().collect();
    let target = target_ids(&target)?.into_iter().next();
    if let Some(file) = &args.import {
        return import::run(context, args, &name, file, target.as_ref());
    }
    // clap does not enforce `requires` beside flags that conflict with `--import`.
    if args.json {
        return Err(Failure::usage(
            "--json is the result of an import: it needs --import",
        ));
    }
    if args.words.any() {
        return Err(Failure::usage(
            "--pass, --fail, --unclear and --threshold are for the words of a file: they need --import",
        ));
    }
    if args.labeller.as_deref().is_some_and(is_blank) {
        return Err(Failure::usage("--labeller is blank"));
    }
    let mut options = LabelOptions {
        target,
        metric: args.metric.clone(),
        labeller: args.labeller.clone().unwrap_or_default(),
    };
    let mut input = Input::new(io::stdin().lock());
    if options.labeller.is_empty() {
        // Rows that cannot be labelled are reported before the question for a name.
        Labelling::open(&context.layout, &name, &options)?;
        let Some(labeller) = input.ask_labeller(context)? else {
            return Ok(Exit::Complete);
        };
        options.labeller = labeller;
    }
    let mut labelling = Labelling::open(&context.layout, &name, &options)?;
    input.check()?;
    let mut session = Session {
        context,
        name: &name,
        labeller: &options.labeller,
        show_verdicts: args.show_verdicts,
        limit: args.limit,
        until: args.until,
        labelling: &mut labelling,
        input,
    };
    session.run()?;
    let refreshed = labelling.finish()?;
    let target = labelling.target().clone();
    show_people(context, &name, &target, &refreshed);
    if labelling.has_answers() {
        write_report(context, &name, [&refreshed]);
    }
    next_steps(context, &name, &options, &labelling);
    Ok(Exit::Complete)
}

/// Prints the comparison of a target's judge with people, as `aggregate` does, and whether `statistics.json` is up to date.
fn show_people(context: &Context, name: &str, target: &ModelId, refreshed: &RefreshedPeople) {
    if let Some(people) = &refreshed.people {
        let title = format!("judge against people: {target}");
        let sheet = people_sheet(&title, Some(target), people, true);
        let table = sheets_text([&sheet], context.terminal.page());
        context.terminal.print(&format!("\n{table}"));
    }
    report_state(context, name, target, refreshed);
}

/// Writes the report of the last run again, with the labels. While a run goes on, or after the scores changed, the command that brings
/// `statistics.json` up to date writes the report instead.
fn write_report<'a>(
    context: &Context,
    name: &str,
    targets: impl IntoIterator<Item = &'a RefreshedPeople>,
) {
    let mut targets = targets.into_iter();
    if targets.all(|target| target.state == StatisticsState::Current) {
        run_report::of_labels(context, name);
    }
}

/// Prints the warnings about the labels, and how `statistics.json` gets up to date.
fn report_state(context: &Context, name: &str, target: &ModelId, refreshed: &RefreshedPeople) {
    if let Ok(dir) = context.layout.benchmark(name) {
        let people = refreshed.people.as_ref();
        context.warn_of(&label_findings(&dir, target, people));
    }
    match refreshed.state {
        StatisticsState::Current => {}
        StatisticsState::RunGoesOn => context.terminal.note(
            "a run works on this benchmark: statistics.json will have these numbers when it ends",
        ),
        StatisticsState::Outdated => context.terminal.warning(&format!(
            "{name}: statistics.json does not match the scores; update it with `{} aggregate {name}`",
            context.program.start()
        )),
    }
}

/// Prints the next steps.
fn next_steps(context: &Context, name: &str, options: &LabelOptions, labelling: &Labelling) {
    let progress = labelling.progress();
    let left = progress.rows - progress.labelled;
    let target = labelling.target();
    let command = format!("{} label {name} --target {target}", context.program.start());
    let metric = options
        .metric
        .as_ref()
        .map_or_else(String::new, |metric| format!(" --metric {metric}"));
    if left > 0 {
        let width = corrected_width(progress.corrected_width(), progress.judge_width);
        let more = match progress.corrected_width() {
            Some(_) => "; more labels make it narrower",
            None => "",
        };
        context.terminal.note(&format!(
            "{width}{more}: `{command}{metric} --labeller {}` goes on",
            quoted(&options.labeller)
        ));
    }
    if progress.people == 1 && (left == 0 || progress.labelled >= ENOUGH) {
        context.terminal.note(&format!(
            "a second person on the same rows shows how clear the definition is: `{command}{metric} --labeller NAME`"
        ));
    }
}

/// A name, quoted for a shell where needed.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "._-@+".contains(c);
    match name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', r"'\''")),
    }
}
