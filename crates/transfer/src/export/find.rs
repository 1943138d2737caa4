//! Finds the targets and journals of a benchmark.

use std::{
    borrow::Cow,
    cell::LazyCell,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use journal::JournalReader;
use schema::{EventBody, ModelId, event::StartingRun};

use super::{
    journal_record::{JournalRecord, Journals},
    replies::{Coverage, Replies},
};
use store::{Layout, RunError};

/// A journal, and the targets whose conversations it reports.
pub(super) struct JournalSource {
    pub(super) record: Arc<JournalRecord>,
    pub(super) targets: BTreeSet<String>,
    /// The targets whose rows an earlier run produced, while this run got the same replies from the cache.
    pub(super) repeated: BTreeSet<String>,
}

/// A journal that reports conversations in the tree.
struct FoundJournal {
    record: Arc<JournalRecord>,
    reported: BTreeMap<String, Coverage>,
    simulates: bool,
    judges: bool,
}

impl FoundJournal {
    /// Whether the run produced no row of `target` in the tree: older journals report all rows, and this run had them from the cache.
    /// It may have simulated more samples, which are not in the tree.
    fn repeats(&self, target: &str, older: &[Self]) -> bool {
        let whole = |found: &&Self| {
            let coverage = found.reported.get(target);
            coverage.is_some_and(|coverage| coverage.is_whole())
        };
        let made = |does: fn(&Self) -> bool| !does(self) || older.iter().filter(whole).any(does);
        let coverage = self.reported.get(target);
        coverage.is_some_and(|coverage| coverage.is_cached())
            && made(|found| found.simulates)
            && made(|found| found.judges)
    }
}

/// The journals, oldest first; `found` has the newest first.
fn sources(found: Vec<FoundJournal>, targets: &[ModelId]) -> Vec<JournalSource> {
    let mut repeated: Vec<BTreeSet<String>> = vec![BTreeSet::new(); found.len()];
    for target in targets {
        let mut older = found.as_slice();
        for repeated in &mut repeated {
            let Some((one, rest)) = older.split_first() else {
                break;
            };
            older = rest;
            if !one.reported.contains_key(target.as_str()) {
                continue;
            }
            if !one.repeats(target.as_str(), rest) {
                break;
            }
            repeated.insert(target.to_string());
        }
    }
    let mut sources: Vec<JournalSource> = found
        .into_iter()
        .zip(repeated)
        .map(|(found, repeated)| JournalSource {
            record: found.record,
            targets: found.reported.into_keys().collect(),
            repeated,
        })
        .collect();
    sources.reverse();
    sources
}

/// The newest journals of the benchmark `name` that together report how all of `targets` were simulated and judged, oldest first.
/// `replies` are those of the tree.
///
/// # Errors
/// When the temporary folder cannot be used.
pub(super) fn journals(
    journals: &Journals,
    layout: &Layout,
    name: &str,
    targets: &[ModelId],
    replies: impl FnOnce() -> Replies,
) -> Result<Vec<JournalSource>, RunError> {
    // A tree without journals need not be read for them.
    let replies = LazyCell::new(replies);
    let runs = layout.state().join("runs");
    let mut found = Vec::new();
    let mut simulated: BTreeSet<String> = targets.iter().map(ModelId::to_string).collect();
    let mut judged = simulated.clone();
    let mut earlier = None;
    let mut folders = names(&runs);
    folders.reverse();
    for folder in folders {
        for journal in journals_in(&runs.join(&folder)).into_iter().rev() {
            let Some(head) = journals.head(&journal).filter(|head| head.folder == name) else {
                continue;
            };
            // A run that continued an earlier one has its replies from the cache, which does not store their times.
            let is_earlier = earlier.is_some() && earlier == head.run_id;
            let [simulates, judges] = ["simulate", "evaluate"].map(|phase| head.has(phase));
            let is_open = |sut: &String| {
                (simulates && simulated.contains(sut)) || (judges && judged.contains(sut))
            };
            let is_wanted = |sut: &&String| {
                is_open(sut) || (is_earlier && targets.iter().any(|id| id.as_str() == sut.as_str()))
            };
            let wanted = head.suts.iter().filter(is_wanted).cloned().collect();
            let record = journals.read(&journal)?;
            let reported = record.reported(&replies, &wanted);
            // One that lacks items may be the one that reports them: its notes say so.
            if !is_earlier && reported.is_empty() && !record.lacks_items() {
                continue;
            }
            // Replies from the cache are also in an earlier journal, which has the time when they were fetched.
            let is_left = |id: &String| reported.get(id).is_none_or(|coverage| coverage.cached);
            if simulates {
                simulated.retain(is_left);
            }
            if judges {
                judged.retain(is_left);
            }
            found.push(FoundJournal {
                record,
                reported,
                simulates,
                judges,
            });
            earlier.clone_from(&head.earlier);
            if earlier.is_none() && simulated.is_empty() && judged.is_empty() {
                return Ok(sources(found, targets));
            }
        }
    }
    Ok(sources(found, targets))
}

/// All journals in `folder`, the records of one run.
pub(super) fn journals_in(folder: &Path) -> Vec<PathBuf> {
    let files = names(folder).into_iter().filter(|file| is_journal(file));
    files.map(|file| folder.join(file)).collect()
}

fn is_journal(file: &str) -> bool {
    file.starts_with("journal-") && (file.ends_with(".jsonl") || file.ends_with(".jsonl.zst"))
}

/// The beginning of a journal's run.
#[derive(Debug)]
pub(super) struct Head {
    run_id: Option<String>,
    /// The run that this one continued.
    earlier: Option<String>,
    pub(super) folder: String,
    phases: Vec<Cow<'static, str>>,
    pub(super) suts: Vec<String>,
}

impl Head {
    /// The beginning of the run of the journal at `path`; `None` if the journal does not have it.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let mut reader = JournalReader::open(path).ok()?;
        let mut earlier = None;
        while let Some(line) = reader.next_line() {
            match line.ok()?.event() {
                Some(Ok(EventBody::ResumingRun(resuming))) => earlier = Some(resuming.earlier_run),
                Some(Ok(EventBody::StartingRun(start))) => return Self::new(*start, earlier),
                _ => {}
            }
        }
        None
    }

    fn new(start: StartingRun, earlier: Option<String>) -> Option<Self> {
        Some(Self {
            run_id: start.run_id,
            earlier,
            folder: start.folder?,
            phases: start.phases?,
            suts: start.suts.iter().map(|sut| sut.to_string()).collect(),
        })
    }

    /// Whether the run has the phase with this name.
    pub(super) fn has(&self, phase: &str) -> bool {
        self.phases.iter().any(|of| of == phase)
    }
}

/// The names in a folder, sorted; empty if it cannot be read.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}
