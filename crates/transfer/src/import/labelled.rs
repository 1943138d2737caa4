//! Imports labelled conversations of other programs as a benchmark whose judge can be compared with people.

use std::path::{Path, PathBuf};

use interop::labels::LabelFileRow;
use schema::{
    Benchmark, Conversation, HumanLabel, Metric, ModelId, ProgramFlag, Scenario, TargetRef,
    transcript_digest,
};
use serde_json::Value;

use super::unfinished::Unfinished;
use store::{ImportRecord, Layout, RunError, write_benchmark_yaml, write_json, write_labels};

/// The origin of such a benchmark in `imported.json`.
const FROM: &str = "labels";
/// The id of the target whose conversations people labelled.
const TARGET: &str = "labelled";

/// Conversations with labels, and the metric that people labelled and the judge will use.
#[derive(Clone, Copy, Debug)]
pub struct LabelledConversations<'a> {
    /// The file that they come from.
    pub file: &'a Path,
    /// Its rows; each has a transcript.
    pub rows: &'a [LabelFileRow],
    /// The metric.
    pub metric: &'a Metric,
}

/// Creates the benchmark `name` from labelled conversations, for `evaluate` to judge: each row is a separate scenario, the only target is
/// `labelled`, and the labels of people are in its `labels.json`. Replaces a benchmark that was created in this way, but no other. Returns
/// its folder.
///
/// # Errors
/// When another benchmark has the name, or a file cannot be written.
pub fn import_labelled(
    layout: &Layout,
    name: &str,
    labelled: LabelledConversations<'_>,
) -> Result<PathBuf, RunError> {
    let dir = layout.benchmark(name)?;
    let replaces = ImportRecord::read(&dir)?.is_some_and(|record| record.from == FROM);
    if dir.root().exists() && !replaces {
        return Err(RunError::input(format!(
            "{}: another benchmark has this name",
            dir.root().display()
        ))
        .with_help(format!(
            "choose one with {}",
            ProgramFlag::new("as").value("NAME")
        )));
    }
    let unfinished = Unfinished::begin(layout, dir, replaces)?;
    let root = unfinished.root();
    let target = TargetRef {
        id: ModelId::new(TARGET).map_err(|error| RunError::input(error.to_string()))?,
        model: String::new(),
    };
    let file = labelled
        .file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    write_benchmark_yaml(
        &root.join("benchmark.yaml"),
        super::IMPORTED,
        &Benchmark {
            name: name.to_owned(),
            description: format!("Conversations of {file}, which people labelled."),
            metrics: vec![labelled.metric.clone()],
            ..Benchmark::default()
        },
    )?;
    let conversations: Vec<Conversation> = (1_u64..)
        .zip(labelled.rows)
        .map(|(number, row)| conversation(number, row, labelled.metric, &target))
        .collect();
    let scenarios: Vec<&Scenario> = conversations.iter().map(|row| &row.scenario).collect();
    write_json(&root.join("scenarios.json"), &scenarios)?;
    let folder = root.join("runs").join(TARGET);
    std::fs::create_dir_all(&folder).map_err(|error| RunError::write(&folder, error))?;
    write_json(&folder.join("conversations.json"), &conversations)?;
    let labels: Vec<HumanLabel> = conversations
        .iter()
        .zip(labelled.rows)
        .flat_map(|(conversation, row)| labels(conversation, row))
        .collect();
    write_labels(&folder.join("labels.json"), &labels)?;
    ImportRecord::new(FROM, vec![file], vec![target]).write(root)?;
    unfinished.keep()
}

fn conversation(
    number: u64,
    row: &LabelFileRow,
    metric: &Metric,
    target: &TargetRef,
) -> Conversation {
    let mut scenario = Scenario {
        id: format!("r{number:05}"),
        metric_id: metric.id.clone(),
        ..Scenario::default()
    };
    let extra = [
        ("base_scenario_id", row.scenario.as_str()),
        ("labelled_row", row.id.as_str()),
    ]
    .map(|(key, text)| (key.to_owned(), Value::from(text)));
    scenario.extra.extend(extra);
    Conversation::new(scenario, target.clone(), 0, row.transcript.clone())
}

fn labels<'a>(
    conversation: &'a Conversation,
    row: &'a LabelFileRow,
) -> impl Iterator<Item = HumanLabel> + 'a {
    let digest = transcript_digest(&conversation.transcript);
    row.labels.iter().map(move |label| HumanLabel {
        transcript: Some(digest.clone()),
        ..HumanLabel::new(
            &conversation.conv_id,
            &conversation.scenario.metric_id,
            &label.labeller,
            label.passed,
        )
    })
}
