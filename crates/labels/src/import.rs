//! Imports labels that were made elsewhere into the `labels.json` of their targets.

mod mistakes;

use std::{collections::BTreeMap, path::Path};

use interop::labels::{LabelLine, LabelWords, read_label_lines};
use schema::{HumanLabel, ModelId};
use store::{
    BenchmarkDir, LabelChanges, LabelFault, Layout, RefreshedPeople, RunError, ScoredRows,
    choose_scored_targets, put_labels, read_benchmark, refresh_people,
};

use self::mistakes::Mistakes;

/// The result of an import.
#[derive(Clone, Debug)]
pub struct LabelImport {
    /// The targets whose labels changed, sorted by id.
    pub targets: Vec<ImportedLabels>,
    /// Columns of the file that were not read.
    pub unused: Vec<String>,
}

/// The labels of one target.
#[derive(Clone, Debug)]
pub struct ImportedLabels {
    /// The target.
    pub target: ModelId,
    /// The changes of its `labels.json`.
    pub changes: LabelChanges,
    /// How far the judge agrees with people, with the new labels.
    pub people: RefreshedPeople,
}

/// Writes the labels of `file`, a CSV, JSONL or JSON list with the columns `conv_id`, `metric_id`, `passed` and `labeller`, into the
/// `labels.json` of their targets. A person's label of a row replaces an earlier one. If any line cannot be used, nothing is written.
///
/// # Errors
/// When the file cannot be read, or rows of it cannot be used. The error lists all mistakes by kind, each with its places.
pub fn import_labels(
    layout: &Layout,
    name: &str,
    file: &Path,
    target: Option<&ModelId>,
    words: &LabelWords,
) -> Result<LabelImport, RunError> {
    let text = files::read_text(file).map_err(|error| RunError::read(file, error))?;
    let dir = layout.benchmark(name)?;
    let benchmark = read_benchmark(&dir)?;
    let chosen: Vec<ModelId> = target.into_iter().cloned().collect();
    let trees = trees(&dir, &choose_scored_targets(&dir, &chosen)?)?;
    let shown = file.display().to_string();
    let lines = read_label_lines(&shown, &text, words)
        .map_err(|errors| Mistakes::of_file(&shown, &errors).into_error())?;
    let mut mistakes = Mistakes::new(&shown);
    mistakes.add_all("cells and rows that cannot be read", &lines.unreadable);
    mistakes.add_all("second labels of one person on one row", &lines.repeated);
    let mut by_target: BTreeMap<usize, Vec<HumanLabel>> = BTreeMap::new();
    for LabelLine { place, mut label } in lines.labels {
        if label.conv_id.is_empty() || label.metric_id.is_empty() {
            // Blank cells are reported with the unreadable ones.
            continue;
        }
        match place_of(&trees, &label) {
            Ok((tree, digest)) => {
                label.transcript = label.transcript.or(digest);
                by_target.entry(tree).or_default().push(label);
            }
            Err(reason) => mistakes.add("rows that are not in the results", place, &reason),
        }
    }
    if !mistakes.is_empty() {
        return Err(mistakes.into_error());
    }
    let mut targets = Vec::new();
    for (tree, labels) in by_target {
        let Some((target, _)) = trees.get(tree) else {
            continue;
        };
        targets.push(ImportedLabels {
            target: target.clone(),
            changes: put_labels(&dir, target, &labels)?,
            people: refresh_people(&dir, &benchmark, target)?,
        });
    }
    Ok(LabelImport {
        targets,
        unused: lines.unused,
    })
}

/// The rows of each target.
fn trees(dir: &BenchmarkDir, targets: &[ModelId]) -> Result<Vec<(ModelId, ScoredRows)>, RunError> {
    let tree = |target: &ModelId| {
        let files = dir.target(target)?;
        let scored =
            ScoredRows::read(&files.scores(), target)?.with_transcripts(&files.conversations());
        Ok((target.clone(), scored))
    };
    targets.iter().map(tree).collect()
}

/// The target of a label, and the digest of the current transcript of its row.
fn place_of(
    trees: &[(ModelId, ScoredRows)],
    label: &HumanLabel,
) -> Result<(usize, Option<String>), String> {
    let of = trees
        .iter()
        .position(|(_, rows)| rows.has_conversation(&label.conv_id));
    let Some(tree) = of else {
        return Err(match trees {
            [(_, rows)] => rows.fault(label).map(in_column).unwrap_or_default(),
            _ => format!(
                "`conv_id`: no target has a conversation {:?} in scores.json",
                label.conv_id
            ),
        });
    };
    let rows = trees.get(tree).map(|(_, rows)| rows);
    if let Some(fault) = rows.and_then(|rows| rows.fault(label)) {
        return Err(in_column(fault));
    }
    if rows.is_some_and(|rows| rows.is_of_earlier_run(label)) {
        return Err(format!(
            "`_transcript`: {:?} labelled {:?} as an earlier run simulated it",
            label.labeller, label.conv_id
        ));
    }
    let digest = rows.and_then(|rows| rows.transcript(&label.conv_id));
    Ok((tree, digest.map(str::to_owned)))
}

fn in_column(fault: LabelFault) -> String {
    format!("`{}`: {}", fault.key, fault.reason)
}
