//! Labels that were made elsewhere, written into the `labels.json` of the targets that they are of.

use std::{collections::BTreeMap, fs, path::Path};

use interop::labels::{LabelLine, LabelWords, read_label_lines};
use schema::{ModelId, text::counted};
use store::{
    BenchmarkDir, LabelChanges, Layout, RefreshedPeople, RunError, ScoredRows, check_readable,
    put_labels, read_benchmark, refresh_people,
};

use crate::baseline::gated_targets;

/// Mistakes that are listed.
const LISTED: usize = 100;

/// What was imported.
#[derive(Clone, Debug)]
pub struct LabelImport {
    /// The targets whose labels changed, in the order of their ids.
    pub targets: Vec<ImportedLabels>,
    /// Columns of the file that were not read.
    pub unused: Vec<String>,
}

/// The labels of one target.
#[derive(Clone, Debug)]
pub struct ImportedLabels {
    /// The target.
    pub target: ModelId,
    /// What is new in its `labels.json`.
    pub changes: LabelChanges,
    /// What its labels now say of the judge.
    pub people: RefreshedPeople,
}

/// Writes the labels of `file`, a CSV, JSONL or JSON list with the columns `conv_id`, `metric_id`, `passed` and `labeller`, into the
/// `labels.json` of the targets whose rows they are of. A person's label of a row takes the place of an earlier one. Nothing is written
/// unless every line can be used.
///
/// # Errors
/// When the file cannot be read, or lines of it cannot be used: all of them, each with its line.
pub fn import_labels(
    layout: &Layout,
    name: &str,
    file: &Path,
    target: Option<&ModelId>,
    words: &LabelWords,
) -> Result<LabelImport, RunError> {
    check_readable(file)?;
    let bytes = fs::read(file).map_err(|error| RunError::read(file, error))?;
    let text =
        std::str::from_utf8(&bytes).map_err(|error| RunError::not_utf8(file, &bytes, error))?;
    let dir = layout.benchmark(name)?;
    let benchmark = read_benchmark(&dir)?;
    let chosen: Vec<ModelId> = target.into_iter().cloned().collect();
    let trees = trees(&dir, &gated_targets(&dir, &chosen)?)?;
    let shown = file.display().to_string();
    let lines = read_label_lines(&shown, text, words).map_err(|errors| {
        let help = errors
            .iter()
            .find_map(|error| error.help())
            .map(str::to_owned);
        let reasons: Vec<String> = errors.iter().map(|error| error.in_words()).collect();
        unusable(&shown, &reasons, help)
    })?;
    let mut by_target: BTreeMap<usize, Vec<LabelLine>> = BTreeMap::new();
    let mut reasons = Vec::new();
    for line in lines.labels {
        match place(&trees, &line) {
            Ok((tree, digest)) => {
                let mut line = line;
                line.label.transcript = line.label.transcript.or(digest);
                by_target.entry(tree).or_default().push(line);
            }
            Err(reason) => reasons.push(format!("line {}: {reason}", line.line)),
        }
    }
    if !reasons.is_empty() {
        return Err(unusable(&shown, &reasons, None));
    }
    let mut targets = Vec::new();
    for (tree, lines) in by_target {
        let Some((target, _)) = trees.get(tree) else {
            continue;
        };
        let labels: Vec<_> = lines.into_iter().map(|line| line.label).collect();
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
        let scored = ScoredRows::read(&files.scores(), target)?;
        let scored = scored.with_transcripts(&files.conversations());
        Ok((target.clone(), scored))
    };
    targets.iter().map(tree).collect()
}

/// Which target a label is of, and the digest of the transcript that its row now has.
fn place(
    trees: &[(ModelId, ScoredRows)],
    line: &LabelLine,
) -> Result<(usize, Option<String>), String> {
    let label = &line.label;
    let of = trees
        .iter()
        .position(|(_, rows)| rows.has_conversation(&label.conv_id));
    let Some(tree) = of else {
        return Err(match trees {
            [(_, rows)] => rows
                .fault(label)
                .map(|fault| fault.reason)
                .unwrap_or_default(),
            _ => format!(
                "no target has a conversation {:?} in scores.json",
                label.conv_id
            ),
        });
    };
    let rows = trees.get(tree).map(|(_, rows)| rows);
    if let Some(fault) = rows.and_then(|rows| rows.fault(label)) {
        return Err(fault.reason);
    }
    if rows.is_some_and(|rows| rows.is_of_earlier_run(label)) {
        return Err(format!(
            "{:?} labelled {:?} as an earlier run simulated it",
            label.labeller, label.conv_id
        ));
    }
    let digest = rows.and_then(|rows| rows.transcript(&label.conv_id));
    Ok((tree, digest.map(str::to_owned)))
}

/// All that is wrong with a file.
fn unusable(file: &str, reasons: &[String], help: Option<String>) -> RunError {
    let mut text = format!(
        "{file}: {}, so nothing is imported",
        counted(reasons.len() as u64, "mistake", "mistakes")
    );
    for reason in reasons.iter().take(LISTED) {
        text.push('\n');
        text.push_str(reason);
    }
    let more = reasons.len().saturating_sub(LISTED);
    if more > 0 {
        text.push_str(&format!("\nand {more} more"));
    }
    match help {
        Some(help) => RunError::input(text).with_help(help),
        None => RunError::input(text),
    }
}
