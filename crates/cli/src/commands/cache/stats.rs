//! `cache stats`: the contents of the cache.

use std::{path::Path, time::SystemTime};

use clap::Args;
use llm_client::{CacheContents, CacheGroup, SqliteStore};
use report::{Column, Sheet, sheets_text};
use schemars::JsonSchema;
use serde::Serialize;

use super::{existing, size, time};
use crate::{
    commands::{
        Context,
        output::{CommandOutput, path_text},
    },
    exit::{Exit, Failure},
};

/// Show how large the cache is, what it holds by endpoint and model, and how many replies are damaged
#[derive(Clone, Debug, Args)]
pub struct StatsArgs {
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// The output of `cache stats`.
#[derive(Serialize, JsonSchema)]
pub struct CacheStatsOutput {
    /// The file.
    file: String,
    /// Bytes on disk, including the write-ahead log.
    file_bytes: u64,
    /// Intact replies.
    replies: u64,
    /// Damaged rows.
    damaged: u64,
    /// When the oldest reply was stored; null without replies.
    oldest: Option<String>,
    /// When the newest reply was stored.
    newest: Option<String>,
    /// The replies by endpoint and model.
    groups: Vec<CacheGroupOutput>,
}

impl CommandOutput for CacheStatsOutput {
    const COMMANDS: &'static [&'static str] = &["cache stats"];
}

/// The replies of one model at one endpoint.
#[derive(Serialize, JsonSchema)]
struct CacheGroupOutput {
    /// The endpoint's address; null for replies stored by an earlier version.
    endpoint: Option<String>,
    /// The model's name at the endpoint; null for replies stored by an earlier version.
    model: Option<String>,
    /// The number of replies.
    replies: u64,
    /// Bytes of their texts.
    bytes: u64,
    /// When the oldest was stored.
    oldest: Option<String>,
    /// When the newest was stored.
    newest: Option<String>,
}

/// Prints the figures.
///
/// # Errors
/// When there is no cache, or it cannot be read.
pub fn run(context: &Context, args: &StatsArgs) -> Result<Exit, Failure> {
    let path = existing(context)?;
    let contents =
        SqliteStore::contents(&path).map_err(|error| Failure::nothing_ran(error.to_string()))?;
    if args.json {
        let output = CacheStatsOutput::new(&path, &contents);
        context.print_json("cache stats", Exit::Complete, &output);
        return Ok(Exit::Complete);
    }
    let sheets = [whole(&path, &contents), groups(&contents)];
    let width = context.terminal.page();
    context.terminal.print(&sheets_text(&sheets, width));
    if contents.damaged > 0 {
        context.terminal.note(&format!(
            "damaged replies are not used, and are called for again when a run needs them; `{} cache prune --damaged` saves those that are intact \
             in pages that cannot be found, and removes the others",
            context.program.start()
        ));
    }
    Ok(Exit::Complete)
}

impl CacheStatsOutput {
    fn new(path: &Path, contents: &CacheContents) -> Self {
        let group = |group: &CacheGroup| CacheGroupOutput {
            endpoint: group.endpoint.clone(),
            model: group.model.clone(),
            replies: group.replies,
            bytes: group.bytes,
            oldest: time(group.oldest),
            newest: time(group.newest),
        };
        Self {
            file: path_text(path),
            file_bytes: contents.file_bytes,
            replies: contents.replies,
            damaged: contents.damaged,
            oldest: contents.oldest().and_then(time),
            newest: contents.newest().and_then(time),
            groups: contents.groups.iter().map(group).collect(),
        }
    }
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
