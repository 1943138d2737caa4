//! `list`: the rows of a benchmark, one a line.

use clap::Args;
use probity::{ListedRow, ListedRows, list_rows};
use report::{Cell, Column, Sheet, sheets_text};
use schema::{numbers::grouped, text::counted};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Context, output::CommandOutput, row_flags::RowFlags};
use crate::{
    benchmarks::{choose, target_ids},
    completion,
    exit::{Exit, Failure},
    flags::BenchmarkSelection,
};

/// List the rows of a benchmark: conversations and their verdicts
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "A condition is KEY=VALUE, KEY!=VALUE or KEY~TEXT (contains, in any case); all of them have to hold. Keys: target, metric, \
    scenario, conversation, sample, verdict (pass, fail, none), reason, error, justification, transcript, and every key of the scenario, such \
    as tags or demographic.Age.\n\nExamples:\n  cargo xtask list honesty --verdict fail --metric m01\n  cargo xtask list honesty --filter \
    demographic.Age=old --filter transcript~refund --json"
)]
pub struct ListArgs {
    /// The benchmark [default: the only one in the folder]
    #[arg(value_name = "BENCHMARK", add = completion::benchmarks())]
    name: Option<String>,
    /// Only this target, by its id in the tree; can be repeated
    #[arg(long = "target", value_name = "ID", add = completion::simulated_targets())]
    targets: Vec<String>,
    #[command(flatten)]
    rows: RowFlags,
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// The output of `list`.
#[derive(Serialize, JsonSchema)]
pub struct ListOutput<'a> {
    /// The benchmark.
    benchmark: &'a str,
    /// The rows, by target, in the order of the files.
    rows: &'a [ListedRow],
    /// Rows that the limit leaves out.
    beyond: u64,
    /// All rows of these targets.
    of: u64,
}

impl CommandOutput for ListOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["list"];
}

/// Prints the list.
///
/// # Errors
/// When the benchmark cannot be read, or a target has no conversations.
pub fn run(context: &Context, args: &ListArgs) -> Result<Exit, Failure> {
    let selection = BenchmarkSelection {
        names: args.name.iter().cloned().collect(),
        ..BenchmarkSelection::default()
    };
    let chosen = choose(&context.layout, &selection, false)?;
    let name = chosen.names.into_iter().next().unwrap_or_default();
    let targets = target_ids(&args.targets)?;
    let found = list_rows(&context.layout, &name, &targets, &args.rows.filter())?;
    if args.json {
        let output = ListOutput {
            benchmark: &name,
            rows: &found.rows,
            beyond: found.beyond,
            of: found.of,
        };
        context.print_json("list", Exit::Complete, &output);
    } else {
        context.terminal.print(&text(context, &name, &found));
    }
    Ok(Exit::Complete)
}

fn text(context: &Context, name: &str, found: &ListedRows) -> String {
    let columns = vec![
        Column::name("conversation"),
        Column::name("verdict"),
        Column::name("why"),
    ];
    let mut sheet = Sheet::new("rows", "", columns);
    for row in &found.rows {
        let why = match row.justification.trim() {
            "" => &row.title,
            reason => reason,
        };
        let first = why.trim().lines().next().unwrap_or_default();
        sheet.row(vec![
            row.conv_id.as_str().into(),
            verdict(row).into(),
            Cell::from(first.chars().take(200).collect::<String>().as_str()),
        ]);
    }
    let mut text = sheets_text(&[sheet], context.terminal.page());
    if !found.rows.is_empty() {
        text.push('\n');
    }
    let shown = found.rows.len() as u64;
    text.push_str(&match shown == found.of {
        true => counted(shown, "row", "rows"),
        false => format!("{} of {}", grouped(shown), counted(found.of, "row", "rows")),
    });
    if found.beyond > 0 {
        text.push_str(&format!(
            "; {} more fit, beyond --limit",
            grouped(found.beyond)
        ));
    }
    if let Some(first) = found.rows.first() {
        let program = context.program.start();
        text.push_str(&format!(
            "; `{program} show {name} {}` shows one",
            first.conv_id
        ));
    }
    text.push('\n');
    text
}

/// The verdict, with the reason why there is none.
fn verdict(row: &ListedRow) -> &'static str {
    match row.verdict {
        "none" => row.no_verdict.unwrap_or("none"),
        verdict => verdict,
    }
}
