//! The records of earlier runs: which of them are still needed, and removing the others.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use jiff::Timestamp;
use journal::{JournalReader, JournalSource, RunId, is_index_name};
use schema::{EventBody, EventKind, event::KeptIn};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Layout, Manifest, RunError, provenance::Provenance, simulated_targets};

/// The records of the runs that started before a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OldRuns {
    /// Those that nothing refers to, oldest first.
    pub unneeded: Vec<OldRun>,
    /// Those that are needed, oldest first, each with the reason.
    pub needed: Vec<(OldRun, NeededRun)>,
}

/// The records of one run: its folder below `.probity/runs`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct OldRun {
    /// The run's id.
    pub run_id: String,
    /// The benchmarks of the run.
    pub benchmarks: Vec<String>,
    /// Bytes of its manifest, journals and other records.
    pub bytes: u64,
    #[serde(skip)]
    folder: PathBuf,
}

/// Why the records of a run are needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NeededRun {
    /// The run wrote files of this benchmark that are still there: exports and reports take calls, times and settings from its records.
    WroteFiles(String),
    /// Replies in the files of this benchmark came while the run was at work.
    FetchedReplies(String),
    /// This run, whose records stay, continued it.
    ContinuedBy(String),
    /// This run, whose records stay, has rows that came whole from the cache: their calls are in this run's journal only.
    KeepsRowsOf(String),
    /// This result file of a safety evaluation is the run's, and still there.
    ResultFile(String),
    /// It has no end on record, and its files were written not long ago: it may be at work.
    MayBeAtWork,
}

impl std::fmt::Display for NeededRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::WroteFiles(name) => write!(f, "files of {name} come from it"),
            Self::FetchedReplies(name) => write!(f, "replies in the files of {name} came in it"),
            Self::ContinuedBy(run) => write!(f, "{run} continued it"),
            Self::KeepsRowsOf(run) => write!(f, "the journal of {run} refers to its calls"),
            Self::ResultFile(file) => write!(f, "its result file is there: {file}"),
            Self::MayBeAtWork => f.write_str("it has not ended, and may be at work"),
        }
    }
}

/// A run in the folder of runs, old or not.
struct Found {
    id: RunId,
    folder: PathBuf,
    manifest: Option<Manifest>,
    /// When one of its files was last written.
    written: Option<SystemTime>,
    bytes: u64,
    /// The ids of its journals.
    journals: BTreeSet<String>,
}

impl Found {
    /// Whether the journal `id` is among the records: that of the run itself, or a further one of a run over several benchmarks.
    fn has_journal(&self, id: &str) -> bool {
        self.id.as_str() == id || self.journals.contains(id)
    }
}

/// Finds the records of the runs of `layout` that started before `before`, and decides which of them are still needed. Nothing is removed.
///
/// # Errors
/// When the folder of runs cannot be read. A folder that is missing has no runs.
pub fn old_runs(layout: &Layout, before: Timestamp) -> Result<OldRuns, RunError> {
    let found = find(&layout.run(""))?;
    let is_old = |run: &Found| run.id.time().is_some_and(|time| time < before);
    let references = References::read(layout, &found);
    let mut reasons: BTreeMap<&str, NeededRun> = BTreeMap::new();
    for run in found.iter().filter(|run| is_old(run)) {
        if let Some(reason) = references.reason(run, before) {
            reasons.insert(run.id.as_str(), reason);
        }
    }
    // Runs that stay need those that they continued, and those whose journals have their rows. The ids sort by time, so one pass from the newest is enough.
    for run in found.iter().rev() {
        if is_old(run) && !reasons.contains_key(run.id.as_str()) {
            continue;
        }
        let continued = continued(&run.folder)
            .into_iter()
            .map(|id| (id, NeededRun::ContinuedBy as fn(String) -> NeededRun));
        let kept = kept_in(run)
            .into_iter()
            .map(|id| (id, NeededRun::KeepsRowsOf as fn(String) -> NeededRun));
        for (earlier, reason) in continued.chain(kept) {
            let known = found.iter().find(|run| run.has_journal(&earlier));
            if let Some(earlier) = known.filter(|earlier| is_old(earlier)) {
                let reason = || reason(run.id.to_string());
                reasons.entry(earlier.id.as_str()).or_insert_with(reason);
            }
        }
    }
    let mut runs = OldRuns::default();
    for run in found.iter().filter(|run| is_old(run)) {
        let old = OldRun {
            run_id: run.id.to_string(),
            benchmarks: run
                .manifest
                .as_ref()
                .map(|manifest| manifest.benchmarks.clone())
                .unwrap_or_default(),
            bytes: run.bytes,
            folder: run.folder.clone(),
        };
        match reasons.remove(run.id.as_str()) {
            Some(reason) => runs.needed.push((old, reason)),
            None => runs.unneeded.push(old),
        }
    }
    Ok(runs)
}

