//! `journal stats`: figures of a journal.

use std::{ops::ControlFlow, path::Path};

use clap::Args;
use journal::{CallStats, Stats, StatsBuilder, Used};
use report::{Cell, Column, Sheet, Value, prompt_caches, sheets_text};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    super::{
        Context,
        output::{CommandOutput, path_text},
    },
    JournalSelection, find, page,
    page::Page,
    read,
};
use crate::exit::{Exit, Failure};

/// Count events, latencies, cache hits, retries, tokens and cost
#[derive(Clone, Debug, Args)]
pub struct StatsArgs {
    /// Which journal.
    #[command(flatten)]
    selection: JournalSelection,
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// The output of `journal stats`.
#[derive(Serialize, JsonSchema)]
pub struct StatsOutput<'a> {
    /// The file.
    journal: String,
    /// The figures.
    stats: &'a Stats,
}

impl CommandOutput for StatsOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["journal stats"];
}

/// Prints the figures.
///
/// # Errors
/// When there is no such journal.
pub fn run(context: &Context, args: &StatsArgs) -> Result<Exit, Failure> {
    let path = find::journal(context, &args.selection)?;
    let mut builder = StatsBuilder::default();
    read::lines(&context.terminal, &path, |line| {
        builder.push(line);
        Ok(ControlFlow::Continue(()))
    })?;
    let stats = builder.finish();
    if args.json {
        let output = StatsOutput {
            journal: path_text(&path),
            stats: &stats,
        };
        context.print_json("journal stats", Exit::Complete, &output);
        return Ok(Exit::Complete);
    }
    let mut page = Page::new();
    let width = page::edge(&context.terminal).unwrap_or(usize::MAX);
    let text = sheets_text(&sheets(&path, &stats), width);
    page.write(text.as_bytes())?;
    page.flush()?;
    Ok(Exit::Complete)
}

fn sheets(path: &Path, stats: &Stats) -> Vec<Sheet> {
    vec![
        whole(path, stats),
        events(stats),
        calls(stats),
        latencies(stats),
        spending(stats),
        retries(stats),
        over_time(stats),
    ]
}

/// A table whose first columns, `names` of them, hold names, and whose others hold numbers.
fn sheet(title: impl AsRef<str>, names: usize, header: &[&str]) -> Sheet {
    let columns = header
        .iter()
        .enumerate()
        .map(|(at, name)| match at < names {
            true => Column::name(name),
            false => Column::number(name),
        });
    Sheet::new("", title, columns.collect())
}

fn whole(path: &Path, stats: &Stats) -> Sheet {
    let mut sheet = sheet(
        path.display().to_string(),
        1,
        &["first event", "lasted", "events"],
    );
    let lasted = stats.start.zip(stats.end);
    sheet.row(vec![
        stats.start.map(|start| start.to_string()).into(),
        Cell::known(lasted, |(start, end)| {
            Value::Seconds(end.duration_since(start).as_secs_f64())
        }),
        stats.entries.into(),
    ]);
    sheet
}

fn events(stats: &Stats) -> Sheet {
    let mut sheet = sheet("Events", 1, &["event", "count"]);
    for event in &stats.events {
        sheet.row(vec![event.message.clone().into(), event.count.into()]);
    }
    sheet
}

/// The two cells that name a model.
fn names(call: &CallStats) -> [Cell; 2] {
    [call.role.into(), known(&call.model)]
}

/// A text; an empty one is unknown.
fn known(text: &str) -> Cell {
    Some(text).filter(|text| !text.is_empty()).into()
}

fn cost(used: &Used) -> Cell {
    Cell::cost(used.cost, Some(used.priced_cost))
}

fn calls(stats: &Stats) -> Sheet {
    let mut sheet = sheet(
        "Calls",
        2,
        &["role", "model", "asked", "cached", "cache hits", "failed"],
    );
    for call in &stats.calls {
        let [role, model] = names(call);
        sheet.row(vec![
            role,
            model,
            call.fetched.into(),
            call.cached.into(),
            Cell::rate(call.cache_hit_rate),
            call.failed.into(),
        ]);
    }
    sheet
}

fn latencies(stats: &Stats) -> Sheet {
    let mut sheet = sheet(
        "Latency of calls",
        2,
        &["role", "model", "p50", "p90", "p99", "max"],
    );
    for call in &stats.calls {
        let Some(latency) = call.latency else {
            continue;
        };
        let [role, model] = names(call);
        let mut row = vec![role, model];
        row.extend(
            [latency.p50, latency.p90, latency.p99, latency.max]
                .map(|time| Cell::of(Value::Seconds(time))),
        );
        sheet.row(row);
    }
    sheet
}

fn spending(stats: &Stats) -> Sheet {
    let [read, written] = prompt_caches::COLUMNS;
    let mut sheet = sheet(
        "Tokens and cost",
        2,
        &[
            "role",
            "model",
            "input",
            read,
            written,
            "output",
            "cost",
            "unpriced calls",
        ],
    );
    for call in &stats.calls {
        let [role, model] = names(call);
        sheet.row(vec![
            role,
            model,
            call.used.input_tokens.into(),
            call.used.cached_input_tokens.into(),
            call.used.cache_write_tokens.into(),
            call.used.output_tokens.into(),
            cost(&call.used),
            call.used.unpriced_calls.into(),
        ]);
    }
    let has_caches =
        |call: &CallStats| call.used.cached_input_tokens + call.used.cache_write_tokens > 0;
    prompt_caches::only_if(stats.calls.iter().any(has_caches), sheet)
}

fn retries(stats: &Stats) -> Sheet {
    let mut sheet = sheet(
        "Retries",
        1,
        &["cause", "status", "tried again", "waited", "given up"],
    );
    for count in &stats.retries {
        sheet.row(vec![
            known(&count.kind),
            count.status.map(u64::from).into(),
            count.retried.into(),
            Cell::of(Value::Seconds(count.waited)),
            count.given_up.into(),
        ]);
    }
    sheet
}

fn over_time(stats: &Stats) -> Sheet {
    let mut sheet = sheet(
        format!("Over time, {} s a row", stats.over_time.bucket_seconds),
        1,
        &[
            "from", "asked", "cached", "failed", "input", "output", "cost",
        ],
    );
    for bucket in &stats.over_time.buckets {
        sheet.row(vec![
            Cell::of(Value::Since(bucket.start)),
            bucket.fetched.into(),
            bucket.cached.into(),
            bucket.failed.into(),
            bucket.used.input_tokens.into(),
            bucket.used.output_tokens.into(),
            cost(&bucket.used),
        ]);
    }
    sheet
}
