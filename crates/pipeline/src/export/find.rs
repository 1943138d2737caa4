//! Which targets and journals belong to a benchmark.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fs, io,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use journal::JournalReader;
use schema::{Benchmark, ModelId};
use serde::Deserialize;

use super::told::{Replies, Telling};
use crate::{
    error::PipelineError,
    layout::{BenchmarkDir, Layout},
    tree::each_row,
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
    each_row(&dir.scenarios(), |row: Row| {
        count += u64::from(benchmark.metric(&row.metric_id).is_some());
        Ok(ControlFlow::Continue(()))
    })
    .ok()?;
    Some(count)
}

/// A journal, and the targets of whose conversations it tells.
pub(super) struct Source {
    pub(super) journal: PathBuf,
    pub(super) targets: BTreeSet<String>,
    /// Those of them whose rows an earlier run made, of which this one got the same again from the cache.
    pub(super) repeated: BTreeSet<String>,
}

/// A journal that tells of conversations in the tree.
struct Found {
    journal: PathBuf,
    told: BTreeMap<String, Telling>,
    plays: bool,
    judges: bool,
}

impl Found {
    /// Whether it tells of all rows of `target`, and those behind it, which are older, do so too: then it made nothing.
    fn repeats(&self, target: &str, older: &[Self]) -> bool {
        let whole = |found: &&Self| found.told.get(target).is_some_and(|told| told.is_whole());
        let made = |does: fn(&Self) -> bool| !does(self) || older.iter().filter(whole).any(does);
        let told = self.told.get(target);
        told.is_some_and(|told| told.is_cached() && told.is_whole())
            && made(|found| found.plays)
            && made(|found| found.judges)
    }
}

/// The journals, the oldest first; `found` has the newest first.
fn sources(found: Vec<Found>, targets: &[ModelId]) -> Vec<Source> {
    let mut repeated: Vec<BTreeSet<String>> = vec![BTreeSet::new(); found.len()];
    for target in targets {
        let mut older = found.as_slice();
        for repeated in &mut repeated {
            let Some((one, rest)) = older.split_first() else {
                break;
            };
            older = rest;
            if !one.told.contains_key(target.as_str()) {
                continue;
            }
            if !one.repeats(target.as_str(), rest) {
                break;
            }
            repeated.insert(target.to_string());
        }
    }
    let sources = found.into_iter().zip(repeated);
    let mut sources: Vec<Source> = sources
        .map(|(found, repeated)| Source {
            journal: found.journal,
            targets: found.told.into_keys().collect(),
            repeated,
        })
        .collect();
    sources.reverse();
    sources
}

/// The newest journals of the benchmark `name` that together tell how all of `targets` were played and judged, the oldest first.
/// `replies` are those of the tree.
pub(super) fn journals(
    layout: &Layout,
    name: &str,
    targets: &[ModelId],
    replies: &Replies,
) -> Vec<Source> {
    let runs = layout.state().join("runs");
    let mut found = Vec::new();
    let mut played: BTreeSet<String> = targets.iter().map(ModelId::to_string).collect();
    let mut judged = played.clone();
    let mut earlier = None;
    let mut folders = names(&runs);
    folders.reverse();
    for folder in folders {
        for journal in journals_in(&runs.join(&folder)).into_iter().rev() {
            let Some(head) = head(&journal).filter(|head| head.folder == name) else {
                continue;
            };
            // A run that went on from an earlier one has that one's replies from the cache, which does not know their times.
            let is_earlier = earlier.is_some() && earlier == head.run_id;
            let [plays, judges] = ["simulate", "evaluate"].map(|phase| head.has(phase));
            let is_open =
                |sut: &String| (plays && played.contains(sut)) || (judges && judged.contains(sut));
            let is_wanted = |sut: &&String| {
                is_open(sut) || (is_earlier && targets.iter().any(|id| id.as_str() == sut.as_str()))
            };
            let wanted = head.suts.iter().filter(is_wanted).cloned().collect();
            let told = replies.told_by(&journal, &wanted);
            if !is_earlier && told.is_empty() {
                continue;
            }
            // What came from the cache is in an earlier journal too, which has the time when it was fetched.
            let is_left = |id: &String| told.get(id).is_none_or(|told| told.cached);
            if plays {
                played.retain(is_left);
            }
            if judges {
                judged.retain(is_left);
            }
            found.push(Found {
                journal,
                told,
                plays,
                judges,
            });
            earlier = head.earlier;
            if earlier.is_none() && played.is_empty() && judged.is_empty() {
                return sources(found, targets);
            }
        }
    }
    sources(found, targets)
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

impl Head {
    fn has(&self, phase: &str) -> bool {
        self.phases.iter().any(|of| of == phase)
    }
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
