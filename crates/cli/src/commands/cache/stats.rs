//! `cache stats`: the contents of the cache.

use std::{path::Path, time::SystemTime};

use llm_client::{CacheContents, CacheGroup, SqliteStore};
use report::{Column, Sheet, sheets_text};
use serde_json::{Value, json};

use super::{StatsArgs, existing, size, time};
use crate::{
    commands::Context,
    exit::{Exit, Failure},
};

/// Prints the figures.
///
/// # Errors
/// When there is no cache, or it cannot be read.
pub fn run(context: &Context, args: &StatsArgs) -> Result<Exit, Failure> {
    let path = existing(context)?;
    let contents = SqliteStore::contents(&path);
    let contents = contents.map_err(|error| Failure::nothing_ran(error.to_string()))?;
    if args.json {
        context.print_json("cache stats", Exit::Complete, value(&path, &contents));
        return Ok(Exit::Complete);
    }
    let sheets = [whole(&path, &contents), groups(&contents)];
    let width = context.terminal.page();
    context.terminal.print(&sheets_text(&sheets, width));
    if contents.damaged > 0 {
        context.terminal.note(&format!(
            "damaged replies are not used, and are called for again when a run needs them; `{} cache prune --damaged` saves those that are intact \
             in pages that cannot be found, and removes the others",
            context.layout.command()
        ));
    }
    Ok(Exit::Complete)
}

fn value(path: &Path, contents: &CacheContents) -> Value {
    let group = |group: &CacheGroup| {
        json!({
            "endpoint": group.endpoint,
            "model": group.model,
            "replies": group.replies,
            "bytes": group.bytes,
            "oldest": time(group.oldest),
            "newest": time(group.newest),
        })
    };
    json!({
        "file": path,
        "file_bytes": contents.file_bytes,
        "replies": contents.replies,
        "damaged": contents.damaged,
        "oldest": contents.oldest().and_then(time),
        "newest": contents.newest().and_then(time),
        "groups": contents.groups.iter().map(group).collect::<Vec<_>>(),
    })
}

/// The day in UTC: with the time of day, the table would be wider than a terminal.
fn day(at: SystemTime) -> Option<String> {
    let time = time(at)?;
    Some(time.split_once('T')?.0.to_owned())
}

fn whole(path: &Path, contents: &CacheContents) -> Sheet {
    let columns = vec![
        Column::words("size"),
        Column::number("replies"),
        Column::number("damaged"),
        Column::number("oldest"),
        Column::number("newest"),
    ];
    let mut sheet = Sheet::new("cache", path.display().to_string(), columns);
    sheet.row(vec![
        size(contents.file_bytes).into(),
        contents.replies.into(),
        contents.damaged.into(),
        contents.oldest().and_then(time).into(),
        contents.newest().and_then(time).into(),
    ]);
    sheet
}

fn groups(contents: &CacheContents) -> Sheet {
    let columns = vec![
        Column::name("endpoint"),
        Column::name("model"),
        Column::number("replies"),
        Column::number("text"),
        Column::number("oldest"),
        Column::number("newest"),
    ];
    let mut sheet = Sheet::new("groups", "Replies by endpoint and model", columns);
    for group in &contents.groups {
        sheet.row(vec![
            group.endpoint.clone().into(),
            group.model.clone().into(),
            group.replies.into(),
            size(group.bytes).into(),
            day(group.oldest).into(),
            day(group.newest).into(),
        ]);
    }
    sheet
}
