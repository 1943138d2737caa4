//! `label --import`: imports labels that were made elsewhere.

use std::path::Path;

use probity::{ImportedLabels, import_labels};
use schema::{ModelId, text::counted};
use serde_json::{Value, json};
use store::StatisticsState;

use super::{super::Context, LabelArgs, show_people, tell_state, write_report};
use crate::exit::{Exit, Failure};

/// Imports the labels of `file`.
///
/// # Errors
/// When a line of the file cannot be used, or labels cannot be written.
pub(super) fn run(
    context: &Context,
    args: &LabelArgs,
    name: &str,
    file: &Path,
    target: Option<&ModelId>,
) -> Result<Exit, Failure> {
    let words = args.words.words()?;
    let imported = import_labels(&context.layout, name, file, target, &words)?;
    if !imported.unused.is_empty() {
        context.terminal.note(&format!(
            "columns that are not read: {}",
            imported.unused.join(", ")
        ));
    }
    let people = imported.targets.iter().map(|target| &target.people);
    if args.json {
        let targets: Vec<Value> = imported.targets.iter().map(of_target).collect();
        let value = json!({
            "benchmark": name,
            "file": file,
            "unused_columns": imported.unused,
            "targets": targets,
        });
        context.print_json("label", Exit::Complete, value);
        for of_target in &imported.targets {
            tell_state(context, name, &of_target.target, &of_target.people);
        }
        write_report(context, name, people);
        return Ok(Exit::Complete);
    }
    for of_target in &imported.targets {
        let changes = &of_target.changes;
        let all = changes.added + changes.replaced + changes.unchanged;
        context.terminal.print(&format!(
            "{name}: {} of {}: {} new, {} replaced, {} as before\n",
            counted(all, "label", "labels"),
            of_target.target,
            changes.added,
            changes.replaced,
            changes.unchanged
        ));
        show_people(context, name, &of_target.target, &of_target.people);
    }
    write_report(context, name, people);
    Ok(Exit::Complete)
}

fn of_target(imported: &ImportedLabels) -> Value {
    let changes = &imported.changes;
    json!({
        "target": imported.target,
        "added": changes.added,
        "replaced": changes.replaced,
        "unchanged": changes.unchanged,
        "people": imported.people.people,
        "statistics_current": imported.people.state == StatisticsState::Current,
    })
}