impl OldRun {
    /// Removes the records of the run. Files in its folder that no run writes stay, and the folder with them.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn remove(&self) -> Result<(), RunError> {
        let failed = |path: &Path, error| RunError::write(path, error);
        // The manifest goes last: a run whose removal was interrupted is found again.
        let mut files = records(&self.folder).map_err(|error| failed(&self.folder, error))?;
        files.sort_by_key(|path| path.ends_with(Manifest::FILE));
        for path in files {
            fs::remove_file(&path).map_err(|error| failed(&path, error))?;
        }
        match fs::remove_dir(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => {
                Err(failed(&self.folder, error))
            }
            _ => Ok(()),
        }
    }
}

/// The runs in `folder`, oldest first. Links and other files are skipped.
fn find(folder: &Path) -> Result<Vec<Found>, RunError> {
    let read = |error| RunError::read(folder, error);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(read(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(read)?;
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.parse::<RunId>().ok());
        let Some(id) = id.filter(|_| entry.file_type().is_ok_and(|kind| kind.is_dir())) else {
            continue;
        };
        let folder = entry.path();
        let (mut bytes, mut written, mut journals) = (0, None, BTreeSet::new());
        for path in records(&folder).unwrap_or_default() {
            let name = path.file_name().and_then(|name| name.to_str());
            journals.extend(name.and_then(journal_id).map(str::to_owned));
            if let Ok(file) = fs::symlink_metadata(&path) {
                bytes += file.len();
                written = written.max(file.modified().ok());
            }
        }
        found.push(Found {
            manifest: Manifest::read(&folder),
            id,
            folder,
            written,
            bytes,
            journals,
        });
    }
    found.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(found)
}

/// The files in a run's folder that runs write.
fn records(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_record = name.to_str().is_some_and(|name| {
            matches!(name, Manifest::FILE | Manifest::TEST_CASES | "record.json")
                || is_journal(name)
                || is_index_name(name)
        });
        if is_record && entry.file_type()?.is_file() {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

fn is_journal(name: &str) -> bool {
    journal_id(name).is_some()
}

/// The id in the name of a journal.
fn journal_id(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("journal-")?;
    rest.strip_suffix(".jsonl")
        .or_else(|| rest.strip_suffix(".jsonl.zst"))
}

/// The readable journals in `folder`.
fn journals(folder: &Path) -> impl Iterator<Item = JournalReader<JournalSource>> {
    let records = records(folder).unwrap_or_default().into_iter();
    let journals = records.filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(is_journal)
    });
    journals.filter_map(|path| JournalReader::open(&path).ok())
}

/// Whether the journals in `folder` have a reply of a conversation that did not come from the cache. A line that cannot be read may be one.
fn fetched_replies(folder: &Path) -> bool {
    for mut reader in journals(folder) {
        while let Some(line) = reader.next_line() {
            let kind = line.ok().and_then(|line| EventKind::of(&line.message));
            if let None
            | Some(
                EventKind::FetchedSutTurn
                | EventKind::FetchedSutResponse
                | EventKind::FetchedUserResponse
                | EventKind::FetchedAnnotatorTurn
                | EventKind::FetchedAnnotatorResponse,
            ) = kind
            {
                return true;
            }
        }
    }
    false
}

/// The runs that the journals in `folder` say that they continued.
fn continued(folder: &Path) -> BTreeSet<String> {
    let mut runs = BTreeSet::new();
    for mut reader in journals(folder) {
        while let Some(Ok(line)) = reader.next_line() {
            match line.event() {
                Some(Ok(EventBody::ResumingRun(resuming))) => {
                    runs.insert(resuming.earlier_run);
                }
                // It comes before the first item.
                Some(Ok(EventBody::StartingRun(_) | EventBody::StartingCalibrationRun(_))) => break,
                _ => {}
            }
        }
    }
    runs
}

/// The runs in whose journals rows of `run` are, that came whole from the cache. The manifest of a run that ended lists them.
fn kept_in(run: &Found) -> BTreeSet<String> {
    let ended = run
        .manifest
        .as_ref()
        .filter(|manifest| manifest.end.is_some());
    if let Some(manifest) = ended {
        let lists = manifest
            .results
            .values()
            .filter_map(|result| result.get("kept_in"));
        let runs = lists.filter_map(|list| list.as_array()).flatten();
        return runs
            .filter_map(|run| Some(run.as_str()?.to_owned()))
            .collect();
    }
    let mut runs = BTreeSet::new();
    for mut reader in journals(&run.folder) {
        while let Some(line) = reader.next_line() {
            let queued = line
                .ok()
                .filter(|line| line.message == EventKind::QueuingItem);
            let kept = queued.and_then(|line| line.get::<KeptIn>("kept"));
            runs.extend(kept.map(|kept| kept.run_id.to_string()));
        }
    }
    runs
}

