//! `label --import`: imports labels that were made elsewhere.

use std::path::Path;

use probity::{ImportedLabels, import_labels};
use schema::{ModelId, numbers::grouped, statistics::JudgeAgainstPeople, text::counted};
use schemars::JsonSchema;
use serde::Serialize;
use store::StatisticsState;

use super::{
    super::{
        Context,
        output::{CommandOutput, path_text},
    },
    LabelArgs, report_state, show_people, write_report,
};
use crate::exit::{Exit, Failure};

/// The output of `label --import`.
#[derive(Serialize, JsonSchema)]
pub struct LabelOutput<'a> {
    /// The benchmark's folder.
    benchmark: &'a str,
    /// The file of labels.
    file: String,
    /// Columns of the file that were ignored.
    unused_columns: &'a [String],
    /// The targets with labels in the file.
    targets: Vec<LabelledTarget<'a>>,
}

impl CommandOutput for LabelOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["label"];
}

/// The labels of one target.
#[derive(Serialize, JsonSchema)]
struct LabelledTarget<'a> {
    /// The target's id.
    target: &'a ModelId,
    /// Labels for rows that the person had not labelled.
    added: u64,
    /// Labels that replaced another label of the same person for the same row.
    replaced: u64,
    /// Labels that `labels.json` already contained.
    unchanged: u64,
    /// As `judge.people` of `statistics.json`; null if no label counts.
    people: Option<&'a JudgeAgainstPeople>,
    /// Whether `statistics.json` contains these numbers.
    statistics_current: bool,
}

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
        let targets = imported.targets.iter();
        let output = LabelOutput {
            benchmark: name,
            file: path_text(file),
            unused_columns: &imported.unused,
            targets: targets.map(LabelledTarget::from).collect(),
        };
        context.print_json("label", Exit::Complete, &output);
        for of_target in &imported.targets {
            report_state(context, name, &of_target.target, &of_target.people);
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
            grouped(changes.added),
            grouped(changes.replaced),
            grouped(changes.unchanged)
        ));
        show_people(context, name, &of_target.target, &of_target.people);
    }
    write_report(context, name, people);
    Ok(Exit::Complete)
}

impl<'a> From<&'a ImportedLabels> for LabelledTarget<'a> {
    fn from(imported: &'a ImportedLabels) -> Self {
        let changes = &imported.changes;
        Self {
            target: &imported.target,
            added: changes.added,
            replaced: changes.replaced,
            unchanged: changes.unchanged,
            people: imported.people.people.as_ref(),
            statistics_current: imported.people.state == StatisticsState::Current,
        }
    }
}
