//! `cache prune`: removes replies.

use std::{path::Path, time::SystemTime};

use clap::Args;
use jiff::Span;
use llm_client::{PruneFilter, Pruned, SqliteStore, Unshrunk};
use schema::text::counted;
use schemars::JsonSchema;
use serde::Serialize;

use super::{age, existing, size, time_before};
use crate::{
    commands::{
        Context,
        output::{CommandOutput, path_text},
    },
    exit::{Exit, Failure},
};

/// Remove replies from the cache, and make its file smaller
///
/// A run that needs a removed reply calls the model again. It can be used while a run is in progress.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask cache prune --older-than 30d --dry-run\n  cargo xtask cache prune --model gpt-4.1\n  cargo xtask cache prune --damaged"
)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["older_than", "model", "damaged"]))]
pub struct PruneArgs {
    /// Remove replies that were stored longer ago than this: 12h, 30d, 6mo
    #[arg(long, value_name = "TIME", value_parser = age)]
    older_than: Option<Span>,
    /// Remove replies of this model, by its name at the endpoint; with --older-than the old ones of them
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Remove damaged rows
    #[arg(long, conflicts_with_all = ["older_than", "model"])]
    damaged: bool,
    /// Count what would be removed; remove nothing
    #[arg(long)]
    dry_run: bool,
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// The output of `cache prune`.
#[derive(Serialize, JsonSchema)]
pub struct CachePruneOutput {
    /// The file.
    file: String,
    /// Whether rows were only counted.
    dry_run: bool,
    /// Rows that were removed, or would be.
    rows: u64,
    /// Bytes of their texts; 0 for damaged rows.
    bytes: u64,
    /// Bytes of the file and its write-ahead log before.
    file_bytes_before: u64,
    /// The same after.
    file_bytes_after: u64,
    /// Whether the file was reduced to its minimal size; false if the disk had no room for that.
    shrunk: bool,
}

impl CommandOutput for CachePruneOutput {
    const COMMANDS: &'static [&'static str] = &["cache prune"];
}

/// Removes the replies and prints their number.
///
/// # Errors
/// When there is no cache, or it cannot be read or written.
pub fn run(context: &Context, args: &PruneArgs) -> Result<Exit, Failure> {
    let path = existing(context)?;
    let filter = filter(args)?;
    let pruned = SqliteStore::prune(&path, &filter, args.dry_run)
        .map_err(|error| Failure::nothing_ran(error.to_string()))?;
    if args.json {
        let output = CachePruneOutput {
            file: path_text(&path),
            dry_run: args.dry_run,
            rows: pruned.rows,
            bytes: pruned.bytes,
            file_bytes_before: pruned.file_before,
            file_bytes_after: pruned.file_after,
            shrunk: pruned.unshrunk.is_none(),
        };
        context.print_json("cache prune", Exit::Complete, &output);
    } else {
        context.terminal.print(&text(&path, args, &pruned));
    }
    if let Some(unshrunk) = &pruned.unshrunk {
        context.terminal.warning(&why(&path, unshrunk));
    }
    Ok(Exit::Complete)
}

fn filter(args: &PruneArgs) -> Result<PruneFilter, Failure> {
    Ok(PruneFilter {
        before: args
            .older_than
            .map(time_before)
            .transpose()?
            .map(SystemTime::from),
        model: args.model.clone(),
        damaged: args.damaged,
    })
}

fn text(path: &Path, args: &PruneArgs, pruned: &Pruned) -> String {
    let rows = counted(pruned.rows, "row", "rows");
    let (path, bytes) = (path.display(), size(pruned.bytes));
    if args.dry_run {
        return format!("would remove {rows} ({bytes} of text) from {path}\n");
    }
    format!(
        "removed {rows} ({bytes} of text) from {path}: {} before, {} now\n",
        size(pruned.file_before),
        size(pruned.file_after)
    )
}

fn why(path: &Path, unshrunk: &Unshrunk) -> String {
    let why = match unshrunk {
        Unshrunk::NoRoom { free, needed } => format!(
            "the disk has {} free, and writing it again takes {}",
            size(*free),
            size(*needed)
        ),
        Unshrunk::Failed(reason) => reason.clone(),
    };
    format!(
        "{}: the file keeps its size ({why}); new replies take the free space in it",
        path.display()
    )
}