/// What the files of the benchmarks refer to.
struct References {
    /// By run: the benchmark whose files it wrote.
    wrote: BTreeMap<String, String>,
    /// The benchmarks whose replies came between two times.
    replies: Vec<(String, Timestamp, Timestamp)>,
}

impl References {
    fn read(layout: &Layout, found: &[Found]) -> Self {
        let mut references = Self {
            wrote: BTreeMap::new(),
            replies: Vec::new(),
        };
        let manifests = found.iter().filter_map(|run| run.manifest.as_ref());
        let of_runs = manifests.flat_map(|manifest| manifest.benchmarks.iter().cloned());
        let names: BTreeSet<String> = layout
            .names()
            .unwrap_or_default()
            .into_iter()
            .chain(of_runs)
            .collect();
        for name in names {
            references.read_benchmark(layout, &name);
        }
        references
    }

    fn read_benchmark(&mut self, layout: &Layout, name: &str) {
        let Ok(dir) = layout.benchmark(name) else {
            return;
        };
        let targets = simulated_targets(&dir).unwrap_or_default();
        let provenance = Provenance::read_all(layout, &dir, &targets);
        let mut add = |run: &str| {
            let name = name.to_owned();
            self.wrote.entry(run.to_owned()).or_insert(name);
        };
        let metrics = provenance.metrics.iter().map(|made| &made.run_id);
        let scenarios = provenance.scenarios.iter().map(|made| &made.run_id);
        metrics.chain(scenarios).for_each(|run| add(run));
        for target in provenance.targets.values() {
            let files = [&target.conversations, &target.scores, &target.judged];
            for file in files.into_iter().flatten() {
                add(&file.run_id);
                let time = |text: &str| text.parse::<Timestamp>().ok();
                let ages = file
                    .replies
                    .as_ref()
                    .and_then(|ages| time(&ages.from).zip(time(&ages.to)));
                self.replies
                    .extend(ages.map(|(from, to)| (name.to_owned(), from, to)));
            }
        }
    }

    /// Why the records of `run` are needed, for itself.
    fn reason(&self, run: &Found, before: Timestamp) -> Option<NeededRun> {
        if let Some(name) = self.wrote.get(run.id.as_str()) {
            return Some(NeededRun::WroteFiles(name.clone()));
        }
        let time = |text: &str| text.parse::<Timestamp>().ok();
        let manifest = run.manifest.as_ref();
        let end = manifest.and_then(|manifest| time(manifest.end.as_deref()?));
        let written = run.written.and_then(|time| Timestamp::try_from(time).ok());
        // Without an end on record, the files show until when it was at work.
        let last = end.or(written);
        if end.is_none() && written.is_some_and(|written| written >= before) {
            return Some(NeededRun::MayBeAtWork);
        }
        let manifest = manifest?;
        let start = run.id.time()?;
        for (name, from, to) in &self.replies {
            let is_of_run = manifest.benchmarks.contains(name);
            // Times of replies are rounded down to the second.
            let begins = start.as_second() <= to.as_second();
            let ends = last.is_none_or(|last| *from <= last);
            if is_of_run && begins && ends && fetched_replies(&run.folder) {
                return Some(NeededRun::FetchedReplies(name.clone()));
            }
        }
        let file = manifest.results.values().find_map(|result| {
            let file = result.get("file")?.as_str()?;
            let folder = result.get("folder").and_then(|folder| folder.as_str());
            is_result(file, folder, &run.folder).then_some(file)
        })?;
        Some(NeededRun::ResultFile(file.to_owned()))
    }
}

/// Whether the result file `file` of the run in `run` exists: below `folder`, in which the run was started, or below a folder above the
/// run's, as in a project that has moved. Manifests of earlier versions do not have `folder`: the current folder is tried too.
fn is_result(file: &str, folder: Option<&str>, run: &Path) -> bool {
    let started = folder.map_or_else(|| Path::new(""), Path::new);
    let run = std::path::absolute(run).unwrap_or_else(|_| run.to_owned());
    let above = run.ancestors().skip(1);
    let mut folders = std::iter::once(started).chain(above);
    folders.any(|folder| folder.join(file).is_file())
}
