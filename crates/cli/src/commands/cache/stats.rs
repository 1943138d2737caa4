//! `cache stats`: the contents of the cache.

use std::{path::Path, time::SystemTime};

use llm_client::{CacheContents, CacheGroup, SqliteStore};
use report::{JournalCell, JournalTable, journal_tables};
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
    let mut tables = vec![whole(&path, &contents)];
    if !contents.groups.is_empty() {
        tables.push(groups(&contents));
    }
    context.terminal.print(&journal_tables(&tables, None));
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

fn text(text: Option<String>) -> JournalCell {
    text.map_or(JournalCell::Unknown, JournalCell::from)
}

/// The day in UTC: with the time of day, the table would be wider than a terminal.
fn day(at: SystemTime) -> Option<String> {
    let time = time(at)?;
    Some(time.split_once('T')?.0.to_owned())
}

fn whole(path: &Path, contents: &CacheContents) -> JournalTable {
    JournalTable {
        title: path.display().to_string(),
        names: 1,
        header: vec!["size", "replies", "damaged", "oldest", "newest"],
        rows: vec![vec![
            size(contents.file_bytes).into(),
            contents.replies.into(),
            contents.damaged.into(),
            text(contents.oldest().and_then(time)),
            text(contents.newest().and_then(time)),
        ]],
    }
}

fn groups(contents: &CacheContents) -> JournalTable {
    let row = |group: &CacheGroup| {
        vec![
            text(group.endpoint.clone()),
            text(group.model.clone()),
            group.replies.into(),
            size(group.bytes).into(),
            text(day(group.oldest)),
            text(day(group.newest)),
        ]
    };
    JournalTable {
        title: "Replies by endpoint and model".to_owned(),
        names: 2,
        header: vec!["endpoint", "model", "replies", "text", "oldest", "newest"],
        rows: contents.groups.iter().map(row).collect(),
    }
}
