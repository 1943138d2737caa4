//! Which targets and journals belong to a benchmark.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use journal::JournalReader;
use schema::{Benchmark, ModelId};
use serde::Deserialize;

use super::raw::{self, Ended, Took};
use crate::{
    error::PipelineError,
    layout::{BenchmarkDir, Layout},
};

/// The ids of the folders under `runs/` that hold conversations or scores, sorted.
pub(super) fn targets(dir: &BenchmarkDir) -> Result<Vec<ModelId>, PipelineError> {
    let runs = dir.runs();
    let entries = match fs::read_dir(&runs) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(PipelineError::read(&runs, error)),
    };
    let mut ids = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| PipelineError::read(&runs, error))?;
        let name = entry.file_name().into_string().ok();
        if let Some(id) = name.and_then(|name| ModelId::new(name).ok())
            && let Ok(files) = dir.target(&id)
            && files.conversations().exists()
        {
            ids.push(id);
        }
    }
    ids.sort();
    Ok(ids)
}

/// How many rows of `scenarios.json` belong to a metric of `benchmark`; `None` where the file cannot be read.
pub(super) fn count_scenarios(dir: &BenchmarkDir, benchmark: &Benchmark) -> Option<u64> {
    #[derive(Deserialize)]
    struct Row {
        metric_id: String,
    }
    let mut count = 0;
    let ended = raw::each(&dir.scenarios(), |row| match serde_json::from_slice(row) {
        Ok(Row { metric_id }) => {
            count += u64::from(benchmark.metric(&metric_id).is_some());
            Took::Next
        }
        Err(_) => Took::Odd,
    });
    (ended == Ended::Done).then_some(count)
}

/// The journals that tell of a benchmark's rows, and what a person should know of others.
#[derive(Default)]
pub(super) struct Found {
    /// The oldest first.
    pub(super) journals: Vec<PathBuf>,
    pub(super) notes: Vec<String>,
}

/// The newest journals of the benchmark `name` that together tell how all of `targets` were played and judged.
pub(super) fn journals(layout: &Layout, name: &str, targets: &[ModelId]) -> Found {
    let runs = layout.state().join("runs");
    let mut found = Found::default();
    let mut played: BTreeSet<&ModelId> = targets.iter().collect();
    let mut judged = played.clone();
    let mut earlier = None;
    let mut folders = names(&runs);
    folders.reverse();
    for folder in folders {
        for file in names(&runs.join(&folder)).into_iter().rev() {
            let path = runs.join(&folder).join(&file);
            let Some(head) = is_journal(&file).then(|| head(&path)).flatten() else {
                continue;
            };
            if head.folder != name {
                continue;
            }
            // A run that went on from an earlier one has that one's replies from the cache, which does not know their times.
            let is_earlier = earlier.is_some() && earlier == head.run_id;
            let of = |left: &mut BTreeSet<&ModelId>, phase: &str| {
                let before = left.len();
                if head.phases.iter().any(|of| of == phase) {
                    left.retain(|id| !head.suts.iter().any(|sut| sut == id.as_str()));
                }
                left.len() < before
            };
            // Both have to be asked.
            let tells = [of(&mut played, "simulate"), of(&mut judged, "evaluate")];
            if is_earlier || tells.contains(&true) {
                found.journals.insert(0, path);
                earlier = head.earlier;
            }
            if earlier.is_none() && played.is_empty() && judged.is_empty() {
                return found;
            }
        }
    }
    found
}

/// All journals in `folder`, the records of one run.
pub(super) fn journals_in(folder: &Path) -> Vec<PathBuf> {
    let files = names(folder).into_iter().filter(|file| is_journal(file));
    files.map(|file| folder.join(file)).collect()
}

fn is_journal(file: &str) -> bool {
    file.starts_with("journal-") && (file.ends_with(".jsonl") || file.ends_with(".jsonl.zst"))
}

/// What a journal says of itself.
struct Head {
    run_id: Option<String>,
    /// The run that this one went on from.
    earlier: Option<String>,
    folder: String,
    phases: Vec<String>,
    suts: Vec<String>,
}

fn head(path: &Path) -> Option<Head> {
    let mut reader = JournalReader::open(path).ok()?;
    let mut earlier = None;
    while let Some(line) = reader.next_line() {
        let line = line.ok()?;
        if line.message == "resuming run" {
            earlier = line.text("earlier_run").map(Cow::into_owned);
        }
        if line.message == "starting run" {
            return Some(Head {
                run_id: line.text("run_id").map(Cow::into_owned),
                earlier,
                folder: line.text("folder").map(Cow::into_owned)?,
                phases: line.get("phases")?,
                suts: line.get("suts")?,
            });
        }
    }
    None
}

/// The names in a folder, sorted; none where it cannot be read.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}
