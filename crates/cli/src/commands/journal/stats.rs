//! `journal stats`: figures of a journal.

use std::{ops::ControlFlow, path::Path};

use journal::{CallStats, Stats, StatsBuilder, Used};
use report::{JournalCell, JournalTable, journal_tables};
use serde_json::json;

use super::{super::Context, JsonArgs, find, page, page::Page, read};
use crate::exit::{Exit, Failure};

/// Prints the figures.
///
/// # Errors
/// When there is no such journal.
pub fn run(context: &Context, args: &JsonArgs) -> Result<Exit, Failure> {
    let path = find::journal(context, &args.selection)?;
    let mut stats = StatsBuilder::default();
    read::lines(&context.terminal, &path, |line| {
        stats.push(line);
        Ok(ControlFlow::Continue(()))
    })?;
    let stats = stats.finish();
    if args.json {
        let value = json!({"journal": path, "stats": stats});
        context.print_json("journal stats", Exit::Complete, value);
        return Ok(Exit::Complete);
    }
    let mut page = Page::new();
    let text = journal_tables(&tables(&path, &stats), page::edge(&context.terminal));
    page.write(text.as_bytes())?;
    page.flush()?;
    Ok(Exit::Complete)
}

fn tables(path: &Path, stats: &Stats) -> Vec<JournalTable> {
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

fn table(title: impl Into<String>, names: usize, header: &[&'static str]) -> JournalTable {
    JournalTable {
        title: title.into(),
        names,
        header: header.to_vec(),
        rows: Vec::new(),
    }
}

fn whole(path: &Path, stats: &Stats) -> JournalTable {
    let mut table = table(
        path.display().to_string(),
        1,
        &["first event", "lasted", "events"],
    );
    let lasted = stats.start.zip(stats.end);
    table.rows.push(vec![
        stats
            .start
            .map_or(JournalCell::Unknown, |start| start.to_string().into()),
        lasted.map_or(JournalCell::Unknown, |(start, end)| {
            JournalCell::Seconds(end.duration_since(start).as_secs_f64())
        }),
        stats.entries.into(),
    ]);
    table
}

fn events(stats: &Stats) -> JournalTable {
    let mut table = table("Events", 1, &["event", "count"]);
    for event in &stats.events {
        table
            .rows
            .push(vec![event.message.clone().into(), event.count.into()]);
    }
    table
}

/// The two cells that name a model.
fn names(call: &CallStats) -> [JournalCell; 2] {
    let model = match call.model.as_str() {
        "" => JournalCell::Unknown,
        model => model.into(),
    };
    [call.role.into(), model]
}

fn or_unknown<T>(value: Option<T>, cell: fn(T) -> JournalCell) -> JournalCell {
    value.map_or(JournalCell::Unknown, cell)
}

fn cost(used: &Used) -> JournalCell {
    match used.cost {
        Some(all) => JournalCell::Dollars(all),
        None if used.priced_cost > 0.0 => JournalCell::AtLeast(used.priced_cost),
        None => JournalCell::Unknown,
    }
}

fn calls(stats: &Stats) -> JournalTable {
    let mut table = table(
        "Calls",
        2,
        &["role", "model", "asked", "cached", "cache hits", "failed"],
    );
    for call in &stats.calls {
        let [role, model] = names(call);
        table.rows.push(vec![
            role,
            model,
            call.fetched.into(),
            call.cached.into(),
            or_unknown(call.cache_hit_rate, JournalCell::Share),
            call.failed.into(),
        ]);
    }
    table
}

fn latencies(stats: &Stats) -> JournalTable {
    let mut table = table(
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
        row.extend([latency.p50, latency.p90, latency.p99, latency.max].map(JournalCell::Seconds));
        table.rows.push(row);
    }
    table
}

fn spending(stats: &Stats) -> JournalTable {
    let mut table = table(
        "Tokens and cost",
        2,
        &["role", "model", "input", "output", "cost", "unpriced calls"],
    );
    for call in &stats.calls {
        let [role, model] = names(call);
        table.rows.push(vec![
            role,
            model,
            or_unknown(call.used.input_tokens, JournalCell::Count),
            or_unknown(call.used.output_tokens, JournalCell::Count),
            cost(&call.used),
            call.used.unpriced_calls.into(),
        ]);
    }
    table
}

fn retries(stats: &Stats) -> JournalTable {
    let mut table = table(
        "Retries",
        1,
        &["cause", "status", "tried again", "waited", "given up"],
    );
    for count in &stats.retries {
        let kind = match count.kind.as_str() {
            "" => JournalCell::Unknown,
            kind => kind.into(),
        };
        table.rows.push(vec![
            kind,
            or_unknown(count.status.map(u64::from), JournalCell::Count),
            count.retried.into(),
            JournalCell::Seconds(count.waited),
            count.given_up.into(),
        ]);
    }
    table
}

fn over_time(stats: &Stats) -> JournalTable {
    let mut table = table(
        format!("Over time, {} s a row", stats.over_time.bucket_seconds),
        1,
        &[
            "from", "asked", "cached", "failed", "input", "output", "cost",
        ],
    );
    for bucket in &stats.over_time.buckets {
        table.rows.push(vec![
            JournalCell::From(bucket.start),
            bucket.fetched.into(),
            bucket.cached.into(),
            bucket.failed.into(),
            or_unknown(bucket.used.input_tokens, JournalCell::Count),
            or_unknown(bucket.used.output_tokens, JournalCell::Count),
            cost(&bucket.used),
        ]);
    }
    table
}
